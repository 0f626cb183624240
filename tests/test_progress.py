"""Progress on stderr."""

import _thread
import io
import re
import sys
import threading
import time

import pytest

from poolkit import progress
from poolkit.progress import Meter, in_thread, watched


def test_lines_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    meter = Meter(100)
    clock[0] = 10.0
    meter.add([{"status": "ok"}] * 9 + [{"status": "refused"}], 0.5, 1.0)
    assert capsys.readouterr().err == ""
    clock[0] = 40.0
    meter.add([{"status": "ok"}] * 10, 1.0, 1.0)
    said = "judged 20 of 100, 1 failed, 0.5/s, 3 min left, 1.00 USD, oldest call 1 s\n"
    assert capsys.readouterr().err == said
    clock[0] = 71.0
    meter.add([], 1.0, 32.0)  # nothing new, but a call hangs: the line comes all the same
    assert capsys.readouterr().err.endswith(", 1.00 USD, oldest call 32 s\n")
    meter.add([{"status": "ok"}] * 75, None, -0.3)  # a call sent since the clock was read
    meter.close()
    assert capsys.readouterr().err == (
        "judged 95 of 100, 1 failed, 1.3/s, 4 s left, price unknown, oldest call 0 s\n"
    )


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "0 s"), (89, "89 s"), (150, "2 min"), (5000, "83 min"), (9000, "2.5 h")]
)
def test_a_rest_has_the_unit_that_suits_it(seconds, said):
    assert progress.rest(seconds) == said


def test_a_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    meter = Meter(10)
    meter.add([{"status": "ok"}, {"status": "endpoint"}], 0.25, 3.0)
    meter.close()
    shown = capsys.readouterr().err.split("\r")[-1]
    # done, time left, rate, failed, dollars, oldest call
    assert re.search(r"2/10 \[.*<.*, .*pair.*, 1 failed, 0\.25 USD, oldest call 3 s\]", shown), shown


def test_nothing_when_told_so(capsys):
    meter = Meter(10, False)
    meter.add([{"status": "ok"}], 1.0, 0.0)
    meter.say("hello")
    meter.close()
    assert capsys.readouterr().err == ""
    assert meter.counts == {"ok": 1}


def test_work_in_a_thread_is_waited_for_and_its_error_comes_back():
    done = []
    in_thread(lambda: done.append(threading.current_thread().name), lambda: None)
    assert done == ["poolkit-judge"]
    with pytest.raises(ZeroDivisionError):
        in_thread(lambda: 1 / 0, lambda: None)


def test_ctrl_c_does_not_break_into_work_in_a_thread():
    asked = threading.Event()

    def work():
        _thread.interrupt_main()
        assert asked.wait(10)

    in_thread(work, asked.set)


def test_an_impatient_ctrl_c_does_not_break_into_the_handling_of_the_first():
    asked = []

    def interrupt():
        asked.append(1)
        time.sleep(0.02)

    def work():
        for _ in range(30):
            _thread.interrupt_main()
            time.sleep(0.005)
        time.sleep(0.2)

    in_thread(work, interrupt)
    assert 1 < len(asked) <= 30  # signals of one moment are one


class Leaving(io.StringIO):
    """A stderr whose reader leaves."""

    gone = False

    def write(self, text):
        if self.gone:
            raise OSError(5, "Input/output error")
        return super().write(text)


@pytest.mark.parametrize("terminal", [True, False])
def test_nobody_listens_and_the_work_goes_on(monkeypatch, terminal):
    stderr = Leaving()
    stderr.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(progress, "EVERY", -1)
    meter = Meter(10)
    meter.say("hello")
    assert "hello" in stderr.getvalue()
    stderr.gone = True
    for _ in range(2):
        meter.add([{"status": "ok"}], 1.0, 0.0)
        meter.say("hello")
    meter.close()
    assert meter.counts == {"ok": 2}


def test_long_work_is_watched_where_somebody_looks_on(monkeypatch, capsys):
    assert list(watched([1, 2, 3], "orders")) == [1, 2, 3]
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    now = iter(range(0, 1000, 3))
    monkeypatch.setattr("tqdm.std.time", lambda: next(now))
    assert list(watched([1, 2, 3], "orders")) == [1, 2, 3]
    shown = capsys.readouterr().err
    assert "orders:" in shown
    assert shown.endswith("\r")  # cleared
