"""Matched pairs: a small factorial by hand, an independent oracle, and dl21's teams."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from poolkit.factors import each_once, factors_of, matched
from poolkit.labels import grades_on
from poolkit.resample import query_draws
from poolkit.score import Scores, scores
from poolkit.tables import DataError

CATALOGUE = pd.DataFrame(
    [
        ("d2", "emb", "dense", 256), ("d7", "emb", "dense", 768), ("h2", "emb", "hybrid", 256),
        ("h7", "emb", "hybrid", 768), ("bm", "lexical", "sparse", math.nan), ("o7", "other", "dense", 768),
    ],
    columns=["system", "family", "mode", "dimension"],
).set_index("system")  # fmt: skip
VALUES = {  # by system: two queries
    "d2": [0.1, 0.3], "d7": [0.3, 0.5], "h2": [0.5, 0.5], "h7": [0.5, 0.6],
    "bm": [0.2, 0.2], "o7": [0.4, 0.4],
}  # fmt: skip


def world(values=VALUES):
    """Scores with P@1 as given."""
    table = np.array(list(values.values()), dtype=float)
    queries = tuple(f"q{i}" for i in range(table.shape[1]))
    return Scores(tuple(values), queries, ("P@1",), {"P@1": table}, {}, {}, "human", "human", "e", (), (), ())


def draws(n=2, b=200):
    return query_draws(n, n_resamples=b, rng=np.random.default_rng(3))


def row(table, **wanted):
    found = table
    for column, value in wanted.items():
        found = found[found[column] == value]
    assert len(found) == 1
    return found.iloc[0]


def test_dimension_by_hand():
    found = matched(world(), CATALOGUE, "P@1", factor="dimension", draws=draws())
    assert found.others == ("family", "mode")  # other and emb are both dense 768: mode does not settle it
    assert found.pairs[["from_system", "to_system"]].to_numpy().tolist() == [["d2", "d7"], ["h2", "h7"]]
    # Dense +.2 and +.2, hybrid 0 and +.1: means .2 and .05, together .125.
    assert found.pairs["difference"].tolist() == pytest.approx([0.2, 0.05])
    only = row(found.contrasts, from_level=256, to_level=768)
    assert (only.n_pairs, only.difference) == (2, pytest.approx(0.125))
    dense = row(found.by_level, factor="mode", level="dense")
    assert (dense.n_pairs, dense.difference, dense.low, dense.high) == pytest.approx((1, 0.2, 0.2, 0.2))
    hybrid = row(found.by_level, factor="mode", level="hybrid")
    assert (hybrid.difference, hybrid.low, hybrid.high) == pytest.approx((0.05, 0, 0.1))
    change = row(found.interactions, factor="mode")
    assert (change.level_a, change.level_b, change.n_settings) == ("dense", "hybrid", 1)
    assert (change.difference, change.low, change.high) == pytest.approx((-0.15, -0.2, -0.1))
    # One contrast, by level: family emb, mode dense, mode hybrid; one interaction.
    assert found.n_contrasts == 1 + 3 + 1
    assert found.draws.shape == (200, 1)


def test_other_factors_on_the_same_scores():
    mode = matched(world(), CATALOGUE, "P@1", factor="mode", draws=draws())
    # d2 -> h2: +.4, +.2; d7 -> h7: +.2, +.1.
    assert row(mode.contrasts, from_level="dense", to_level="hybrid").difference == pytest.approx(0.225)
    family = matched(world(), CATALOGUE, "P@1", factor="family", draws=draws())
    assert family.pairs[["from_system", "to_system"]].to_numpy().tolist() == [["d7", "o7"]]


def test_text_levels_run_in_order_of_appearance():
    turned = CATALOGUE.loc[["h2", "h7", "d2", "d7"]]
    values = {s: VALUES[s] for s in turned.index}
    found = matched(world(values), turned, "P@1", factor="mode", draws=draws())
    assert row(found.contrasts, from_level="hybrid", to_level="dense").difference == pytest.approx(-0.225)


def test_numbers_run_upwards_and_gaps_last():
    table = pd.DataFrame({"family": "f", "size": [30, math.nan, 4]}, index=["a", "b", "c"])
    found = matched(
        world({"a": [1, 0], "b": [0, 0], "c": [0, 1]}), table, "P@1", factor="size", draws=draws()
    )
    ends = found.pairs[["from_system", "to_system"]].to_numpy().tolist()
    assert ends == [["c", "a"], ["c", "b"], ["a", "b"]]


def test_family_follows_from_other_columns():
    assert factors_of(CATALOGUE) == ("family", "mode", "dimension")
    model = CATALOGUE.assign(model=["m", "m", "m", "m", "", "o"])
    assert factors_of(model) == ("mode", "dimension", "model")
    assert factors_of(CATALOGUE[["family"]]) == ("family",)
    assert factors_of(CATALOGUE.assign(year=2021)) == ("family", "mode", "dimension")
    found = matched(world(), model, "P@1", factor="model", draws=draws())
    assert found.pairs[["from_system", "to_system"]].to_numpy().tolist() == [["d7", "o7"]]


def test_interactions_compare_equal_settings_only():
    # The effect of x: 1 under (u, k), 5 under (u, l), 2 under (v, k); (v, l) is missing.
    rows = [("u", "k", 1.0), ("u", "l", 5.0), ("v", "k", 2.0)]
    table, values = [], {}
    for a, b, effect in rows:
        for x in (0, 1):
            table.append((f"{a}{b}{x}", "f", x, a, b))
            values[f"{a}{b}{x}"] = [effect * x, effect * x]
    catalogue = pd.DataFrame(table, columns=["system", "family", "x", "a", "b"]).set_index("system")
    found = matched(world(values), catalogue, "P@1", factor="x", draws=draws())
    assert row(found.by_level, factor="a", level="u").difference == 3  # (1 + 5) / 2
    change = row(found.interactions, factor="a")
    assert (change.n_settings, change.difference) == (1, 1)  # 2 - 1 under k; not 2 - 3
    assert row(found.interactions, factor="b").difference == 4


def test_every_interaction_is_listed_once():
    # Effect of x: 1 under (u, k), 5 under (u, l), 2 under (v, k), 9 under (v, l).
    table, values = [], {}
    for a, b, effect in [("u", "k", 1.0), ("u", "l", 5.0), ("v", "k", 2.0), ("v", "l", 9.0)]:
        for x in (0, 1):
            table.append((f"{a}{b}{x}", "f", x, a, b))
            values[f"{a}{b}{x}"] = [effect * x, effect * x]
    catalogue = pd.DataFrame(table, columns=["system", "family", "x", "a", "b"]).set_index("system")
    every = {f: matched(world(values), catalogue, "P@1", factor=f, draws=draws()) for f in ("x", "a", "b")}
    once = each_once(every)
    # What is dropped is listed elsewhere with the same number: x by a is a by x.
    assert (
        row(every["a"].interactions, factor="x").difference
        == row(once["x"].interactions, factor="a").difference
    )
    assert {f: e.interactions["factor"].tolist() for f, e in once.items()} == {
        "x": ["a", "b"],
        "a": ["b"],
        "b": [],
    }
    for e in once.values():
        assert e.interaction_draws.shape[1] == len(e.interactions)
    # A contrast each, each within two levels of two others, and three interactions.
    assert sum(e.n_contrasts for e in once.values()) == 3 + 12 + 3


def test_costs_are_left_out_by_naming_factors():
    priced = CATALOGUE.assign(price=[1, 2, 3, 4, 5, 6])
    everything = matched(world(), priced, "P@1", factor="mode", draws=draws(), factors=list(priced.columns))
    assert everything.contrasts.empty
    assert everything.interaction_draws.shape == (200, 0)
    assert (
        "no two systems differ in mode alone, so its effect cannot be known: price differ"
        in everything.notes[0]
    )
    found = matched(
        world(), priced, "P@1", factor="mode", draws=draws(), factors=["family", "mode", "dimension"]
    )
    assert len(found.pairs) == 2


def test_family_alone_and_one_query():
    found = matched(world(), CATALOGUE[["family"]], "P@1", factor="family", draws=draws())
    assert (found.others, len(found.pairs), len(found.by_level)) == ((), 4 + 4 + 1, 0)
    one = {s: v[:1] for s, v in VALUES.items()}
    found = matched(world(one), CATALOGUE, "P@1", factor="mode", draws=draws(1))
    assert "one query alone" in found.notes[0]
    assert found.contrasts["low"].isna().all()
    assert found.contrasts["difference"].notna().all()


def test_bad_input_is_refused():
    with pytest.raises(
        ValueError, match="unknown factor 'colour'; the catalogue has family, mode, dimension"
    ):
        matched(world(), CATALOGUE, "P@1", factor="colour", draws=draws())
    with pytest.raises(DataError, match="catalogue: no row for o7, which are scored"):
        matched(world(), CATALOGUE.drop(index="o7"), "P@1", factor="mode", draws=draws())
    with pytest.raises(ValueError, match="draws are over 5 queries"):
        matched(world(), CATALOGUE, "P@1", factor="mode", draws=draws(5))


def test_real_contrasts_equal_a_plain_search(dl21, cases):
    runs, labels, _ = dl21
    catalogue = pd.read_csv(cases / "dl21" / "systems.csv", index_col="system")
    found_scores = scores(runs, grades_on(runs, labels["human"]), ["nDCG@10"])
    weights = query_draws(53, n_resamples=300, rng=np.random.default_rng(1))
    found = matched(found_scores, catalogue, "nDCG@10", factor="family", draws=weights)
    table = found_scores.table("nDCG@10")
    pairs = {}
    for a, b in combinations(table.index, 2):
        if catalogue.team[a] == catalogue.team[b] and catalogue.family[a] != catalogue.family[b]:
            first, second = catalogue.family[a], catalogue.family[b]
            pairs.setdefault(frozenset([first, second]), []).append(
                {first: table.loc[a], second: table.loc[b]}
            )
    assert len(found.contrasts) == len(pairs) == 12
    for i, one in enumerate(found.contrasts.itertuples()):
        gains = [
            p[one.to_level] - p[one.from_level] for p in pairs[frozenset([one.from_level, one.to_level])]
        ]
        assert one.n_pairs == len(gains)
        gain = np.mean(gains, axis=0)
        assert one.difference == pytest.approx(gain.mean())
        drawn = [np.average(gain, weights=w) for w in weights]
        assert found.draws[:, i] == pytest.approx(np.array(drawn))
        assert (one.low, one.high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]))
    # Bag of words against the re-rankers built on it, inside one team: no interval comes near zero.
    assert row(found.contrasts, from_level="rerank", to_level="lexical").high < -0.1
