"""Celery processes: a worker, which takes checks, and a coordinator, which takes jobs and sweeps."""

from celery.utils.nodenames import default_nodename, host_format

from orchestrator.config.hooks import all_at_once, event_sinks, lifecycle_plugins
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.messages import (
    CHECKS_QUEUE,
    COORDINATOR_QUEUE,
    STACKS_QUEUE,
)
from orchestrator.queue.celery_app import BEAT, default_app
from orchestrator.store import migrations
from orchestrator.tracing.switch import require_tracing


def run_worker(settings: Settings, *, concurrency: int | None, pool: str, name: str | None) -> int:
    """Run a worker until it is stopped; return the exit code.

    Raises:
        InvalidInput: there is no broker to work for, or tracing is switched on and cannot be done.
        HooksNotLoaded: a lifecycle plugin or an event sink cannot be used.
        Unavailable: the database has another schema than this version needs.
    """
    require_broker(settings)
    migrations.require(settings.effective_database_url)
    require_tracing(settings)
    # Loaded early: checks begin operations on nested stacks.
    lifecycle_plugins(settings)
    app = default_app()
    app.conf.imports = ("workers.tasks",)
    worker = app.Worker(
        queues=[CHECKS_QUEUE],
        concurrency=concurrency,
        pool=pool,
        hostname=node_name(name or "worker"),
        loglevel=settings.log_level,
        without_mingle=True,
        without_gossip=True,
    )
    worker.start()
    return int(worker.exitcode or 0)


def run_coordinator(settings: Settings, *, concurrency: int | None, name: str | None) -> int:
    """Run a coordinator, with the beat of the sweeps, until it is stopped; return the exit code.

    Raises:
        InvalidInput: there is no broker to work for, or tracing is switched on and cannot be done.
        HooksNotLoaded: a lifecycle plugin or an event sink cannot be used.
        Unavailable: the database has another schema than this version needs.
    """
    require_broker(settings)
    migrations.require(settings.effective_database_url)
    require_tracing(settings)
    # Loaded before the fork: child processes that cannot load them would be restarted again and again.
    all_at_once(lambda: lifecycle_plugins(settings), lambda: event_sinks(settings))
    app = default_app()
    app.conf.imports = ("orchestrator.tasks",)
    app.conf.worker_prefetch_multiplier = 1
    worker = app.Worker(
        queues=[STACKS_QUEUE, COORDINATOR_QUEUE],
        concurrency=concurrency or 2,
        pool="prefork",
        hostname=node_name(name or "coordinator"),
        loglevel=settings.log_level,
        beat=True,
        scheduler=BEAT,
        schedule_filename="",
        without_mingle=True,
        without_gossip=True,
    )
    worker.start()
    return int(worker.exitcode or 0)


def node_name(name: str) -> str:
    """Return the Celery node name: ``name@host``, or ``name`` if it has a host."""
    return str(host_format(default_nodename(name if "@" in name else f"{name}@%h")))


def require_broker(settings: Settings) -> None:
    """Refuse to start a distributed process without a broker.

    Raises:
        InvalidInput: no broker is configured.
    """
    if settings.embedded:
        problem = Problem(
            path="settings.broker_url",
            message="there is no broker: in embedded mode the command that creates a stack does the work itself",
            hint="set ISOTHERM_BROKER_URL, for example redis://localhost:6379/0",
        )
        raise InvalidInput([problem])
