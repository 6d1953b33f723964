"""A Celery process of this package: a worker, a coordinator or an agent, with logs that are worth reading."""

import logging
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from celery import Celery
from celery.platforms import SecurityWarning

#: The loggers of Celery that write a line when a task is sent, received and done.
_TASK_LOGGERS: Final = ("celery.beat", "celery.worker.strategy", "celery.app.trace")


class WithoutTasks(logging.Filter):
    """Drops lines below WARNING about some tasks, unless DEBUG is logged: an idle process would log nothing else."""

    def __init__(self, tasks: Collection[str]) -> None:
        super().__init__()
        self._tasks = frozenset(tasks)

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is logged."""
        if record.levelno >= logging.WARNING or logging.getLogger().isEnabledFor(logging.DEBUG):
            return True
        named = record.args.values() if isinstance(record.args, Mapping) else record.args or ()
        return not any(isinstance(each, str) and each in self._tasks for each in named)


def run(app: Celery, queues: Sequence[str], name: str, *, log_level: str, **options: object) -> int:
    """Run a Celery worker of ``app`` until it is stopped; return the exit code."""
    periodic = WithoutTasks({entry["task"] for entry in app.conf.beat_schedule.values()})
    for each in _TASK_LOGGERS:
        logging.getLogger(each).addFilter(periodic)
    # It is about pickled messages, which no process of this package accepts.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    worker = app.Worker(
        queues=queues,
        hostname=name,
        loglevel=log_level,
        without_mingle=True,
        without_gossip=True,
        # Otherwise a banner is printed to stdout.
        quiet=True,
        **options,
    )
    worker.start()
    return int(worker.exitcode or 0)
