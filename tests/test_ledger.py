"""A collection's judging: the pairs with their texts, what is next, what each system costs."""

import json
import shutil

import pytest
import toy
from PIL import Image

from poolkit import ledger
from poolkit.judge import Outcome
from poolkit.tables import DataError
from poolkit.waiting import waiting_of

POOL = [("q1", d) for d in ("d1", "d2", "d3", "d4")] + [("q2", d) for d in ("d1", "d3", "d4", "d5")]


@pytest.fixture
def folder(tmp_path):
    return toy.toy_folder(tmp_path / "toy")


def test_a_job_has_every_pooled_pair_with_its_texts(folder):
    job = ledger.job_of(folder, "gpt-4.1")
    assert list(zip(job.pairs["query_id"], job.pairs["doc_id"], strict=True)) == POOL
    first = job.pairs.iloc[0]
    assert first[["query", "title", "text", "image"]].tolist() == [
        "what is q1",
        "One",
        "A passage about one.",
        "",
    ]
    assert job.path == folder / "judgments" / "gpt-4.1.jsonl"
    assert job.cache == folder / ".cache"
    assert len(ledger.job_of(folder, "gpt-4.1", depth=1).pairs) == 4


def test_a_sample_is_drawn_by_its_seed_and_keeps_the_order(folder):
    def drawn(n, seed):
        pairs = ledger.job_of(folder, "gpt-4.1", sample=n, seed=seed).pairs
        return list(zip(pairs["query_id"], pairs["doc_id"], strict=True))

    assert drawn(3, 1) == drawn(3, 1)
    assert len({tuple(drawn(3, seed)) for seed in range(20)}) > 5
    assert all(drawn(5, seed) == sorted(drawn(5, seed)) for seed in range(5))
    assert drawn(100, 1) == POOL
    for n, seed in ((-1, 1), (1, -1)):
        with pytest.raises(
            ValueError, match=rf"^sample is {n}, seed {seed}; give numbers from 0, a sample of 0"
        ):
            drawn(n, seed)


def test_a_document_without_text_cannot_be_judged(folder):
    lines = (folder / "corpus.jsonl").read_text().splitlines()
    toy.write_lines(folder / "corpus.jsonl", lines[:3])
    with pytest.raises(
        DataError, match=r"3 pooled documents have no text, the first is d4\. A judge needs the text"
    ):
        ledger.job_of(folder, "gpt-4.1")


def test_page_pictures_lie_in_the_collection(folder):
    rows = [json.dumps({"_id": d, "title": "", "text": "", "image": "pages/1.png"}) for d in toy.TITLES]
    toy.write_lines(folder / "corpus.jsonl", rows)
    assert ledger.job_of(folder, "gpt-4.1").pairs["image"].unique().tolist() == [
        str(folder / "pages" / "1.png")
    ]


def test_the_forecast_says_what_page_pictures_cost_and_whether_it_is_a_guess(folder):
    Image.new("RGB", (1024, 1024)).save(folder / "page.png")
    rows = [json.dumps({"_id": d, "title": "", "text": "", "image": "page.png"}) for d in toy.TITLES]
    toy.write_lines(folder / "corpus.jsonl", rows)
    said = ledger.forecast_lines(ledger.job_of(folder, "gpt-4.1"), replicate=0, retry_failed=False)
    assert said[2] == "of the input 1,530 for 2 page pictures, by their sizes"  # one key a query: 2 x 765
    (folder / "collection.toml").write_text(
        '[judges.mine]\nmodel = "mine"\nbase_url = "http://localhost/v1"\n'
    )
    said = ledger.forecast_lines(ledger.job_of(folder, "mine"), replicate=0, retry_failed=False)
    assert said[2] == (
        "of the input 2,798 for 2 page pictures, by area, a guess: how mine counts is not known here"
    )


def test_forecast_in_words(folder):
    job = ledger.job_of(folder, "gpt-4.1")
    said = ledger.forecast_lines(job, replicate=0, retry_failed=False)
    assert said[0] == "judge gpt-4.1 (gpt-4.1-2025-04-14): 8 of 8 pairs to judge"
    assert "480 output tokens, $0.01" in said[1]  # 8 x 60
    (folder / "collection.toml").write_text(
        '[judges.mine]\nmodel = "mine"\nbase_url = "http://localhost/v1"\n'
    )
    said = ledger.forecast_lines(ledger.job_of(folder, "mine"), replicate=0, retry_failed=False)
    assert "price unknown" in said[1]


def test_outcome_in_words():
    done = Outcome(5, {"refused": 1200}, 2, 3, 8, None, "the budget of $1 is used up", ("a note",))
    assert ledger.outcome_lines(done) == [
        "5 judged now, 2 known already, 8 calls, cost unknown",
        "failed (refused): 1,200",
        "3 pairs remain: the budget of $1 is used up. Run again to go on.",
        "a note",
    ]
    assert ledger.outcome_lines(Outcome(5, {}, 0, 0, 5, 0.5)) == [
        "5 judged now, 0 known already, 5 calls, $0.5000"
    ]


