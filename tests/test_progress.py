"""Progress on stderr."""

import sys

from poolkit import progress
from poolkit.progress import Meter


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
    assert capsys.readouterr().err == "judged 20 of 100, 1 failed, 0.5/s, 2.7 min left, 1.00 USD\n"
    meter.close()
    assert "judged 20 of 100" in capsys.readouterr().err


def test_a_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    meter = Meter(10)
    meter.add([{"status": "ok"}, {"status": "endpoint"}], None, 3.0)
    meter.close()
    shown = capsys.readouterr().err
    assert "1 failed, price unknown, oldest call 3 s" in shown
    assert "2/10" in shown


def test_nothing_when_told_so(capsys):
    meter = Meter(10, False)
    meter.add([{"status": "ok"}], 1.0, 0.0)
    meter.say("hello")
    meter.close()
    assert capsys.readouterr().err == ""
    assert meter.counts == {"ok": 1}
