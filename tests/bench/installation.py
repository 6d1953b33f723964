"""An installation to be measured: servers, a coordinator, a worker of two processes, and their costs."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from orchestrator.store import migrations
from tests.bench.shapes import template
from tests.services.servers import PostgresServer, RedisServer

#: Worker processes, as many as the machine that the targets were set for has processors.
CONCURRENCY = 2
#: Longest wait for anything.
PATIENCE_SECONDS = 300.0
#: How long processes may take to end.
STOP_SECONDS = 30.0

PLAIN_WORKER = """
from tests.bench.noop import plain_app
arguments = ["worker", "--pool", "prefork", "--concurrency", "%d", "--loglevel", "WARNING"]
plain_app(%r, backend=%r).worker_main(arguments)
"""
WORKER_UNDER_OUR_SETTINGS = """
from tests.bench.noop import app_under_our_settings
from orchestrator.queue.processes import run_worker
from orchestrator.config.settings import load_settings
app_under_our_settings()
run_worker(load_settings(), concurrency=%d, pool="prefork", name="raw")
"""


@dataclass(slots=True)
class Processes:
    """Some process trees, and what they have used."""

    roots: list[psutil.Popen]

    def _all(self) -> list[psutil.Process]:
        return [each for root in self.roots for each in (root, *root.children(recursive=True))]

    def cpu_seconds(self) -> float:
        """Return the processor time used so far."""
        times = [each.cpu_times() for each in self._all()]
        return sum(time.user + time.system for time in times)

    def peak_rss_mib(self, root: psutil.Popen) -> float:
        """Return the largest that any process of a tree has been."""
        peaks = []
        for each in (root, *root.children(recursive=True)):
            status = Path(f"/proc/{each.pid}/status").read_text()
            peaks += [int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")]
        return max(peaks)

    def stop(self) -> None:
        """End them all, as an operator would; kill what does not end, such as a worker behind Celery's canvas."""
        trees = self._all()
        for root in self.roots:
            root.terminate()
        _, left = psutil.wait_procs(trees, timeout=STOP_SECONDS)
        for process in left:
            print(f"killed, as it did not end: {process}", file=sys.stderr)
            process.kill()
        psutil.wait_procs(left)


def isotherm(*arguments: str) -> list[str]:
    """Return the command line of our own program in this environment."""
    return [str(Path(sys.executable).with_name("isotherm")), *arguments]


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables for this process and those it starts."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


@contextmanager
def processes(*commands: list[str], log: Path) -> Iterator[Processes]:
    """Start processes and stop them at the end."""
    with log.open("ab") as output:
        started = Processes([psutil.Popen(command, stdout=output, stderr=output) for command in commands])
    try:
        yield started
    finally:
        started.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """The servers of an installation, to which the environment leads, and a directory for files."""

    postgres: PostgresServer
    redis: RedisServer
    database_url: str
    directory: Path


@contextmanager
def servers(more: Mapping[str, str] | None = None) -> Iterator[Servers]:
    """Start PostgreSQL, which writes to disk, and Redis; ``more`` are further variables."""
    with (
        tempfile.TemporaryDirectory() as directory,
        RedisServer.start() as redis,
        PostgresServer.start(durable=True) as postgres,
    ):
        url = postgres.create_database()
        values = {
            "ISOTHERM_BROKER_URL": redis.url,
            "ISOTHERM_DATABASE_URL": url,
            "ISOTHERM_LOG_LEVEL": "WARNING",
            "ISOTHERM_STATE_DIRECTORY": directory,
            **(more or {}),
        }
        with environment(values):
            migrations.upgrade(url)
            yield Servers(postgres=postgres, redis=redis, database_url=url, directory=Path(directory))


@contextmanager
def worker_and_coordinator(directory: Path) -> Iterator[Processes]:
    """Start a worker of as many processes as are measured, and a coordinator; these are the roots, in this order."""
    commands = isotherm("worker", "--concurrency", str(CONCURRENCY)), isotherm("coordinator")
    with processes(*commands, log=directory / "log") as running:
        yield running


def wait_for_all(service: Service, running: Processes) -> None:
    """Wait until there are processes of each kind that take work."""

    def kinds() -> set[str]:
        return {each.kind for each in service.observer.processes() if each.state == "present"}

    wait_until(lambda: len(kinds()) == len(running.roots))


def plain_worker(broker_url: str, backend: str | None = None) -> list[str]:
    """Return the command of a worker with Celery's defaults whose tasks do nothing."""
    return [sys.executable, "-c", PLAIN_WORKER % (CONCURRENCY, broker_url, backend)]


def worker_under_our_settings() -> list[str]:
    """Return the command of a worker under our settings whose tasks do nothing."""
    return [sys.executable, "-c", WORKER_UNDER_OUR_SETTINGS % CONCURRENCY]


def wait_until(
    condition: Callable[[], bool], *, pause_seconds: float = 0.01, patience_seconds: float = PATIENCE_SECONDS
) -> None:
    """Wait until something is so.

    Raises:
        TimeoutError: it never was.
    """
    deadline = time.monotonic() + patience_seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the measurement does not come to its end")
        time.sleep(pause_seconds)


def run_inside(*arguments: str) -> str:
    """Run a measurement in a process of its own; return what it printed."""
    command = [sys.executable, "-m", "tests.bench.inside", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=PATIENCE_SECONDS)
    return done.stdout.splitlines()[-1]


def pause_between_asks(size: int) -> float:
    """Return how many seconds a caller waits before it asks again how far a stack of so many resources is.

    To ask for a large one costs the database milliseconds: asked seldom, so as not to measure the asking.
    """
    return min(0.5, max(0.02, size / 20_000))


def stack_seconds(service: Service, name: str, shape: str, size: int) -> float:
    """Create a stack, and return how long it took until all was there."""
    source = template(shape, size)
    started = time.perf_counter()
    stack = service.create(StackJob(name=name, template=source))
    wait_until(lambda: service.progress(stack.id).finished, pause_seconds=pause_between_asks(size))
    seconds = time.perf_counter() - started
    if service.stack(stack.id).state != "CREATE_COMPLETE":
        raise SystemExit(f"stack {name} ended {service.stack(stack.id).state}")
    return seconds
