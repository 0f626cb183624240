"""One collection opened for analysis: the loading that every notebook and command shares."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

import poolkit
from poolkit.bounds import Bounds, bounds
from poolkit.collection import Collection, read_collection
from poolkit.display import count
from poolkit.labels import Grades, Labels
from poolkit.outdated import outdated_lines
from poolkit.pool import Pool, pool
from poolkit.resample import query_draws
from poolkit.score import Scores, measure, scores
from poolkit.tables import DataError


@dataclass(frozen=True)
class Study:
    """A collection with one choice of depth, labels and measures.

    Attributes
    ----------
    collection : Collection
    depth : int
    measures : tuple of str
        The first one leads.
    human, judge : Labels or None
        The two sides; None where the collection has none.
    """

    collection: Collection
    depth: int
    measures: tuple[str, ...]
    human: Labels | None
    judge: Labels | None

    @property
    def measure(self) -> str:
        """The leading measure."""
        return self.measures[0]

    @property
    def families(self) -> dict[str, str]:
        """Family of each system."""
        return self.collection.families

    @property
    def sides(self) -> dict[str, str]:
        """Titles of the two sides' labels, where there are some."""
        found = {"human": self.human, "judge": self.judge}
        return {side: labels.title for side, labels in found.items() if labels is not None}

    @property
    def outdated(self) -> list[str]:
        """Grades of the judge that were given to another query text or setting than now, in words."""
        if self.judge is None or self.judge.name not in self.collection.judgments:
            return []
        name = self.judge.name
        return outdated_lines(self.collection.judgments[name], self.collection.outdated[name])

    @property
    def size(self) -> str:
        """Systems and scored queries in words, for captions."""
        found = self.both[0] if self.both else self.judge_scores or self.human_scores
        queries = found.queries if found is not None else self.collection.runs.queries
        systems = count(len(self.collection.runs.systems), "system")
        return f"{systems}, {count(len(queries), 'query', 'queries')}"

    @cached_property
    def pool(self) -> Pool:
        """Pool at the study's depth."""
        return pool(self.collection.runs, depth=self.depth)

    @cached_property
    def human_grades(self) -> Grades | None:
        """Human labels on the runs."""
        return None if self.human is None else self.collection.grades(self.human)

    @cached_property
    def judge_grades(self) -> Grades | None:
        """Judge's labels on the runs."""
        return None if self.judge is None else self.collection.grades(self.judge)

    @cached_property
    def human_scores(self) -> Scores | None:
        """Scores under the human labels."""
        return _scored(self.collection, self.human_grades, self.measures)

    @cached_property
    def judge_scores(self) -> Scores | None:
        """Scores under the judge's labels."""
        return _scored(self.collection, self.judge_grades, self.measures)

    @cached_property
    def human_bounds(self) -> Bounds | None:
        """Scores under the human labels with their bounds."""
        return self._bounded(self.human_grades, self.human_scores)

    @cached_property
    def judge_bounds(self) -> Bounds | None:
        """Scores under the judge's labels with their bounds."""
        return self._bounded(self.judge_grades, self.judge_scores)

    def _bounded(self, grades: Grades | None, found: Scores | None) -> Bounds | None:
        if grades is None or found is None:
            return None
        return bounds(self.pool, grades, found, top=self.top(grades))

    def top(self, grades: Grades) -> int:
        """Top of the grade scale: the collection's, or the highest grade in use."""
        return max([*(int(g) for g in self.collection.config["grades"]), grades.top])

    @property
    def scores(self) -> Scores:
        """Scores under the judge's labels, or the human ones where there is no judge."""
        found = self.judge_scores or self.human_scores
        if found is None:
            raise DataError(f"{self.collection.config['name']} has no labels yet; run `poolkit judge`")
        return found

    @property
    def bounds(self) -> Bounds:
        """`scores` with their bounds."""
        return bounds(self.pool, self.grades, self.scores, top=self.top(self.grades))

    @property
    def grades(self) -> Grades:
        """Labels behind `scores`."""
        found = self.human_grades if self.judge_scores is None else self.judge_grades
        if found is None:
            raise DataError(f"{self.collection.config['name']} has no labels yet; run `poolkit judge`")
        return found

    @cached_property
    def both(self) -> tuple[Scores, Scores] | None:
        """Scores of both sides on the queries that both have labels for, or None."""
        human, judge = self.human_scores, self.judge_scores
        if human is None or judge is None:
            return None
        theirs = set(judge.queries)
        common = [q for q in human.queries if q in theirs]
        return (human.on(common), judge.on(common)) if common else None

    def order(self) -> list[str]:
        """Systems best first: by human score where present, else by the judge's, else as given."""
        found = self.human_scores or self.judge_scores
        if found is None:
            return list(self.collection.runs.systems)
        means = found.mean(self.measure)
        return [str(s) for s in means.sort_values(ascending=False, kind="stable").index]

    def arranged(self, table: pd.DataFrame | None, *columns: str) -> pd.DataFrame | None:
        """Table with its systems in `order`: those of the index, or of these columns."""
        if table is None:
            return None
        place = {s: i for i, s in enumerate(self.order())}
        keys = [list(table[c]) for c in columns] or [list(table.index)]
        at = np.lexsort([[place[str(s)] for s in key] for key in reversed(keys)])
        return table.iloc[at].reset_index(drop=True) if columns else table.iloc[at]

    def draws(self, *, n_resamples: int, rng: np.random.Generator) -> np.ndarray:
        """Return resamples of the scored queries, the same for every system and both sides."""
        queries = self.both[0].queries if self.both else self.scores.queries
        return query_draws(len(queries), n_resamples=n_resamples, rng=rng)


