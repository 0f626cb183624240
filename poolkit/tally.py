"""What judging cost and where it failed: by day, by system, by query. An unknown price stays unknown, never 0."""

from typing import Any

import numpy as np
import pandas as pd

from poolkit.labels import items_of
from poolkit.pool import Pool, arrival
from poolkit.records import COUNTS

OUTSIDE, REPEATS = "(in no pool)", "(judged again)"


def ledger(records: pd.DataFrame) -> pd.DataFrame:
    """Calls, tokens and dollars, by model and day.

    Parameters
    ----------
    records : DataFrame
        From `read_records`, so that judgments replaced since are counted too.

    Returns
    -------
    DataFrame
        Columns model, day, judgments, calls, tokens_in, tokens_cached, tokens_out, usd and unpriced: how many
        judgments have no known cost. Where there is one, usd is missing.
    """
    model, day = records["model"].fillna("unknown"), records["time"].fillna("").str[:10]
    return _sums(records, [model.rename("model"), day.replace("", "unknown").rename("day")]).reset_index()


def _sums(records: pd.DataFrame, by: Any) -> pd.DataFrame:
    """Totals of groups of records."""
    counts = {name: records[name].fillna(0).astype("int64") for name in COUNTS}
    table = pd.DataFrame(
        {
            "judgments": 1,
            **counts,
            "usd": records["usd"].fillna(0.0),
            "unpriced": records["usd"].isna().astype(int),
        }
    )
    sums = table.groupby(by).sum()
    return sums.assign(usd=sums["usd"].astype(float).where(sums["unpriced"].eq(0)))


def spent(records: pd.DataFrame, judgments: pd.DataFrame) -> dict[str, Any]:
    """Calls, tokens and dollars in all, and the mean dollars of a grade.

    Parameters
    ----------
    records : DataFrame
        Every line of the judge's file.
    judgments : DataFrame
        Those that count.

    Returns
    -------
    dict
        calls, tokens_in, tokens_cached, tokens_out, usd, usd_per_grade; the last two None where a cost is unknown.
    """
    usd = None if records["usd"].isna().any() else float(records["usd"].sum())
    graded = int(judgments["status"].eq("ok").sum())
    counts = {name: int(records[name].sum()) for name in COUNTS}
    return {**counts, "usd": usd, "usd_per_grade": None if usd is None or not graded else usd / graded}


def by_system(pool: Pool, records: pd.DataFrame, judgments: pd.DataFrame) -> pd.DataFrame:
    """What each system brought, in order of arrival, and what judging that cost.

    Parameters
    ----------
    pool : Pool
    records, judgments : DataFrame
        Every line of a judge's file, and those that count.

    Returns
    -------
    DataFrame
        By system: returned, new and reuse as `pool.arrival` says; judged and failed of the new ones; then
        calls, tokens and usd as in `ledger`. A pair belongs to the first system that returned it, so that the
        rows add up to the whole; the last rows hold judgments of pairs in no pool, and repeats.
    """
    systems = [*pool.runs.systems, OUTSIDE, REPEATS]
    first = np.full(pool.runs.n_items + 1, len(systems) - 2)
    first[pool.item] = pool.member.argmax(axis=0)

    def owner(rows: pd.DataFrame) -> np.ndarray:
        again = rows["replicate"].gt(0).to_numpy(dtype=bool)
        return np.where(again, len(systems) - 1, first[items_of(pool.runs, rows)])

    belongs = owner(records)
    cost = _sums(records, belongs).reindex(range(len(systems)))
    mine = belongs if len(judgments) == len(records) else owner(judgments)
    good = judgments["status"].eq("ok").to_numpy(dtype=bool)
    table = arrival(pool)[["returned", "new", "share", "reuse"]].reindex(systems)
    table["judged"] = np.bincount(mine[good], minlength=len(systems))
    table["failed"] = np.bincount(mine[~good], minlength=len(systems))
    for name in (*COUNTS, "usd"):
        none = cost["judgments"].isna().to_numpy()
        table[name] = np.where(none, 0, cost[name]).astype(float if name == "usd" else int)
    kept = np.append(np.ones(len(pool.runs.systems), dtype=bool), cost["judgments"].notna().to_numpy()[-2:])
    return table[kept].rename_axis("system")


def failed_by(pool: Pool, failed: pd.DataFrame) -> dict[str, pd.Series]:
    """Failed pairs of the pool by kind, by system and by query, most first.

    Parameters
    ----------
    pool : Pool
    failed : DataFrame
        Columns query_id, doc_id, status: one row a pair, as `Labels.failed`.

    Returns
    -------
    dict of str to Series
        `kind`, `system` and `query`. A pair counts for every system that returned it within the depth.
    """
    place = np.full(pool.runs.n_items + 1, -1)
    place[pool.item] = np.arange(pool.unique)
    at = place[items_of(pool.runs, failed)]
    rows, at = failed[at >= 0], at[at >= 0]
    counts = {
        "kind": rows["status"].value_counts(),
        "system": pd.Series(pool.member[:, at].sum(axis=1), index=list(pool.runs.systems)),
        "query": rows["query_id"].value_counts(),
    }
    return {
        by: n[n > 0].astype(int).sort_values(ascending=False, kind="stable").rename("pairs").rename_axis(by)
        for by, n in counts.items()
    }
