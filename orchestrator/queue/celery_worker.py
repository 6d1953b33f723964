"""Which of Celery's workers this process belongs to; its child processes know that from before they were made."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from celery import Celery
from celery.concurrency.prefork import TaskPool
from celery.signals import (
    celeryd_init,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutdown,
)


@dataclass(slots=True)
class _Belonging:
    """What is known of the worker."""

    name: str = ""


_belonging = _Belonging()


def worker_name() -> str:
    """Return what Celery's tools call the worker that this process belongs to; empty if it belongs to none."""
    return _belonging.name


def queues_of(app: Celery) -> tuple[str, ...]:
    """Return the names of the queues that this process' worker takes messages from; none if it belongs to none."""
    return tuple(sorted(app.amqp.queues.consume_from)) if worker_name() else ()


def at_the_beginning(call: Callable[[], None]) -> None:
    """Have something called when a process begins that a worker has work done in; it must not take long.

    That is each of its child processes; where it has none, the worker itself. It may be called twice.
    """

    def begin(**_: Any) -> None:
        call()

    def begin_here(sender: Any, **_: Any) -> None:
        if not isinstance(getattr(sender, "pool", None), TaskPool):
            call()

    worker_process_init.connect(begin, weak=False)
    worker_ready.connect(begin_here, weak=False)


def at_the_end(call: Callable[[], None]) -> None:
    """Have something called when a process of a worker ends in good order, or the worker itself does."""

    def end(**_: Any) -> None:
        call()

    worker_process_shutdown.connect(end, weak=False)
    worker_shutdown.connect(end, weak=False)


def note_worker_name() -> None:
    """Have it noted what Celery calls the worker that is about to be made; again does no harm."""
    celeryd_init.connect(_note, weak=False)


def _note(sender: Any, **_: Any) -> None:
    _belonging.name = str(sender)
