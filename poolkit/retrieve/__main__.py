"""`python -m poolkit.retrieve DATA`: make the runs that DATA/systems.toml declares."""

import argparse
import sys
import time
from pathlib import Path

from poolkit.retrieve import retrieve_folder
from poolkit.tables import DataError


def main() -> int:
    """Exit status: 0 done, 1 bad input."""
    parser = argparse.ArgumentParser(prog="python -m poolkit.retrieve", description=__doc__)
    parser.add_argument("data", type=Path, help="the collection: corpus.jsonl, queries.jsonl, systems.toml")
    parser.add_argument("--depth", type=int, default=50, help="ranks each run keeps (default 50)")
    given = parser.parse_args()
    start = time.perf_counter()
    try:
        table = retrieve_folder(given.data, depth=given.depth)
    except DataError as error:
        print(error, file=sys.stderr)
        return 1
    took = time.perf_counter() - start
    print(f"{len(table)} runs of {given.depth} ranks in {given.data / 'runs'}, {took:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
