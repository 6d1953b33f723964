"""The Celery worker of this process: its name, its queues, and callbacks at the start and end of its processes."""

from collections.abc import Callable
from dataclasses import dataclass

from celery import Celery
from celery.concurrency.prefork import TaskPool
from celery.signals import (
    celeryd_init,
    worker_init,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutdown,
)


@dataclass(slots=True)
class _Belonging:
    """The worker's name, which child processes inherit by the fork."""

    name: str = ""


_belonging = _Belonging()


def worker_name() -> str:
    """Return the Celery name of this process's worker; "" if it has none."""
    return _belonging.name


def queues_of(app: Celery) -> tuple[str, ...]:
    """Return the queues of this process's worker; none if it has no worker."""
    return tuple(sorted(app.amqp.queues.consume_from)) if worker_name() else ()


def before_the_processes(call: Callable[[], None]) -> None:
    """Register a callback for the start of a worker, before it forks the processes that carry out tasks."""

    def begin(**_: object) -> None:
        call()

    worker_init.connect(begin, weak=False)


def at_the_beginning(call: Callable[[], None]) -> None:
    """Register a callback for the start of each process that carries out tasks; it must not block.

    These are the child processes of a prefork worker, else the worker itself. It may be called twice in a process.
    """

    def begin(**_: object) -> None:
        call()

    def begin_here(sender: object, **_: object) -> None:
        if not isinstance(getattr(sender, "pool", None), TaskPool):
            call()

    worker_process_init.connect(begin, weak=False)
    worker_ready.connect(begin_here, weak=False)


def at_the_end(call: Callable[[], None]) -> None:
    """Register a callback for the orderly end of a worker or of one of its child processes."""

    def end(**_: object) -> None:
        call()

    worker_process_shutdown.connect(end, weak=False)
    worker_shutdown.connect(end, weak=False)


def note_worker_name() -> None:
    """Record the name of the worker that is about to be made; idempotent."""
    celeryd_init.connect(_note, weak=False)


def _note(sender: object, **_: object) -> None:
    _belonging.name = str(sender)
