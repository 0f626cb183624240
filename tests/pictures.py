"""What is drawn: small worlds with every result that a figure shows, and what a reader finds on its axes."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import toy

from poolkit.agree import label_agreement
from poolkit.bias import leave_out
from poolkit.certify import certificates
from poolkit.choose import best_set, tradeoff
from poolkit.correlate import correlate
from poolkit.disagree import disagree
from poolkit.factors import matched
from poolkit.growth import grow, growth_orders
from poolkit.labels import grades_on
from poolkit.noise import noise_through
from poolkit.pool import arrival, jaccard, pool
from poolkit.resample import query_draws
from poolkit.score import scores
from poolkit.versus import versus

HOSTILE = {"bm25": "$x_1$ ^{", "dense": "_lead", "hybrid": "<b>&\\frac"}


def world(rankings, families, queries=toy.QUERIES, human=toy.GRADES, judge=toy.JUDGED):
    """All results of a small world, by name."""
    runs = toy.runs(rankings, queries)
    people, robot = toy.labels(human, title="author grades"), toy.labels(judge, "robot", human=False)
    h, j = (grades_on(runs, x) for x in (people, robot))
    hs, js = (scores(runs, x, ["nDCG@3"]) for x in (h, j))
    draws = query_draws(len(hs.queries), n_resamples=200, rng=np.random.default_rng(1))
    rng, made = np.random.default_rng(2), pool(runs, depth=3)
    flips = pd.DataFrame(np.full((3, 3), 1 / 3), index=range(3), columns=range(3))
    catalogue = pd.DataFrame(
        {"family": list(families.values()), "size": np.arange(float(len(families)))}, index=list(families)
    )
    return SimpleNamespace(
        families=families, arrivals=arrival(made), overlap=jaccard(made), systems=list(runs.systems),
        correlation=correlate(hs, js, "nDCG@3", rng=rng, draws=draws),
        disagreements=disagree(hs, js, "nDCG@3", draws=draws), left_out=leave_out(made, j, families, ["nDCG@3"]),
        grown=grow(made, j, "nDCG@3"), orders=growth_orders(made, j, "nDCG@3", n_orders=6, rng=rng),
        noise=noise_through(runs, j, flips, "nDCG@3", n_worlds=8, rng=rng), best=best_set(js, "nDCG@3", draws=draws),
        matched=matched(js, catalogue, "nDCG@3", factor="size", draws=draws, factors=["size"]),
        versus=versus(js, "nDCG@3", draws=draws),
        tradeoff=tradeoff(best_set(js, "nDCG@3", draws=draws), catalogue, "size"),
        certified=certificates(runs, j, "nDCG@3"), order=list(dict.fromkeys(families)),
        spent=pd.DataFrame({"model": ["m", "m"], "day": ["1", "2"], "judgments": [5, 6], "calls": [3, 4], "usd": 0.0}),
        confusion=label_agreement(people, robot, rng=rng, n_resamples=10).agreement.confusion,
    )  # fmt: skip


def points(ax):
    """Every drawn point but those of lines, legends and guides, as (x, y)."""
    found = []
    for line in ax.lines:
        if line.get_marker() not in ("None", None, ""):
            found += list(zip(*map(np.ravel, line.get_data()), strict=True))
    return [(float(x), float(y)) for x, y in found]


def intervals(ax):
    """Ends (x0, x1) of every horizontal interval, by drawing order."""
    return [(s[0][0], s[1][0]) for c in ax.collections for s in c.get_segments() if s[0][1] == s[1][1]]


def rows(ax):
    return [t.get_text() for t in ax.get_yticklabels()]


def legend(ax):
    return [t.get_text() for t in ax.get_legend().get_texts()]


def show(ax):
    ax.get_figure().canvas.draw()
    return ax