def _scored(collection: Collection, grades: Grades | None, measures: Sequence[str]) -> Scores | None:
    if grades is None or not grades.has.any():
        return None
    return scores(collection.runs, grades, measures)


def open_study(
    folder: str | Path, *, depth: int = 0, human: str = "", judge: str = "", measures: Sequence[str] = ()
) -> Study:
    """Study of a collection.

    Parameters
    ----------
    folder : str or Path
        Where no such folder is in the working directory, one of the checkout that this package is in.
    depth : int
        Ranks that each run gives to the pool; 0 takes collection.toml's.
    human, judge : str
        Names of label files; empty takes collection.toml's choice, else the one of each kind with most grades.
    measures : sequence of str
        Empty takes collection.toml's.
    """
    if depth < 0:
        raise ValueError(f"depth is {depth}; it must be at least 1, or 0 for collection.toml's")
    for name in measures:
        measure(name)
    collection = read_collection(_found(Path(folder)))
    if not measures:
        measured(collection.config["measures"])
    return Study(
        collection,
        depth or collection.config["depth"],
        tuple(measures or collection.config["measures"]),
        _named(collection, human) if human else collection.human,
        _named(collection, judge) if judge else collection.judge,
    )


def _found(folder: Path) -> Path:
    """Folder as given, or as the checkout has it: notebooks run from any working directory."""
    beside = Path(poolkit.__file__).parents[1] / folder
    return beside if beside.is_dir() and not folder.exists() else folder


def measured(names: Sequence[str]) -> None:
    """Refuse measures of collection.toml that ir_measures does not know."""
    if not names:
        raise DataError('collection.toml: measures is empty; leave it out or name one, such as "nDCG@10"')
    for name in names:
        try:
            measure(name)
        except ValueError as error:
            raise DataError(f"collection.toml: {error}") from None


def _named(collection: Collection, name: str) -> Labels:
    if name not in collection.labels:
        known = ", ".join(collection.labels) or "none"
        raise DataError(f"no labels {name!r} in {collection.config['name']}; there are: {known}")
    if collection.labels[name].relevance.empty:
        raise DataError(f"labels {name!r} of {collection.config['name']} hold no grade yet")
    return collection.labels[name]


def score_table(study: Study, *, per_query: bool = False) -> pd.DataFrame:
    """Scores with their bounds as a table: one row a system; with `per_query` a system and query."""
    for said in study.outdated:
        warnings.warn(said, stacklevel=2)
    return study.bounds.wide(per_query=per_query).reset_index()
