"""Collections side by side: the closing table, and what to do next."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from poolkit import analyse
from poolkit.boards import drops
from poolkit.disagree import NOISE
from poolkit.display import Html, answer, cell, count, form, percent, with_interval
from poolkit.glossary import meaning
from poolkit.ledger import status_in
from poolkit.plain import named
from poolkit.study import Study

COST = ("systems", "families", "queries", "depth", "independent", "pool", "reuse", "cost_factor")
NAMES = ("FiQA", "TREC-COVID", "NQ", "FinRAGBench-V")  # the paper's collections
CLOSING: dict[str, tuple[str, str, tuple[str, ...]]] = {  # name, format, and the paper's figures
    "measure": ("measure", "", ("nDCG@10",)),
    "rho": ("Spearman's rho", "", ("0.909", "0.691", "0.945", "0.909")),
    "tau": ("Kendall's tau-b", "", ("0.782", "0.564", "0.818", "0.782")),
    "pairs_same": (
        "pairs of systems in the same order",
        "",
        ("49 of 55", "43 of 55", "50 of 55", "49 of 55"),
    ),
    "within_noise": ("within noise, of those that differ", "", ("20 of 27 in all",)),
    "conflicts": ("conflicts", "", ("7 of 220 pairs in all",)),
    "preserved": ("pairs not in conflict", ".1%", ("97 % in all",)),
    "reuse": ("judgments saved by the pool", ".1%", ("79.6 % in all",)),
    "flips": ("flips when a family is left out", "", ("8", "10", "0", "1")),
    "largest_penalty": ("largest penalty then", ".4f", ("0.033", "0.055", "0.008", "0.012")),
    "orders_with_reversal": ("orders of arrival with a reversal", ".1%", ("53.8 %", "0 %", "0 %", "1.4 %")),
    "certified": ("pairs that no later system can turn", ".1%", ()),
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
    row: dict[str, object] = dict.fromkeys(dict.fromkeys((*COST, *CLOSING)), None)
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
    text = f"In {count(len(table), 'collection')}, {pool:,} pairs judged once serve "
    text += f"{independent:,} places in the systems' top lists: {percent(1 - pool / independent)} saved. "
    known = table[table["rho"].notna()]
    if known.empty:
        return answer(
            text
            + "None has reference labels and a judge's on the same queries, so orders cannot be compared."
        )
    values = [r.value for r in known["rho"] if not np.isnan(r.value)]
    if len(known) == 1:
        row = known.iloc[0]
        where = f"In {named(known.index[0])}, by" if len(table) > 1 else "By"
        text += f"{where} mean {row['measure']}, the judge's order of the systems has rho {with_interval(row['rho'])} "
    elif values:
        text += f"In {len(known):,} of them the judge's order of the systems has a rho between {min(values):.3f} and "
        text += f"{max(values):.3f} "
    else:
        text += f"In {len(known):,} of them the judge's order of the systems has an undefined rho "
    differ, conflicts = int(known["differ"].sum()), int(known["conflicts"].sum())
    text += f"with the order of the reference labels; of {count(known['pairs'].sum(), 'pair')} of systems, {differ:,} "
    return answer(
        text
        + f"{form(differ, 'is', 'are')} ordered differently and {conflicts:,} {form(conflicts)} in conflict."
    )


def next_steps(studies: Sequence[Study]) -> list[str]:
    """One next action a collection."""
    return [f"{s.collection.config['name']}: next, {_command(s)}" for s in studies]


def _command(study: Study) -> str:
    """Next action, with DATA in place of the folder: pages name no path of the machine they were made on."""
    folder = study.collection.folder
    step = str(status_in(study.collection, study.pool)["next"])
    if step.startswith("poolkit report"):
        return "nothing; every pooled pair has been judged"
    return re.sub(rf"^(poolkit \w+) {re.escape(str(folder))}", r"\1 DATA", step)


def gaps(studies: Sequence[Study]) -> list[str]:
    """What is missing, dropped or odd in each collection."""
    said = []
    for study in studies:
        name = study.collection.config["name"]
        said += [f"{name}: {line}" for line in analyse.caveats(study)]
        said += [f"{name}: {line}." for line in drops(study)]
        said += [f"{name}: {note}" for note in study.collection.notes[:5]]
        if len(study.collection.notes) > 5:
            said.append(
                f"{name}: {len(study.collection.notes) - 5} more notes; `poolkit check` lists them all."
            )
    return said or ["Nothing was dropped, and nothing is odd."]
