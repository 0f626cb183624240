"""Two label sets, or two orderings, side by side: kappa, rho, tau."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy  # which loads scipy.stats, slow to import, at its first use

from poolkit.labels import Labels

NOISE = 1e-12  # differences of means below this are rounding of the sum, not order


def settled(means: np.ndarray) -> np.ndarray:
    """Means with float noise removed, so that equal systems are tied. For ordering only."""
    return np.round(np.asarray(means, dtype=float), 12)


def spearman(left: np.ndarray, right: np.ndarray) -> float:
    """Spearman's rho of two lists of means; NaN where one side is constant."""
    left, right = settled(left), settled(right)
    if len(left) < 2 or np.ptp(left) == 0 or np.ptp(right) == 0:
        return float("nan")
    return float(scipy.stats.spearmanr(left, right).statistic)


def kendall(left: np.ndarray, right: np.ndarray) -> float:
    """Kendall's tau-b of two lists of means; NaN where one side is constant."""
    left, right = settled(left), settled(right)
    if len(left) < 2 or np.ptp(left) == 0 or np.ptp(right) == 0:
        return float("nan")
    return float(scipy.stats.kendalltau(left, right, variant="b").statistic)


def tau_ap(truth: np.ndarray, estimate: np.ndarray) -> float:
    """Top-weighted rank correlation tau-AP of an estimated ordering with the true one.

    Parameters
    ----------
    truth, estimate : array_like, shape (systems,)
        Means; larger is better.

    Returns
    -------
    float
        In [-1, 1]; NaN for fewer than two systems or a constant side.

    Notes
    -----
    2 / (n - 1) * sum over ranks i = 2..n of the estimate of C(i) / (i - 1), less 1, where C(i) is how many
    of the systems above rank i in the estimate are above it in the truth. A tie in the truth counts
    half; systems tied in the estimate share the mean over their orders, so input order is irrelevant.

    References
    ----------
    .. [1] Yilmaz, Aslam, Robertson, "A new rank correlation coefficient for information retrieval",
       SIGIR 2008.

    Examples
    --------
    >>> tau_ap([3, 2, 1], [3, 2, 1]), tau_ap([3, 2, 1], [2, 3, 1])
    (1.0, 0.0)
    """
    truth, estimate = settled(np.asarray(truth)), settled(np.asarray(estimate))
    n = len(truth)
    if n < 2 or np.ptp(truth) == 0 or np.ptp(estimate) == 0:
        return float("nan")
    agree = (truth[:, None] > truth[None, :]) + 0.5 * (truth[:, None] == truth[None, :])
    np.fill_diagonal(agree, 0)
    total = 0.0
    for value in np.unique(estimate):
        tied = estimate == value
        above, t = int((estimate > value).sum()), int(tied.sum())
        from_above = agree[estimate > value][:, tied].sum()
        within = agree[tied][:, tied].sum()
        # A system at place j of its tie block has rank above + j + 1 and j mates above it; averaged over
        # all orders of the block, each mate is there with probability j / (t - 1).
        for j in range(t):
            if above + j == 0:
                continue
            mates = within / t * j / (t - 1) if t > 1 else 0.0
            total += (from_above / t + mates) / (above + j)
    return float(2 * total / (n - 1) - 1)


def order_signs(means: np.ndarray) -> np.ndarray:
    """Which of two systems is ahead: +1, 0 or -1, shape (systems, systems), row against column."""
    means = settled(means)
    return np.sign(means[:, None] - means[None, :]).astype(int)


def kappa(table: np.ndarray, *, weights: str | None = None) -> float:
    """Cohen's kappa of a confusion table; NaN where both sides use one and the same grade.

    `weights` is None, "linear" or "quadratic", as in scikit-learn, which computes it.
    """
    from sklearn.metrics import cohen_kappa_score  # slow to import, and seldom needed

    n = len(table)
    if table.sum() == 0 or np.count_nonzero(table.sum(axis=0) + table.sum(axis=1)) < 2:
        return float("nan")
    left, right = np.divmod(np.arange(n * n), n)
    found = cohen_kappa_score(
        left, right, labels=np.arange(n), weights=weights, sample_weight=np.ravel(table).astype(float)
    )
    return max(-1.0, float(found))  # rounding may fall below the least there is


def holm(p: np.ndarray) -> np.ndarray:
    """P-values corrected for their number by Holm's method, as statsmodels computes it."""
    from statsmodels.stats.multitest import multipletests  # slow to import, and seldom needed

    return np.asarray(multipletests(p, method="holm")[1])


def kappas(tables: np.ndarray, *, weights: str | None = None) -> np.ndarray:
    """Cohen's kappa of many confusion tables at once, equal to `kappa` of each; for resamples.

    Parameters
    ----------
    tables : ndarray, shape (..., grades, grades)
    weights : {None, "linear", "quadratic"}

    Returns
    -------
    ndarray, shape (...)
        NaN where both sides use one and the same grade, or a table is empty.
    """
    if weights not in (None, "linear", "quadratic"):
        raise ValueError(f"weights must be None, 'linear' or 'quadratic'; got {weights!r}")
    steps = np.abs(np.subtract.outer(*[np.arange(tables.shape[-1])] * 2)).astype(float)
    cost = (steps > 0) if weights is None else steps ** (1 if weights == "linear" else 2)
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    expected = np.einsum("...i,ij,...j", rows, cost, columns)
    observed = (tables * cost).sum(axis=(-1, -2)) * rows.sum(axis=-1)
    out = np.full(expected.shape, np.nan)
    return 1 - np.divide(observed, expected, out=out, where=expected > 0)


