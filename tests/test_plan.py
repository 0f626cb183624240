"""What filling would take, and why a pair is a hit or a miss."""

import pandas as pd
import pytest
from PIL import Image

from poolkit.identity import asked, judge_from
from poolkit.plan import explain, forecast, plan_of
from poolkit.records import FIELDS, no_records
from poolkit.tables import DataError

LOCAL = {"model": "m-2026-01-01", "base_url": "http://127.0.0.1:1/v1", "price": {"input": 2, "output": 8}}


def judge(tmp_path, **settings):
    return judge_from("j", {**LOCAL, **settings}, tmp_path)


def pairs(n, **columns):
    plain = {
        "query_id": [f"q{i % 2}" for i in range(n)],
        "doc_id": [f"d{i}" for i in range(n)],
        "query": [f"who is {i % 2}" for i in range(n)],
        "title": ["T"] * n,
        "text": [f"text {i}" for i in range(n)],
    }
    return pd.DataFrame(plain | columns)


def records(judge, table, status="ok", replicate=0, **changes):
    """Records as a filling of these pairs would leave them."""
    from poolkit.identity import short_hash, shown

    rows = [
        dict.fromkeys(FIELDS)
        | {"query_id": p.query_id, "doc_id": p.doc_id, "key": p.key, "status": status, "replicate": replicate,
           "relevance": 1 if status == "ok" else None, "asked": judge.model, "prompt_hash": judge.prompt.hash,
           "parameters": shown(judge.parameters), "query_hash": short_hash(p.query), "text_hash": p.text_hash,
           "time": "2026-01-01"} | changes
        for p in asked(judge, table, replicate)
    ]  # fmt: skip
    return pd.DataFrame(rows).astype(no_records().dtypes)


def planned(judge, table, known, *, replicate=0, retry_failed=False):
    plan = plan_of(judge, table, known, replicate=replicate, retry_failed=retry_failed)
    return plan.todo, len(plan.copies), plan.known


def test_only_what_is_new_is_asked(tmp_path):
    j, table = judge(tmp_path), pairs(4)
    assert planned(j, table, no_records()) == ([[0], [1], [2], [3]], 0, 0)
    known = records(j, table.iloc[:3])
    assert planned(j, table, known) == ([[3]], 0, 3)
    assert planned(j, table.iloc[::-1], known) == ([[0]], 0, 3)
    assert planned(j, table, known, replicate=1) == ([[0], [1], [2], [3]], 0, 0)


def test_equal_content_is_one_call(tmp_path):
    table = pairs(4, text=["same"] * 4)
    assert planned(judge(tmp_path), table, no_records()) == ([[0, 2], [1, 3]], 0, 0)
    known = records(judge(tmp_path), table.iloc[:1])
    assert planned(judge(tmp_path), table, known) == ([[1, 3]], 1, 2)


def test_failures_are_asked_again_on_request_only(tmp_path):
    j, table = judge(tmp_path), pairs(2)
    failed = records(j, table, "refused")
    assert planned(j, table, failed) == ([], 0, 2)
    assert planned(j, table, failed, retry_failed=True) == ([[0], [1]], 0, 0)
    both = pd.concat([failed, records(j, table.iloc[:1])], ignore_index=True)
    assert planned(j, table, both, retry_failed=True) == ([[1]], 0, 1)


@pytest.mark.parametrize(
    "changed", [{"model": "n-1"}, {"prompt": "umbrela"}, {"parameters": {"temperature": 1}}]
)
def test_changed_settings_are_new_calls_and_changing_back_is_free(tmp_path, changed):
    j, other, table = judge(tmp_path), judge(tmp_path, **changed), pairs(1)
    old, new = records(j, table), records(other, table, time="2026-02-01")
    assert planned(other, table, old) == ([[0]], 0, 0)
    plan = plan_of(j, table, pd.concat([old, new], ignore_index=True), replicate=0, retry_failed=False)
    assert (plan.todo, plan.copies[0]["key"], plan.copies[0]["calls"]) == ([], old["key"][0], 0)


def test_pool_run_and_address_do_not_matter(tmp_path):
    table = pairs(2)
    known = records(judge(tmp_path), table)
    elsewhere = judge(tmp_path, base_url="http://127.0.0.1:2/v1", concurrency=3)
    assert planned(elsewhere, table.assign(system="new"), known) == ([], 0, 2)


