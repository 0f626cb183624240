"""One order of arrival replayed: means, reversals and tau in every state of the pool."""

from dataclasses import dataclass

import numpy as np
from ir_measures import Measure

from poolkit import states
from poolkit.compare import NOISE
from poolkit.progress import watched
from poolkit.score import denominators


@dataclass(frozen=True)
class Replay:
    """What one order of arrival shows, by state (last axis)."""

    means: np.ndarray  # shape (systems, states); NaN where absent
    turned: np.ndarray  # both present and the other way round, shape (pairs, states)
    widest: np.ndarray  # lowest gap of each pair while turned, 0 where never, shape (pairs,)
    tau: np.ndarray  # shape (states,)
    checked: int
    violations: int


@dataclass(frozen=True)
class World:
    """The final pool under one measure, and the pairs of its systems, the finally better first."""

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

    def replay(self, order: np.ndarray) -> Replay:
        """States of the pool as systems arrive in this order."""
        n = len(order)
        state = states.arrived(self.sources, order)
        below = self.below(state, n)
        means = states.means(self.above, below)
        absent = np.arange(n) < np.argsort(order)[:, None]
        means[absent] = np.nan
        gap = means[self.better] - means[self.worse]
        up, down, truth = gap > NOISE, gap < -NOISE, (self.gap > NOISE)[:, None]
        turned = down & truth
        agree = (up & truth).sum(axis=0) - turned.sum(axis=0)
        untied = (up | down).sum(axis=0) * (~np.isnan(gap) & truth).sum(axis=0)
        tau = np.divide(agree, np.sqrt(untied), out=np.full(n, np.nan), where=untied > 0)
        violations = states.contradictions(self.above, below, order, noise=NOISE)
        violations += states.unseen(self.sources, order, state)
        widest = np.where(turned, gap, 0.0).min(axis=1)
        return Replay(means, turned, widest, tau, int((~absent).sum()) * len(below), violations)


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
        ever = replay.turned.any(axis=1)
        hits, widest = hits + ever, np.minimum(widest, replay.widest)
        reversals[o], taus[o] = ever.sum(), np.fmin.reduce(replay.tau[2:], initial=np.nan)
        checked, violations = checked + replay.checked, violations + replay.violations
    return Tally(hits, widest, reversals, taus, checked, violations)
