"""What is asked of the disk beside reading and writing: names that last, and locks."""

import fcntl
import os
import sys
from pathlib import Path

from poolkit.tables import DataError


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def wait_for_lock(lock: int, path: Path) -> None:
    """Take the lock; say so once when another process has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(
            f"{path.name}: another process is judging into it; waiting for it to end.",
            file=sys.stderr,
            flush=True,
        )
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError as error:
        raise DataError(
            f"{path}: no lock can be taken here ({error.strerror}), so that two processes could buy one answer "
            "twice. Keep the collection on a local disk, or on a share that has locks."
        ) from None