def test_pairs_stand_once(tmp_path):
    twice = pd.concat([pairs(1), pairs(1)])
    with pytest.raises(ValueError, match=r"pairs hold query q0 and document d0 twice\. Keep one"):
        planned(judge(tmp_path), twice, no_records())
    with pytest.raises(ValueError, match="twice, with different texts"):
        planned(judge(tmp_path), pd.concat([pairs(1), pairs(1, text=["other"])]), no_records())


def test_a_forecast_counts_tokens_and_dollars(tmp_path):
    found = forecast(judge(tmp_path, requests_per_minute=100), pairs(500))
    assert (found.calls, found.tokens_out, found.minutes) == (500, 30_000, 5.0)
    assert 500 * 400 < found.tokens_in < 500 * 600  # the prompt is some 400 tokens
    assert found.usd == pytest.approx((found.tokens_in * 2 + 30_000 * 8) / 1e6)
    unknown = forecast(judge_from("j", {k: v for k, v in LOCAL.items() if k != "price"}, tmp_path), pairs(2))
    assert unknown.usd is None


def test_a_forecast_counts_page_pictures_by_their_size(tmp_path):
    Image.new("RGB", (1024, 1024)).save(tmp_path / "page.png")
    table = pairs(4, image=[str(tmp_path / "page.png")] * 2 + ["", None])
    known, unknown = judge(tmp_path, model="gpt-4.1-2025-04-14"), judge(tmp_path)
    found, plain = forecast(known, table), forecast(known, pairs(4))
    assert (found.images, found.image_tokens, found.image_guess) == (2, 2 * 765, False)
    assert found.tokens_in == plain.tokens_in + 2 * 765
    assert found.usd == pytest.approx(plain.usd + 2 * 765 * 2 / 1e6)
    guessed = forecast(unknown, table)
    assert (guessed.image_tokens, guessed.image_guess) == (2 * 1399, True)  # 1024 x 1024 / 750, rounded up
    assert (plain.images, plain.image_tokens, plain.image_guess) == (0, 0, False)


def test_a_forecast_leaves_out_what_is_known(tmp_path):
    j, table = judge(tmp_path), pairs(5)
    path = tmp_path / "j.jsonl"
    records(j, table.iloc[:3]).to_json(path, orient="records", lines=True)
    assert forecast(j, table, judgments_path=path).calls == 2
    assert forecast(j, table, judgments_path=tmp_path / "none.jsonl").calls == 5
    assert forecast(j, table.iloc[:3], judgments_path=path).usd == 0


def test_explanations(tmp_path):
    j, table = judge(tmp_path), pairs(2)
    row, known = dict(table.iloc[0]), records(j, pairs(2).iloc[:1])

    def verdict(judge=j, row=row, known=known, replicate=0):
        return explain(judge, row, known, replicate=replicate)["verdict"]

    assert verdict() == "hit: grade 1, 2026-01-01"
    assert verdict(row=dict(table.iloc[1])) == "miss: this query and document were never judged here"
    assert verdict(row={**row, "text": "new"}) == "miss: judged before, but with another text"
    assert verdict(row={**row, "query": "new"}) == "miss: judged before, but with another query"
    assert verdict(judge(tmp_path, model="n")) == "miss: judged before, but with another model"
    assert verdict(judge(tmp_path, prompt="umbrela")) == "miss: judged before, but with another prompt"
    both = judge(tmp_path, model="n", parameters={"seed": 1})
    assert verdict(both) == "miss: judged before, but with another model and parameters"
    assert verdict(replicate=1) == "miss: judged before, but with another replicate"
    assert verdict(known=records(j, table, "refused")) == "hit: failed (refused); --retry-failed asks again"
    assert set(explain(j, row, known)) == {
        "model", "prompt", "parameters", "query", "text", "replicate", "key", "verdict",
    }  # fmt: skip
    with pytest.raises(DataError, match="made outside"):
        verdict(judge_from("r", {"kind": "reader"}, tmp_path))


def test_a_replicate_that_no_record_can_hold_is_refused(tmp_path):
    for replicate in (-1, 10**20):
        with pytest.raises(ValueError, match=f"replicate is {replicate}; give a whole number from 0"):
            forecast(judge(tmp_path), pairs(1), replicate=replicate)
        with pytest.raises(ValueError, match=f"replicate is {replicate}"):
            explain(judge(tmp_path), dict(pairs(1).iloc[0]), no_records(), replicate=replicate)
