"""A Celery task that only counts up, the yardstick: in an app of Celery's defaults, and in one under our settings.

Every worker process counts in a file of its own, mapped into memory, so that counting costs next to nothing.
"""

import mmap
import os
import struct
from functools import cache
from pathlib import Path

from celery import Celery

COUNT_DIRECTORY = "BENCH_COUNT_DIRECTORY"
NOOP_TASK = "bench.noop"
#: The apps, as the results call them; a canvas needs a result backend to join groups.
PLAIN_CELERY, UNDER_OUR_SETTINGS, CANVAS = "celery", "celery, our settings", "celery canvas"


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


def plain_app(broker_url: str, backend: str | None = None) -> Celery:
    """Return an app with Celery's defaults: JSON, acknowledged early, no events, kombu's own transport.

    A process that uses it alone imports nothing of ours.
    """
    app = Celery("plain", broker=broker_url, backend=backend, set_as_current=False)
    if broker_url.startswith("redis"):
        # By name: our app gives the scheme another transport in every process that imports it.
        app.conf.broker_transport = "kombu.transport.redis:Transport"
    app.task(name=NOOP_TASK)(noop)
    return app


def app_under_our_settings() -> Celery:
    """Return the product's own app, with its serializer, queues, transport and events."""
    from orchestrator.queue.celery_app import default_app

    app = default_app()
    app.task(name=NOOP_TASK)(noop)
    return app
