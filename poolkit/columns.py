"""Runs as one row of columns, to be kept and found again."""

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from poolkit.tables import Runs

ARRAYS = ("item", "tied", "query_of", "document_of")


def to_columns(runs: Runs, notes: Sequence[object]) -> pa.Table:
    """Runs, and what was noted as they were read (JSON values), as a table of one row."""
    columns = {name: _one(pa.array(np.ravel(getattr(runs, name)))) for name in ARRAYS}
    columns["documents"] = _one(pa.array(runs.documents, pa.string()))
    about = {
        "systems": runs.systems, "queries": runs.queries, "shape": runs.item.shape, "strays": runs.strays,
        "notes": list(notes),
    }  # fmt: skip
    return pa.table(columns).replace_schema_metadata({"runs": json.dumps(about)})


def from_columns(table: pa.Table) -> tuple[Runs, list]:
    """Runs and notes from `to_columns`."""
    about = json.loads(table.schema.metadata[b"runs"])
    values = {name: table[name].chunk(0).values for name in (*ARRAYS, "documents")}
    item, tied, query_of, document_of = (values[n].to_numpy(zero_copy_only=False) for n in ARRAYS)
    runs = Runs(
        tuple(about["systems"]), tuple(about["queries"]), values["documents"].to_numpy(zero_copy_only=False),
        item.reshape(about["shape"]), query_of, document_of, tied.reshape(about["shape"]), about["strays"],
    )  # fmt: skip
    return runs, about["notes"]


def _one(values: pa.Array) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values)
