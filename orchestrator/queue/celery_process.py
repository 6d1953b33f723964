"""A Celery process of this package: a worker, a coordinator or an agent, with logs that are worth reading."""

import logging
import signal
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from celery import Celery
from celery.platforms import SecurityWarning
from celery.signals import worker_process_init

from orchestrator.config.ending import leave_to_parent, share_handler
from orchestrator.queue.monitoring import limit_remote_control

#: The loggers of Celery that write a line when a task is sent, received and done, or discarded because it expired.
_TASK_LOGGERS: Final = ("celery.beat", "celery.worker.strategy", "celery.app.trace", "celery.worker.request")

_POOL_LOGGER: Final = "celery.pool"


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


def limit_logs(periodic: Collection[str]) -> None:
    """Keep out of the logs of Celery what happens all the time, by the tasks' names, and what messages contain."""
    without = WithoutTasks(periodic)
    for each in _TASK_LOGGERS:
        logging.getLogger(each).addFilter(without)
    # When debugging, it writes the arguments of every task, which are contents of messages.
    logging.getLogger(_POOL_LOGGER).setLevel(logging.INFO)


def run(app: Celery, queues: Sequence[str], name: str, *, log_level: str, **options: object) -> int:
    """Run a Celery worker of ``app`` until it is stopped; return the exit code."""
    limit_logs({entry["task"] for entry in app.conf.beat_schedule.values()})
    # It is about pickled messages, which no process of this package accepts.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    limit_remote_control()
    hangup_is_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN

    class Process(app.Worker):  # type: ignore[misc]  # celery makes it for each app
        def install_platform_tweaks(self, worker: Any) -> None:
            super().install_platform_tweaks(worker)
            # Celery's own would start the process again at SIGHUP, and end it with 1 at SIGINT.
            share_handler(hangup_is_ignored=hangup_is_ignored)

    worker_process_init.connect(_leave_to_parent)
    worker = Process(
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


def _leave_to_parent(**_: Any) -> None:
    leave_to_parent()