def test_status_counts_only_the_pool(folder):
    with (folder / "judgments" / "robot.jsonl").open("a") as out:
        out.write(json.dumps(toy.judgment("q2", "d2", 1)) + "\n")  # nobody returned it
        out.write(json.dumps(toy.judgment("q2", "beyond", None, status="refused")) + "\n")
    judge = ledger.status_of(folder)["judges"][0]
    assert (judge["judged"], judge["failed"], judge["unjudged"]) == (7, 1, 0)
    assert judge["calls"] == 17  # but all were paid
    assert ledger.status_of(folder, depth=1)["judges"][0]["judged"] == 4


def test_long_lists_are_cut_in_words(folder):
    rows = [toy.judgment("q1", "d4", 1, time=f"2026-01-{day:02}") for day in range(2, 20)]
    with (folder / "judgments" / "robot.jsonl").open("a") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    found = ledger.status_of(folder)
    assert len(found["judges"][0]["by_day"]) == 19
    said = ledger.status_lines(found)
    assert "  and 9 days more; --json has all" in said
    assert said[-1] == f"next: {found['next']}"


def test_an_unknown_price_is_unknown_not_zero(folder):
    with (folder / "judgments" / "robot.jsonl").open("a") as out:
        out.write(json.dumps(toy.judgment("q1", "d4", 1, replicate=2, usd=None)) + "\n")
    assert ledger.status_of(folder)["judges"][0]["usd"] is None


def next_of(folder):
    return ledger.status_of(folder)["next"]


def test_next_step(folder):
    path = folder / "judgments" / "robot.jsonl"
    lines = path.read_text().splitlines()
    assert next_of(folder) == (
        "grade 1 query-document pair as robot, outside poolkit, into judgments/robot.jsonl"
    )
    config = (folder / "collection.toml").read_text()
    (folder / "collection.toml").write_text(config.replace('kind = "reader"', ""))
    assert next_of(folder) == f"poolkit judge {folder} --judge robot --retry-failed (failed: 1 pair)"
    toy.write_lines(path, lines[2:])
    assert next_of(folder) == f"poolkit judge {folder} --judge robot (no grade yet: 2 pairs)"
    waiting_of(folder / ".cache" / "robot").write("b", [{}])
    assert next_of(folder) == f"poolkit judge {folder} --judge robot --batch (batches that wait: 1)"
    waiting_of(folder / ".cache" / "robot").forget("b")
    (folder / "collection.toml").write_text(config.split("[judges")[0])
    assert next_of(folder).startswith("grade 3 query-document pairs as robot"), "nobody says how to ask robot"
    good = [x for x in lines if '"unreadable"' not in x]
    toy.write_lines(path, [*good, json.dumps(toy.judgment("q1", "d4", 0))])
    assert next_of(folder) == f"poolkit report {folder}"
    shutil.rmtree(folder / "judgments")
    assert next_of(folder) == f"poolkit judge {folder} --dry-run"


def test_explained_does_not_write(folder):
    job = ledger.job_of(folder, "gpt-4.1")
    before = sorted(folder.rglob("*"))
    found = ledger.explained(job, "q1", "d1", replicate=0)
    assert found["verdict"] == "miss: this query and document were never judged here"
    assert sorted(folder.rglob("*")) == before
    with pytest.raises(DataError, match="query q1, document d5 is not in the pool at depth 3"):
        ledger.explained(job, "q1", "d5", replicate=0)


def test_a_short_time_is_under_a_minute_and_what_to_do_is_said_once(folder):
    said = ledger.forecast_lines(ledger.job_of(folder, "gpt-4.1"), replicate=0, retry_failed=False)
    assert said[1].endswith(", under a minute if a call takes 1.5 s, 64 at a time")
    with (folder / "collection.toml").open("a", encoding="utf-8") as out:
        out.write('[judges.paced]\nmodel = "m-2025-01-01"\nrequests_per_minute = 2\n')
    paced = ledger.forecast_lines(ledger.job_of(folder, "paced"), replicate=0, retry_failed=False)
    assert paced[1].endswith(" minutes at the configured rate")
    stopped = Outcome(5, {}, 2, 3, 8, None, "the server asks to wait 4000 s; run again then")
    assert (
        ledger.outcome_lines(stopped)[-1] == "3 pairs remain: the server asks to wait 4000 s; run again then."
    )
    with pytest.raises(ValueError, match="replicate is -1"):
        ledger.forecast_lines(ledger.job_of(folder, "gpt-4.1"), replicate=-1, retry_failed=False)


def test_a_judge_cannot_have_the_name_of_human_labels(folder):
    (folder / "collection.toml").write_text('[judges.human]\nmodel = "m"\nbase_url = "http://localhost/v1"\n')
    name = next((folder / "qrels").iterdir())
    name.rename(folder / "qrels" / "human.qrels")
    with pytest.raises(
        DataError, match=r"^judge 'human': the human labels in qrels/ have this name\. Rename"
    ):
        ledger.job_of(folder, "human")


def test_a_judge_that_is_no_table(folder):
    (folder / "collection.toml").write_text('[judges]\nrobot = "x"\n')
    for call in (lambda: ledger.status_of(folder), lambda: ledger.job_of(folder, "robot")):
        with pytest.raises(DataError, match=r"robot.* 'x'; .* table .*judges.robot"):
            call()