@dataclass(frozen=True)
class Agreement:
    """How two sets of labels agree on the pairs that both graded.

    Attributes
    ----------
    left, right : str
        Titles of the two sides; rows and columns of `confusion`.
    confusion : DataFrame of int
        Pairs by grade of the left side (rows) and of the right side (columns).
    n, only_left, only_right : int
        Pairs that both, or only one, graded.
    exact, within_one, binary : float
        Shares of the n pairs: same grade; grades at most 1 apart; same side of `threshold`.
    kappa, kappa_quadratic, kappa_binary : float
    relevant_left, relevant_right : float
        Share at or above the threshold under each.
    moves : Series
        Pairs by right grade minus left grade.
    threshold : int
    pairs : DataFrame
        query_id, doc_id, left, right: the pairs both graded.
    per_query : DataFrame
        By query_id: graded (pairs both graded), left and right (relevant among them), left_all and
        right_all (relevant among all labels of that side, which is what AP and R divide by).
    """

    left: str
    right: str
    confusion: pd.DataFrame
    n: int
    only_left: int
    only_right: int
    exact: float
    within_one: float
    binary: float
    kappa: float
    kappa_quadratic: float
    kappa_binary: float
    relevant_left: float
    relevant_right: float
    moves: pd.Series
    threshold: int
    pairs: pd.DataFrame
    per_query: pd.DataFrame

    @property
    def recall(self) -> pd.Series:
        """Share of each left grade's pairs that the right side gave the same grade; NaN for unused ones."""
        table = self.confusion.to_numpy()
        rows = table.sum(axis=1)
        share = np.divide(np.diag(table), rows, out=np.full(len(table), np.nan), where=rows > 0)
        return pd.Series(share, index=self.confusion.index, name="recall")


def agreement(left: Labels, right: Labels, *, threshold: int = 1) -> Agreement:
    """Agreement of two sets of labels, pair by pair.

    Parameters
    ----------
    left, right : Labels
    threshold : int
        Grade from which a document counts as relevant.
    """
    key = ["query_id", "doc_id"]
    pairs = left.relevance.merge(right.relevance, on=key, suffixes=("_left", "_right"))
    pairs = pairs.rename(columns={"relevance_left": "left", "relevance_right": "right"})
    a, b = pairs["left"].to_numpy(), pairs["right"].to_numpy()
    grades = range(
        int(min(a.min(initial=0), b.min(initial=0))), int(max(a.max(initial=1), b.max(initial=1))) + 1
    )
    table = confusion(a, b, grades)
    binary = confusion((a >= threshold).astype(int), (b >= threshold).astype(int), range(2))
    n = len(pairs)

    def share(mask: np.ndarray) -> float:
        return float(mask.mean()) if n else float("nan")

    return Agreement(
        left.title, right.title, table, n, len(left.relevance) - n, len(right.relevance) - n,
        share(a == b), share(abs(a - b) <= 1), share((a >= threshold) == (b >= threshold)),
        kappa(table.to_numpy()), kappa(table.to_numpy(), weights="quadratic"), kappa(binary.to_numpy()),
        share(a >= threshold), share(b >= threshold),
        pd.Series(b - a, name="pairs", dtype=int).value_counts().sort_index(), threshold, pairs,
        _per_query(left, right, pairs, threshold),
    )  # fmt: skip


def _per_query(left: Labels, right: Labels, pairs: pd.DataFrame, threshold: int) -> pd.DataFrame:
    """Relevant documents per query under either side."""
    query = pairs["query_id"]
    counts = {
        "graded": query.value_counts(),
        "left": query[pairs["left"] >= threshold].value_counts(),
        "right": query[pairs["right"] >= threshold].value_counts(),
    }
    for side, labels in (("left_all", left.relevance), ("right_all", right.relevance)):
        counts[side] = labels.loc[labels["relevance"] >= threshold, "query_id"].value_counts()
    queries = pd.concat([left.relevance["query_id"], right.relevance["query_id"]]).unique()
    table = {name: n.reindex(queries, fill_value=0).astype(int) for name, n in counts.items()}
    return pd.DataFrame(table, index=pd.Index(queries, name="query_id"))


def confusion(left: np.ndarray, right: np.ndarray, grades: range) -> pd.DataFrame:
    """Pairs by grade of each side, left in rows and right in columns."""
    n = len(grades)
    code = (left - grades.start) * n + (right - grades.start)
    table = np.bincount(code.astype(int), minlength=n * n).reshape(n, n)
    return pd.DataFrame(table, index=list(grades), columns=list(grades))
