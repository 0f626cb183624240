"""Collections side by side: the closing table, and what to do next."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from poolkit import analyse
from poolkit.boards import drops
from poolkit.disagree import NOISE
from poolkit.display import Html, answer, cell, count, facts, form, percent, sentence, with_interval
from poolkit.glossary import meaning
from poolkit.ledger import status_in
from poolkit.plain import named
from poolkit.study import Study

COST = ("systems", "families", "queries", "depth", "independent", "pool", "reuse", "cost_factor")
NAMES = ("FiQA", "TREC-COVID", "NQ", "FinRAGBench-V")  # the paper's collections
CLOSING: dict[str, tuple[str, str, tuple[str, ...]]] = {  # name, format, and the paper's figures
    "measure": ("measure", "", ("nDCG@10",)),
    "best": ("best system", "", ()),
    "beside_best": ("systems that cannot be told from it", "", ()),
    "rho": ("Spearman's rho", "", ("0.909", "0.691", "0.945", "0.909")),
    "tau": ("Kendall's tau-b", "", ("0.782", "0.564", "0.818", "0.782")),
    "pairs_same": (
        "pairs of systems in the same order",
        "",
        ("49 of 55", "43 of 55", "50 of 55", "49 of 55"),
    ),
    "within_noise": ("pairs of systems within noise, of those that differ", "", ("20 of 27 in all",)),
    "conflicts": ("pairs of systems in conflict", "", ("7 of 220 pairs in all",)),
    "preserved": ("pairs of systems not in conflict", ".1%", ("97 % in all",)),
    "reuse": ("judgments saved by the pool", ".1%", ("79.6 % in all",)),
    "flips": ("flips when a family is left out", "", ("8", "10", "0", "1")),
    "largest_penalty": ("largest penalty then", ".4f", ("0.033", "0.055", "0.008", "0.012")),
    "orders_with_reversal": ("orders of arrival with a reversal", ".1%", ("53.8 %", "0 %", "0 %", "1.4 %")),
    "certified": ("pairs of systems that no later system can turn", ".1%", ()),
    "kappa": ("kappa of judge and reference labels", "", ()),
    "repeat_exact": ("same grade when judged again", "", ("93 to 96 %",)),
}


def summary(
    studies: Sequence[Study], *, seed: int = 1, n_resamples: int = 10_000, n_orders: int = 500
) -> pd.DataFrame:
    """One row a collection: what the pool saved, and how far its ranking can be trusted.

    What cannot be known in a collection is missing in its row.
    """
    rows = [_row(s, seed=seed, n_resamples=n_resamples, n_orders=n_orders) for s in studies]
    names = [s.collection.config["name"] for s in studies]
    return pd.DataFrame(rows, index=pd.Index(names, name="collection"))


def _row(study: Study, *, seed: int, n_resamples: int, n_orders: int) -> dict[str, object]:
    pool = study.pool
    row: dict[str, object] = dict.fromkeys((*COST, *CLOSING, "pairs", "same", "differ", "best_under"))
    row |= {
        "systems": len(pool.runs.systems), "families": len(set(study.families.values())),
        "queries": len(pool.runs.queries), "depth": pool.depth, "independent": pool.independent,
        "pool": pool.unique, "reuse": pool.reuse, "cost_factor": pool.cost_factor, "measure": study.measure,
    }  # fmt: skip
    found = analyse.correlation(study, seed=seed, n_resamples=n_resamples)
    if found is not None:
        row |= {
            "rho": found.rho,
            "tau": found.tau,
            "pairs": found.pairs,
            "same": found.agree,
            "pairs_same": f"{found.agree:,} of {found.pairs:,}",
        }
    real = analyse.disagreements(study, seed=seed, n_resamples=n_resamples)
    if real is not None:
        conflicts = len(real.verdict("conflict", "strong conflict"))
        row |= {
            "differ": int((real.pairs["order"] == "different").sum()), "conflicts": conflicts,
            "within_noise": len(real.verdict(NOISE)), "within_noise_share": real.noise_share,
            "preserved": real.preserved,
        }  # fmt: skip
    bias = analyse.left_out(study)
    if bias is not None and (bias.effects["measure"] == study.measure).any():
        mine = bias.effects[bias.effects["measure"] == study.measure]
        row |= {"flips": int(mine["flips"].sum()), "largest_penalty": float(mine["largest"].max())}
    growth = analyse.growing_at_random(study, seed=seed, n_orders=n_orders)
    if growth is not None:
        row["orders_with_reversal"] = growth.share
    certified = analyse.certificates(study)
    if certified is not None and len(certified.pairs):
        row["certified"] = float((certified.pairs["status"] == "certified").mean())
    labels = analyse.label_agreements(study, seed=seed)
    if labels is not None:
        row["kappa"] = labels.kappa
    again = analyse.judged_again(study, seed=seed)
    if again is not None:
        row["repeat_exact"] = again.exact
    best = analyse.best_systems(study, seed=seed, n_resamples=n_resamples)
    if best is not None:
        row |= {"best": best.best, "best_under": study.scores.title, "beside_best": len(best.systems) - 1}
    return row


def cost(table: pd.DataFrame) -> pd.DataFrame:
    """Columns of the summary about what the pool saved."""
    return table[list(COST)]


def closing(table: pd.DataFrame) -> pd.DataFrame:
    """Closing table: a row a quantity, a column a collection, the paper's own figures and what they mean last."""
    rows = []
    for key, (name, form_, paper) in CLOSING.items():
        values = {f"collection {c}": cell(None if pd.isna(v) else v, form_) for c, v in table[key].items()}
        if len(paper) == len(NAMES):
            paper = tuple(f"{n} {x}" for n, x in zip(NAMES, paper, strict=True))
        told = {"the paper, for reference": " \u00b7 ".join(paper) or "\u2013", "meaning": meaning(key)}
        rows.append({"quantity": name} | values | told)
    return pd.DataFrame(rows)


