"""Celery processes: a worker, which takes checks, and a coordinator, which takes jobs and sweeps."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from celery.utils.nodenames import default_nodename, host_format

from orchestrator.config.access_policy import load_policy
from orchestrator.config.hooks import all_at_once, event_sinks, lifecycle_plugins
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.config.shared_database import require_shared_database
from orchestrator.errors import InvalidInput, Problem, Unavailable
from orchestrator.keys.key import ENGINE, JOB, NODE
from orchestrator.keys.key_file import LiveKeys
from orchestrator.model.messages import CHECKS_QUEUE, COORDINATOR_QUEUE, STACKS_QUEUE
from orchestrator.queue.broker_login import ANSWER_SECONDS, require_broker_login
from orchestrator.queue.celery_app import BEAT, default_app, make_app
from orchestrator.queue.celery_process import run
from orchestrator.queue.installation import refuse_foreign_broker
from orchestrator.queue.job_slots import job_slots
from orchestrator.queue.refusals import refusals
from orchestrator.store import migrations
from orchestrator.store.installation.refused_messages import RefusedMessages
from orchestrator.store.store import Store
from orchestrator.tracing.switch import require_tracing

log = get_logger()

#: How many jobs a coordinator begins at once, unless it is given another number.
JOBS_AT_ONCE = 2


def run_worker(settings: Settings, *, concurrency: int | None, pool: str, name: str | None) -> int:
    """Run a worker until it is stopped; return the exit code.

    Raises:
        InvalidInput: there is no broker to work for, no database is set, processes on the broker have another one, or
            tracing is switched on and cannot be done.
        HooksNotLoaded: a lifecycle plugin or an event sink cannot be used.
        Unavailable: the database has another schema than this version needs, or the broker refuses the login.
    """
    _require_ready(settings)
    # Loaded early: checks begin operations on nested stacks.
    lifecycle_plugins(settings)
    return _run(
        settings, "workers.tasks", [CHECKS_QUEUE], name or "worker", concurrency=concurrency, pool=pool
    )


def run_coordinator(settings: Settings, *, concurrency: int | None, name: str | None) -> int:
    """Run a coordinator, with the beat of the sweeps, until it is stopped; return the exit code.

    It begins ``concurrency`` jobs at once, and has one process more for sweeps, ends of operations and arriving jobs.

    Raises:
        InvalidInput: there is no broker to work for, no database is set, processes on the broker have another one, or
            tracing is switched on and cannot be done.
        HooksNotLoaded: a lifecycle plugin or an event sink cannot be used.
        Unavailable: the database has another schema than this version needs, or the broker refuses the login.
    """
    _require_ready(settings)
    # Loaded before the fork: child processes that cannot load them would be restarted again and again.
    all_at_once(lambda: lifecycle_plugins(settings), lambda: event_sinks(settings))
    default_app().conf.worker_prefetch_multiplier = 1
    jobs = concurrency or JOBS_AT_ONCE
    job_slots.limit(jobs)
    return _run(
        settings,
        "orchestrator.tasks",
        [STACKS_QUEUE, COORDINATOR_QUEUE],
        name or "coordinator",
        # One process is always free for what is short.
        concurrency=jobs + 1,
        pool="prefork",
        beat=True,
        scheduler=BEAT,
        schedule_filename="",
    )


def _require_ready(settings: Settings) -> None:
    require_broker(settings)
    require_keys(settings, ENGINE, JOB, NODE)
    require_shared_database(settings)
    migrations.require(settings.effective_database_url)
    require_tracing(settings)
    load_policy(settings)


def _run(settings: Settings, tasks: str, queues: Sequence[str], name: str, **options: object) -> int:
    app = default_app()
    refusals.keep_in(_once(lambda: Store.of(settings).refused_messages))
    _ask_broker(settings, app.installation())
    app.conf.imports = (tasks,)
    return run(app, queues, node_name(name), log_level=settings.log_level, **options)


def _once(make: Callable[[], RefusedMessages]) -> Callable[[], RefusedMessages]:
    """Return a function that makes it at its first call: no connection may be open when child processes are made."""
    made = list[RefusedMessages]()

    def get() -> RefusedMessages:
        made[:] = made or [make()]
        return made[0]

    return get


def _ask_broker(settings: Settings, own: str) -> None:
    """Try the login at the broker, and compare the installation of the processes there with this process's ``own``.

    A child process asks: with a connection that its parent once opened, a child of a coordinator does not notice that
    the coordinator was killed.

    Raises:
        InvalidInput: a process of another installation answers.
        Unavailable: the broker refuses the login.
    """
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writes, json.dumps(_refusal(settings, own)).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as answer:
        found = json.loads(answer.read() or b"{}")
    os.waitpid(child, 0)
    if "refused" in found:
        raise Unavailable(found["refused"])
    if "problems" in found:
        raise InvalidInput([Problem(**each) for each in found["problems"]])


def _refusal(settings: Settings, own: str) -> dict[str, Any]:
    """Return why this process cannot work for the broker; empty if it can, or if that is not known yet."""
    try:
        require_broker_login(settings)
        if own:
            with make_app(settings) as app:
                refuse_foreign_broker(app, own, timeout_seconds=ANSWER_SECONDS)
    except Unavailable as error:
        return {"refused": str(error)}
    except InvalidInput as error:
        return {"problems": [asdict(each) for each in error.problems]}
    except Exception as error:  # the child ends here; the process itself will meet it again
        log.warning("the broker could not be asked", exc_info=error)
    return {}


def node_name(name: str) -> str:
    """Return the Celery node name: ``name@host``, or ``name`` if it has a host."""
    return str(host_format(default_nodename(name if "@" in name else f"{name}@%h")))


def require_keys(settings: Settings, *uses: str, node: str = "") -> None:
    """Refuse to start a process on a broker without the keys that it signs and verifies with.

    Raises:
        InvalidInput: a key is missing, or its secret.
    """
    ring = LiveKeys(settings.effective_key_file)()
    for use in uses:
        ring.signing(use, node=node)


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
