"""What a notebook puts on its page: figures and tables with captions, and where they come from."""

import hashlib
import io
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

import poolkit
from poolkit.display import Html, missing, picture, together
from poolkit.drawing import style
from poolkit.grid import ROWS, table
from poolkit.resample import Interval
from poolkit.study import Study
from poolkit.tally import ledger


def figure(
    plot: Callable[..., Axes], *results: Any, name: str, caption: str, data: pd.DataFrame | None = None,
    out: str = "", **options: Any,
) -> Html:  # fmt: skip
    """Drawn figure with its caption; also written to out/figures as PNG and SVG, its data as CSV.

    Parameters
    ----------
    plot : callable
        A function of `figures`.
    results : object
        What it draws. If one of them is None there is nothing to draw, and the page says so.
    name, caption : str
    data : DataFrame
        The numbers that the figure shows.
    out : str
        Folder of the report; empty writes nothing, so notebooks opened by hand leave no files.
    """
    if any(r is None for r in results):
        return missing(f"Not shown ({name}): this collection lacks what it needs.")
    with plt.rc_context(style()):
        drawn: Any = plot(*results, **options).get_figure(root=True)
        image = io.StringIO()
        drawn.savefig(
            image, format="svg", dpi=150, bbox_inches="tight", metadata={"Date": None, "Creator": None}
        )
        if out:
            folder = Path(out) / "figures"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.svg").write_text(image.getvalue(), encoding="utf-8")
            drawn.set_layout_engine("none")  # as the first saving has laid it out
            drawn.savefig(folder / f"{name}.png", dpi=150, bbox_inches="tight", metadata={"Software": None})
            if data is not None:
                _write_csv(data, folder / f"{name}.csv")
        plt.close(drawn)
    return picture(image.getvalue(), caption)


def tabulate(
    frame: pd.DataFrame | None,
    *,
    name: str,
    caption: str,
    out: str = "",
    formats: Mapping[str, str] | None = None,
    rows: int = ROWS,
    sides: Mapping[str, str] | None = None,
) -> Html:
    """Table with its caption; also written to out/tables as CSV, whole. None is said to be missing."""
    if frame is None:
        return missing(f"Not shown ({name}): this collection lacks what it needs.")
    if out:
        path = Path(out) / "tables" / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_csv(frame, path)
    return table(frame, caption, formats=formats, rows=rows, sides=sides)


def _write_csv(frame: pd.DataFrame, path: Path) -> None:
    _flat(frame).to_csv(path, index=not isinstance(frame.index, pd.RangeIndex))


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Table for a CSV file: a column of intervals becomes three, of values and bounds."""
    columns: dict[object, object] = {}
    for name, column in frame.items():
        if not column.map(lambda v: isinstance(v, Interval)).any():
            columns[name] = column
            continue
        for part, end in (("value", ""), ("low", "_low"), ("high", "_high")):
            columns[f"{name}{end}"] = column.map(lambda v, part=part: getattr(v, part, None))
    return pd.DataFrame(columns, index=frame.index)


def provenance(study: Study, **parameters: object) -> Html:
    """Where a page's numbers come from: parameters, judge, inputs, versions."""
    config = study.collection.config
    rows: list[tuple[str, object]] = [("collection", config.get("title") or config["name"])]
    rows += [(k, config[k]) for k in ("source", "licence") if config.get(k)]
    rows += [("pool depth", study.depth), ("measures", ", ".join(study.measures))]
    for side, labels, grades in (
        ("reference labels", study.human, study.human_grades),
        ("judge", study.judge, study.judge_grades),
    ):
        if labels is not None and grades is not None:
            said = f"{labels.title}: {len(labels.relevance):,} graded pairs, {len(labels.failed):,} failed"
            rows.append((side, f"{said}, pool epoch {grades.epoch}"))
    if study.judge is not None:
        rows += _judge_facts(study.collection.judgments.get(study.judge.name, pd.DataFrame()))
        rows += _paid(study)
        about = config["judges"].get(study.judge.name, {}).get("provenance")
        rows += [("how it was judged", about)] if about else []
    rows += [("parameters", ", ".join(f"{k} = {v}" for k, v in parameters.items()))]
    rows += [("inputs", ", ".join(f"{k} {v}" for k, v in fingerprints(study.collection.folder).items()))]
    packages = ("numpy", "pandas", "scipy", "ir-measures", "openai")
    rows.append(("versions", ", ".join(f"{p} {version(p)}" for p in packages)))
    rows.append(("poolkit", f"{poolkit.__version__}{_commit()}, Python {platform.python_version()}"))
    frame = pd.DataFrame([(k, str(v)) for k, v in rows], columns=["fact", "value"])
    return table(frame, "Provenance. What this page was made from.")


def provenances(studies: Sequence[Study], **parameters: object) -> Html:
    """Where the numbers of several collections come from, one below the other."""
    return together(*(provenance(study, **parameters) for study in studies))


def _judge_facts(records: pd.DataFrame) -> list[tuple[str, object]]:
    """Model and prompt of the judge's records."""
    facts: list[tuple[str, object]] = []
    for column, name in (("model", "model"), ("prompt_hash", "prompt hash")):
        if column in records:
            values = sorted(str(v) for v in records[column].dropna().unique() if v) or ["unknown"]
            facts.append(
                (name, ", ".join(v[:16] for v in values) if column == "prompt_hash" else ", ".join(values))
            )
    if "cut" in records:
        cut = records["cut"].fillna(0).gt(0)
        tokens = f", {int(records['cut'].sum()):,} tokens in all" if cut.any() else ""
        facts.append(("documents cut to fit", f"{int(cut.sum()):,} of {len(records):,}{tokens}"))
    return facts


def _paid(study: Study) -> list[tuple[str, object]]:
    """Calls and cost of the judge's records, those replaced since too."""
    records = study.collection.records.get(study.judge.name) if study.judge else None
    if records is None:
        return []
    spent = ledger(records)
    calls = int(spent["calls"].sum())
    if not calls:
        return [("calls", "none recorded: not judged through an endpoint")]
    known = spent["usd"].notna().all()
    return [
        ("calls", f"{calls:,}"),
        ("cost", f"${spent['usd'].sum():,.2f}" if known else "unknown: some have no price"),
    ]


def fingerprints(folder: Path) -> dict[str, str]:
    """Short hash of each input: queries, catalogue, all runs together, each label file."""
    found = {}
    for name in ("collection.toml", "systems.csv", "queries.jsonl", "queries.tsv"):
        if (folder / name).exists():
            found[name] = _hash([folder / name])
    if (folder / "runs").is_dir():
        found["runs"] = _hash(sorted((folder / "runs").glob("*.run*")))
    for kind in ("qrels", "judgments"):
        for path in sorted((folder / kind).glob("[!.]*")):
            found[f"{kind}/{path.name}"] = _hash([path])
    return found


def _hash(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0")
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:8]


def _commit() -> str:
    """Commit of a checkout, if this is one."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return f" ({done.stdout.strip()})"