def summary_story(table: pd.DataFrame) -> Html:
    """Return the summary in one sentence, of the one collection or of all."""
    pool, independent = int(table["pool"].sum()), int(table["independent"].sum())
    saved = f"Judging each query-document pair once saved {percent(1 - pool / independent)} of the judgments: {pool:,} "
    saved += f"serve {independent:,} places in the systems' lists."
    known = table[table["rho"].notna() & table["pairs"].fillna(0).gt(0)]
    if known.empty:
        trust = (
            "Orders cannot be compared: that takes two systems, and both sides' grades on the same queries."
        )
    else:
        same, pairs = (int(known[c].sum()) for c in ("same", "pairs"))
        differ, conflicts = (int(known[c].sum()) for c in ("differ", "conflicts"))
        some = f"{same:,} of {count(pairs, 'pair')} of systems ({percent(same / pairs)})"
        where = "The" if len(known) == len(table) else f"In {len(known):,} of them the"
        trust = f"{where} judge puts {some} in the order of the reference labels{_rho(known)}"
        if differ:
            how = f"{conflicts:,} {form(conflicts)}" if conflicts else "none is"
            trust += f"; of the {differ:,} it orders differently, {how} more than the noise of these queries"
        if tied := pairs - same - differ:
            trust += f"; {tied:,} more {form(tied)} tied"
        trust += "."
    if len(table) > 1:
        return answer(
            f"{count(len(table), 'collection')}, each with its best system below.", f"{trust} {saved}"
        )
    row = table.iloc[0]
    if row["best"] is None:
        return answer(f"{trust} {saved}")
    n = int(row["beside_best"])
    beside = f"{count(n, 'other system')} cannot be told from it" if n else "every other system is worse"
    return answer(
        f"Best under {named(row['best_under'])} is {named(row['best'])}; {beside}.", f"{trust} {saved}"
    )


def _rho(known: pd.DataFrame) -> str:
    """Spearman's rho of one collection with its interval, of several the least and the greatest."""
    values = [r.value for r in known["rho"] if not np.isnan(r.value)]
    if not values:
        return ""
    if len(known) == 1:
        return f", with rho {with_interval(known['rho'].iloc[0])} by mean {known['measure'].iloc[0]}"
    return f", with rho between {min(values):.3f} and {max(values):.3f}"


def next_steps(studies: Sequence[Study]) -> Html:
    """One next action a collection."""
    said = [_command(s) for s in studies]
    if len(said) == 1:
        return sentence(f"Next: {said[0]}.", kind="next")
    return facts([f"{named(s.collection.config['name'])}: {x}." for s, x in zip(studies, said, strict=True)])


def _command(study: Study) -> str:
    """Next action, with DATA in place of the folder: pages name no path of the machine they were made on."""
    folder = study.collection.folder
    step = str(status_in(study.collection, study.pool)["next"])
    if step.startswith("poolkit report"):
        return (
            "choose on page Choose, and see how far to trust it on page Correlate; there is nothing to judge"
        )
    return re.sub(rf"^(poolkit \w+) {re.escape(str(folder))}([^(]*?)(?= \(|$)", r"`\1 DATA\2`", step)


def caveats(studies: Sequence[Study]) -> list[str]:
    """What a reader must know first, collection by collection."""
    many = len(studies) > 1
    return [
        f"{named(s.collection.config['name'])}: {line}" if many else line
        for s in studies
        for line in analyse.caveats(s)
    ]


def gaps(studies: Sequence[Study]) -> list[str]:
    """What is missing, dropped or odd in each collection."""
    said = []
    for study in studies:
        name = study.collection.config["name"]
        said += [f"{name}: {line}." for line in drops(study)]
        said += [f"{name}: {note}" for note in study.collection.notes[:5]]
        if len(study.collection.notes) > 5:
            said.append(
                f"{name}: {len(study.collection.notes) - 5} more notes; `poolkit check` lists them all."
            )
    return said or ["Nothing was dropped, and nothing is odd."]
