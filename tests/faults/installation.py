"""An installation that recovers within seconds, and what became of its stacks."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import psutil
import psycopg
import redis
import sqlalchemy as sa

from orchestrator.config.settings import load_settings
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.queue.celery_app import make_app, send_job
from orchestrator.service import Service
from orchestrator.views.stacks import EventView, Progress, StackView
from tests import keys
from tests.allowing import everything
from tests.services.engine import EngineProcess
from tests.waiting import PATIENCE_SECONDS, until
from tests.warm import start as warm_start
from tests.warm import warm_program

T = TypeVar("T")

#: The stack that things happen to.
STACK = "stack"
#: The processes of an installation, by their names.
PROCESSES: Mapping[str, Sequence[str]] = {
    "coordinator": ("coordinator",),
    **{name: ("worker", "--name", name) for name in ("w1", "w2", "w3")},
}
#: What makes it recover soon; the defaults leave more time.
HASTE = {
    "lease_seconds": "3",
    "job_lease_seconds": "3",
    "redeliver_seconds": "2",
    "sweep_seconds": "0.5",
}
#: Between two looks at how far a stack is: whoever waits leaves the processors to those who work.
LOOK_SECONDS = 0.05


class Installation:
    """A coordinator and workers on one broker and one database, and one who watches them."""

    def __init__(self, directory: Path, *, broker_url: str, database_url: str, **more: Any) -> None:
        """``more``: further settings of all processes."""
        self.directory = directory
        self.files = directory / "files"
        self.files.mkdir()
        values = {
            **HASTE,
            "broker_url": broker_url,
            "database_url": database_url,
            "state_directory": str(directory / "state"),
            "log_level": "INFO",
            **more,
        }
        self.settings = load_settings(**values, node_directories=(self.files,))
        others = keys.others()
        ours = {
            f"ISOTHERM_{name.upper()}": value if isinstance(value, str) else json.dumps(value)
            for name, value in values.items()
        }
        self.environment = {**others, **ours, **everything(self.files)}
        self.service = Service.open(self.settings)
        #: Those that run, and those that were killed; filled by who starts them.
        self.engines: list[EngineProcess] = []

    # -- processes ---------------------------------------------------------------------------------------------

    def start(self, name: str) -> "subprocess.Popen[str]":
        """Start one of the processes."""
        return self._start(*PROCESSES[name])

    def run(self, command: Sequence[str]) -> "subprocess.Popen[str]":
        """Start a command that goes on."""
        return subprocess.Popen(
            command,
            cwd=self.directory,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def start_another(self, name: str) -> None:
        """Start a process in a dead one's place, and return when it takes work."""
        engine = EngineProcess(self.start(name))
        self.engines.append(engine)
        engine.wait_until_ready()

    def start_agent(self) -> None:
        """Start the agent of the one node, and return when it makes what stacks have on nodes."""
        engine = EngineProcess(self._start("agent", "--node", "host1"))
        self.engines.append(engine)
        engine.wait_until_ready()

    def engine(self, name: str) -> EngineProcess:
        """Return the process that was started under this name first."""
        return self.engines[list(PROCESSES).index(name)]

    def named(self, process: str) -> str:
        """Return which of ``PROCESSES`` a process belongs to, by the name that it has in leases."""
        pid = int(process.rsplit(":", 2)[1])
        roots = {
            name: psutil.Process(engine.process.pid)
            for name, engine in zip(PROCESSES, self.engines, strict=False)
            if engine.process.poll() is None
        }
        return next(
            name
            for name, root in roots.items()
            if pid in {root.pid, *(child.pid for child in root.children(recursive=True))}
        )

    def isotherm(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a command as a person types it."""
        return subprocess.run(
            [str(warm_program()), *words],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    def _start(self, *words: str) -> "subprocess.Popen[str]":
        return warm_start(words, directory=self.directory, environment=self.environment)

    @staticmethod
    def _command(*words: str) -> list[str]:
        return [str(Path(sys.executable).with_name("isotherm")), *words]

    @property
    def log(self) -> str:
        """What all processes have written."""
        return "".join(engine.log for engine in self.engines)

    # -- stacks ------------------------------------------------------------------------------------------------

    def create(self, template: str, name: str = STACK, *, held: str = "") -> str:
        """Have a coordinator begin a stack, and return the stack's id.

        The resource ``held`` is not made before :meth:`release`, so that the stack cannot be over before a fault comes,
        however quick its workers are.
        """
        hooks = {"resource_registry": {"resources": {held: {"hooks": ["pre-create"]}}}}
        sources = (EnvironmentSource(file="environment", source=json.dumps(hooks)),) if held else ()
        return self.service.create(StackJob(name=name, template=template, environments=sources)).id

    def release(self, stack_id: str, held: str) -> None:
        """Let the resource be made that was held back."""
        until(lambda: self.service.clear_hooks(stack_id, held), pause_seconds=LOOK_SECONDS)

    def submit(self, template: str) -> None:
        """Put a job into the queue as a foreign program would: nobody looks at the template before, or waits."""
        job = StackJob(name=STACK, template=template)
        send_job(make_app(self.settings), job, stack=job.name)

    def until_done(self, stack_id: str, number: int) -> None:
        """Return as soon as so many of the stack's resources are done, which must not be all."""

        def so_far() -> Progress | None:
            progress = self.service.progress(stack_id)
            return progress if progress.done >= number else None

        assert not until(so_far, pause_seconds=LOOK_SECONDS).finished, "all was over before the fault came"

    def ended(self, stack_id: str) -> StackView:
        """Return the stack when its operation is over."""

        def over() -> StackView | None:
            progress = self.service.progress(stack_id)
            return progress.stack if progress.finished else None

        return until(over, pause_seconds=LOOK_SECONDS)

    def events(self, stack_id: str) -> list[EventView]:
        """Return the whole history of a stack."""
        return self.service.events(stack_id, limit=100_000)

    def claimed_again(self) -> int:
        """Return how many resources were claimed more than once."""
        return len(self.rows("SELECT no FROM node WHERE attempt > 1"))

    def claimed(self, kind: str) -> dict[str, str]:
        """Return which worker has each resource of a type in its hands, by the resources' names."""
        claimed = self.rows(
            "SELECT resource.name, node.worker FROM node JOIN resource ON resource.id = node.resource_id "
            "WHERE node.state = 'running' AND resource.type = %s",
            kind,
        )
        return {resource: self.named(worker) for resource, worker in claimed}

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """Ask the database itself, past everything of ours."""
        url = sa.make_url(self.settings.database_url)
        with psycopg.connect(
            host=url.host, port=url.port, user=url.username, dbname=url.database
        ) as connection:
            return connection.execute(sql.encode(), values or None).fetchall()

    # -- the broker --------------------------------------------------------------------------------------------

    def broker(self) -> redis.Redis:
        """Return a client of the broker's database."""
        return redis.Redis.from_url(self.settings.broker_url, socket_timeout=PATIENCE_SECONDS)

    def lose_messages(self) -> int:
        """Empty all of Redis; return how many messages of checks it held at that moment."""
        with self.broker() as broker, broker.pipeline(transaction=True) as pipeline:
            pipeline.llen("checks")
            pipeline.flushall()
            held, _ = pipeline.execute()
        return int(held)
