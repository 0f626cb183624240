"""One order of arrival replayed: means, reversals and tau in every state of the pool."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from ir_measures import Measure

from poolkit import states
from poolkit.compare import NOISE
from poolkit.progress import watched
from poolkit.score import denominators

BLOCK = 1 << 22  # gaps looked at together


@dataclass(frozen=True)
class Replay:
    """What one order of arrival shows."""

    means: np.ndarray  # shape (systems, states); NaN where absent
    pair: np.ndarray  # of each reversal, a pair in a state: both present and the other way round,
    state: np.ndarray
    gap: np.ndarray  # negative
    tau: np.ndarray  # shape (states,)
    checked: int
    violations: int


@dataclass(frozen=True)
class World:
    """The final pool under one measure, and the pairs of its systems, the finally better first.

    Pairs come in the order of `triu_indices`.
    """

    systems: tuple[str, ...]
    has: np.ndarray  # which queries are labelled
    measure: Measure
    sources: states.Sources
    above: np.ndarray  # N, shape (systems, labelled queries)
    better: np.ndarray
    worse: np.ndarray
    gap: np.ndarray

    def below(self, state: np.ndarray, n_states: int) -> np.ndarray:
        """D of each labelled query in each state."""
        counts = states.counts(self.sources, state, n_states=n_states)[self.has]
        return denominators(counts, [self.measure])[str(self.measure)]

    @cached_property
    def ranked(self) -> np.ndarray:
        """Systems, the finally best first; of two that tie, the one that `better` names."""
        wins = np.bincount(self.better, minlength=len(self.systems))
        return np.argsort(-wins, kind="stable")

    def replay(self, order: np.ndarray) -> Replay:
        """States of the pool as systems arrive in this order."""
        n, arrival = len(order), np.argsort(order)
        state = states.arrived(self.sources, order)
        below = self.below(state, n)
        means = states.means(self.above, below)
        absent = np.arange(n) < arrival[:, None]
        means[absent] = np.nan
        violations = states.contradictions(self.above, below, order, noise=NOISE)
        violations += states.unseen(self.sources, order, state)
        checked = int((~absent).sum()) * len(below)

        pair, at, gap = self.not_ahead(means)
        truth, down = self.gap > NOISE, gap < -NOISE
        turned = down & truth[pair]
        loose = np.flatnonzero(~truth)  # finally tied
        joined = np.maximum(arrival[self.better[loose]], arrival[self.worse[loose]])
        present = np.arange(n) * np.arange(1, n + 1) // 2
        true = present - np.bincount(joined, minlength=n).cumsum()
        unlike, opposite, tied = (np.bincount(at[x], minlength=n) for x in (truth[pair], turned, ~down))
        agree, untied = true - unlike - opposite, (present - tied) * true
        tau = np.divide(agree, np.sqrt(untied), out=np.full(n, np.nan), where=untied > 0)
        return Replay(means, pair[turned], at[turned], gap[turned], tau, checked, violations)

    def not_ahead(self, means: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pair, state and gap wherever both are present and the finally better one is not ahead.

        Few are: so only systems that somebody better is not ahead of are held against all the better ones.
        """
        n, ahead = len(means), means[self.ranked]
        place, state = np.nonzero(np.fmin.accumulate(ahead, axis=0)[:-1] - ahead[1:] <= NOISE)
        found = [(np.zeros((2, 0), dtype=int), np.zeros(0, dtype=int), np.zeros(0))]
        for some in range(0, len(place), BLOCK // n):
            below, here = (x[some : some + BLOCK // n] for x in (place + 1, state))
            gap = ahead[:, here] - ahead[below, here]
            above, cell = np.nonzero((gap <= NOISE) & (np.arange(n)[:, None] < below))
            both = self.ranked[np.stack([above, below[cell]])]
            found.append((both, here[cell], gap[above, cell]))
        both, at, gap = (np.concatenate(x, axis=-1) for x in zip(*found, strict=True))
        first, second = np.sort(both, axis=0)
        return first * (2 * n - first - 1) // 2 + second - first - 1, at, gap


@dataclass(frozen=True)
class Tally:
    """What many orders show together; `reversals` and `taus` by order, the rest over all of them."""

    hits: np.ndarray  # orders in which each pair reversed, shape (pairs,)
    widest: np.ndarray  # its lowest gap while reversed, 0 where never
    reversals: np.ndarray  # pairs reversed, shape (orders,)
    taus: np.ndarray  # lowest tau-b of a state of three or more systems
    checked: int
    violations: int


def tally(world: World, orders: np.ndarray) -> Tally:
    """Replay each order and count."""
    hits, widest = np.zeros(len(world.gap), dtype=int), np.zeros(len(world.gap))
    reversals, taus = np.zeros(len(orders), dtype=int), np.full(len(orders), np.nan)
    checked = violations = 0
    for o, order in enumerate(watched(orders, "orders of arrival")):
        replay = world.replay(order)
        ever = np.bincount(replay.pair, minlength=len(hits)) > 0
        hits += ever
        np.minimum.at(widest, replay.pair, replay.gap)
        reversals[o], taus[o] = ever.sum(), np.fmin.reduce(replay.tau[2:], initial=np.nan)
        checked, violations = checked + replay.checked, violations + replay.violations
    return Tally(hits, widest, reversals, taus, checked, violations)
