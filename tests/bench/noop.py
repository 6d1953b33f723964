"""What a Celery task costs that only counts up: the yardstick.

The app is the product's own, with its serializer, queues and events; only the task does nothing. Every worker process
counts in a file of its own, mapped into memory, so that counting costs next to nothing.
"""

import mmap
import os
import struct
from functools import cache
from pathlib import Path

from orchestrator.queue.celery_app import default_app

COUNT_DIRECTORY = "BENCH_COUNT_DIRECTORY"
NOOP_TASK = "bench.noop"


@cache
def _counter(pid: int) -> mmap.mmap:
    path = Path(os.environ[COUNT_DIRECTORY]) / str(pid)
    path.write_bytes(bytes(8))
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), 8)


def noop() -> None:
    """Count one."""
    counter = _counter(os.getpid())
    (count,) = struct.unpack("<q", counter[:8])
    counter[:8] = struct.pack("<q", count + 1)


def counted(directory: Path) -> int:
    """Return how many were counted, over all processes."""
    return sum(struct.unpack("<q", path.read_bytes())[0] for path in directory.iterdir())


default_app().task(name=NOOP_TASK)(noop)
