"""What the dashboard takes: how late its pages hear of what happens, what it keeps, and how soon a graph is drawn.

Run as ``python -m tests.bench.dashboard``, or by ``make bench``: Redis, PostgreSQL, a coordinator, a worker of two
processes and a dashboard, all on this machine. Listeners are in one process, whose own slowness is counted in.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

import httpx
import psutil
import sqlalchemy as sa
from rich.console import Console

from orchestrator.config.settings import load_settings
from orchestrator.model.messages import StackJob
from orchestrator.queue.celery_app import default_app
from orchestrator.service import Service
from orchestrator.store import migrations, tables
from orchestrator.store.store import Store
from tests.bench.installation import CONCURRENCY, environment, isotherm, processes, wait_until
from tests.bench.listening import Audience
from tests.bench.shapes import template
from tests.browser.chromium import launched, program
from tests.keys import provided_keys
from tests.services.process import HOST, MissingServer, free_port
from tests.services.servers import PostgresServer, RedisServer

RESULT: Final = Path("build") / "bench-dashboard.json"
#: How many resources the stack has that is watched, and how many pages watch it.
WATCHED, STREAMS = 300, (1, 100)
#: How many events memory is measured over, after as many as fill every buffer that there is, and at what pace.
EVENTS, WARM_UP, BATCH, PAUSE_SECONDS = 50_000, 20_000, 250, 0.05
#: The same events by stacks of so many resources; Flower keeps so many tasks at most, which they fill soon.
MADE, MAX_TASKS = 1_000, 500
DRAWN: Final = (300, 2_000)
#: How many pages are open while memory is measured.
OPEN_PAGES: Final = 50
#: Keeps how long each long task of a page took, in milliseconds.
LONG_TASKS: Final = """
window.longTasks = [];
new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((each) => each.duration)))
  .observe({ type: "longtask", buffered: true });
"""
#: Keeps how long each frame of a page took, in milliseconds.
FRAMES: Final = """() => {
  window.frameTimes = [];
  window.longTasks = [];
  let before = performance.now();
  const next = (now) => {
    window.frameTimes.push(now - before);
    before = now;
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
}"""
WHAT: Final = ("delay", "memory", "engine", "drawn", "updated")

say = Console(stderr=True, highlight=False).print


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """How late events were heard while a stack was made."""

    streams: int
    resources: int
    #: How many events each page heard, and how many it should have.
    heard: int
    happened: int
    p50_ms: float
    p95_ms: float
    max_ms: float
    resyncs: int
    #: Processor seconds of the dashboard, and how long it took.
    cpu_seconds: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the dashboard keeps, in MiB, before and after many events."""

    #: rows: written as the engine writes them, and nothing else. engine: of stacks that were made, with all that Flower
    #: hears of their tasks.
    source: str
    events: int
    before_mib: float
    after_mib: float
    #: The least squares' slope over all that was seen in between: how many bytes an event leaves behind.
    bytes_an_event: float
    resyncs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """How soon a graph is drawn, from the opening of its page."""

    resources: int
    seconds: float
    #: The longest tasks of the page's own thread meanwhile, and all that were longer than a frame may wait (50 ms).
    longest_task_ms: float
    long_tasks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Updated:
    """How a graph's page keeps up while all resources of the stack are checked."""

    resources: int
    #: How long the operation took, and how many frames the page drew meanwhile.
    seconds: float
    frames: int
    #: From one frame to the next; a page that does nothing draws one each 17 ms.
    p95_frame_ms: float
    max_frame_ms: float
    longest_task_ms: float
    long_tasks: int


class Installed:
    """A running installation."""

    def __init__(self, service: Service, store: Store, url: str, process: psutil.Process) -> None:
        self.service, self.store, self.url, self.process = service, store, url, process

    def make(self, name: str, size: int) -> str:
        """Make a stack of layers, and return its id once it is complete."""
        stack = self.service.create(StackJob(name=name, template=template("layers", size)))
        wait_until(lambda: self.service.progress(stack.id).finished, pause_seconds=0.05)
        if self.service.stack(stack.id).state != "CREATE_COMPLETE":
            raise SystemExit(f"stack {name} ended {self.service.stack(stack.id).state}")
        return stack.id

    def event_ids(self, stack_id: str) -> list[int]:
        """Return the ids of a stack's events."""
        event = tables.event
        sql = sa.select(event.c.id).where(event.c.stack_id == stack_id).order_by(event.c.id)
        with self.store.database.read() as connection:
            return list(connection.execute(sql).scalars())

    def write(self, stack_id: str, count: int) -> int:
        """Write events of a stack as the engine writes them, and return the last one's id."""
        row = {"stack_id": stack_id, "traversal_id": "none", "type": "OS::Heat::None", "action": "CREATE"}
        with self.store.database.write() as connection:
            rows = [
                {**row, "at": time.time(), "resource": f"r{number}", "status": "COMPLETE"}
                for number in range(count)
            ]
            connection.execute(tables.event.insert(), rows)
            return int(connection.execute(sa.select(sa.func.max(tables.event.c.id))).scalar_one())

    def cpu_seconds(self) -> float:
        """Return the processor time that the dashboard has used."""
        times = self.process.cpu_times()
        return times.user + times.system

    def rss_mib(self) -> float:
        """Return what the dashboard has in memory."""
        return float(self.process.memory_info().rss) / 2**20


@contextmanager
def installed(directory: Path) -> Iterator[Installed]:
    """Start everything, and stop it at the end."""
    with ExitStack() as running:
        redis = running.enter_context(RedisServer.start())
        postgres = running.enter_context(PostgresServer.start(durable=True))
        values = {
            "ISOTHERM_BROKER_URL": redis.url,
            "ISOTHERM_DATABASE_URL": postgres.create_database(),
            "ISOTHERM_LOG_LEVEL": "WARNING",
            "ISOTHERM_STATE_DIRECTORY": str(directory),
        }
        default_app.cache_clear()
        running.enter_context(environment(values))
        settings = load_settings()
        migrations.upgrade(settings.effective_database_url)
        port = free_port()
        commands = (
            isotherm("worker", "--concurrency", str(CONCURRENCY)),
            isotherm("coordinator", "--concurrency", "1"),
            isotherm(
                "dashboard",
                f"--port={port}",
                f"--address={HOST}",
                f"--max_tasks={MAX_TASKS}",
                # All of them come from this machine.
                f"--max_streams_per_client={sum(STREAMS) + OPEN_PAGES}",
                "--logging=warning",
            ),
        )
        roots = running.enter_context(processes(*commands, log=directory / "log")).roots
        url = f"http://{HOST}:{port}"
        wait_until(partial(answers, url), pause_seconds=0.1)
        service = running.enter_context(Service.open(settings))
        store = Store.of(settings)
        running.callback(store.close)
        yield Installed(service, store, url, psutil.Process(roots[-1].pid))


def answers(url: str) -> bool:
    """Whether a dashboard answers."""
    try:
        return httpx.get(f"{url}/healthcheck", trust_env=False, timeout=2).is_success
    except httpx.TransportError:
        return False


@asynccontextmanager
async def audience(here: Installed, path: str, count: int) -> AsyncIterator[Audience]:
    """Give listeners who all listen already."""
    async with Audience(f"{here.url}{path}", count) as listening:
        gauge = f"isotherm_dashboard_streams {float(count)}"
        async with httpx.AsyncClient(trust_env=False) as client:
            while gauge not in (await client.get(f"{here.url}/metrics")).text:
                await asyncio.sleep(0.1)
        yield listening


async def delay(here: Installed, streams: int) -> Delay:
    """Measure how late events are heard while a stack is made that so many pages watch."""
    async with audience(here, "/stacks/stream", streams) as listening:
        used, started = here.cpu_seconds(), time.perf_counter()
        stack_id = await asyncio.to_thread(here.make, f"watched-{streams}", WATCHED)
        happened = here.event_ids(stack_id)
        await listening.heard(happened[-1])
        seconds, cpu = time.perf_counter() - started, here.cpu_seconds() - used
        delays = sorted(
            each.delays[number]
            for each in listening.listeners
            for number in happened
            if number in each.delays
        )
        return Delay(
            streams=streams,
            resources=WATCHED,
            heard=min(len(set(happened) & set(each.delays)) for each in listening.listeners),
            happened=len(happened),
            p50_ms=statistics.median(delays) * 1000,
            p95_ms=delays[len(delays) * 95 // 100] * 1000,
            max_ms=delays[-1] * 1000,
            resyncs=sum(each.resyncs for each in listening.listeners),
            cpu_seconds=cpu,
            seconds=seconds,
        )


async def memory(here: Installed) -> Memory:
    """Measure what the dashboard keeps of events that many pages listen to."""
    stack_id = here.make("written", 1)
    seen: list[tuple[int, float]] = []
    async with audience(here, "/stack/written/stream", OPEN_PAGES) as listening:

        async def write(events: int) -> None:
            for written in range(0, events, BATCH):
                newest = await asyncio.to_thread(here.write, stack_id, BATCH)
                await asyncio.sleep(PAUSE_SECONDS)
                if written % (20 * BATCH) == 0:
                    await listening.heard(newest)
                    seen.append((written, here.rss_mib()))
            await listening.heard(newest)
            for each in listening.listeners:
                # They are measured here for no other reason than to listen.
                each.delays.clear()

        await write(WARM_UP)
        seen.clear()
        before = here.rss_mib()
        await write(EVENTS)
        return kept("rows", before, here.rss_mib(), seen, listening)


async def memory_of_engine(here: Installed) -> Memory:
    """Measure the same while stacks are made, one after the other."""
    seen: list[tuple[int, float]] = []
    async with audience(here, "/stacks/stream", OPEN_PAGES) as listening:

        async def make(events: int, name: str) -> None:
            happened = 0
            while happened < events:
                stack_id = await asyncio.to_thread(here.make, f"{name}-{happened}", MADE)
                happened += len(here.event_ids(stack_id))
                seen.append((happened, here.rss_mib()))
                for each in listening.listeners:
                    each.delays.clear()

        await make(WARM_UP, "warm")
        seen.clear()
        before = here.rss_mib()
        await make(EVENTS, "made")
        return kept("engine", before, here.rss_mib(), seen, listening)


def kept(
    source: str, before: float, after: float, seen: Sequence[tuple[int, float]], listening: Audience
) -> Memory:
    """Return what came of events, after which the dashboard had so much in memory."""
    slope = statistics.linear_regression(*zip(*seen, strict=True)).slope
    return Memory(
        source=source,
        events=EVENTS,
        before_mib=before,
        after_mib=after,
        bytes_an_event=slope * 2**20,
        resyncs=sum(each.resyncs for each in listening.listeners),
    )


def drawn(here: Installed) -> Iterator[Drawn]:
    """Measure how soon the graph of a stack is drawn, in a browser."""
    sizes = [(size, here.make(f"drawn-{size}", size)) for size in DRAWN]
    with launched(program()) as browser:
        for size, stack_id in sizes:
            page = browser.new_page(viewport={"width": 1600, "height": 1000})
            page.add_init_script(LONG_TASKS)
            started = time.perf_counter()
            page.goto(f"{here.url}/stack/{stack_id}/graph", wait_until="commit")
            page.wait_for_selector("[data-drawn]", state="attached", timeout=60_000)
            # Drawn is what has been painted.
            page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            seconds = time.perf_counter() - started
            tasks = page.evaluate("window.longTasks")
            yield Drawn(
                resources=size,
                seconds=seconds,
                longest_task_ms=max(tasks, default=0.0),
                long_tasks=len(tasks),
            )
            page.close()


def updated(here: Installed) -> Iterator[Updated]:
    """Measure how a page keeps up with the checks of all resources, in a browser."""
    for size in DRAWN:
        stack_id = here.make(f"updated-{size}", size)
        with launched(program()) as browser:
            page = browser.new_page(viewport={"width": 1600, "height": 1000})
            page.add_init_script(LONG_TASKS)
            page.goto(f"{here.url}/stack/{stack_id}/graph", wait_until="commit")
            page.wait_for_selector("[data-drawn]", state="attached", timeout=60_000)
            page.evaluate(FRAMES)
            started = time.perf_counter()
            here.service.operate("CHECK", stack_id)
            page.wait_for_function("() => document.title.includes('CHECK_COMPLETE')", timeout=120_000)
            seconds = time.perf_counter() - started
            frames = sorted(page.evaluate("window.frameTimes"))
            tasks = page.evaluate("window.longTasks")
            yield Updated(
                resources=size,
                seconds=seconds,
                frames=len(frames),
                p95_frame_ms=frames[len(frames) * 95 // 100],
                max_frame_ms=frames[-1],
                longest_task_ms=max(tasks, default=0.0),
                long_tasks=len(tasks),
            )


def measure(wanted: Sequence[str]) -> Iterator[Delay | Memory | Drawn | Updated]:
    """Yield what was measured."""
    with (
        tempfile.TemporaryDirectory(prefix="isotherm-bench-") as directory,
        installed(Path(directory)) as here,
    ):
        here.make("warm-up", 50)
        if "delay" in wanted:
            for streams in STREAMS:
                yield asyncio.run(delay(here, streams))
        if "memory" in wanted:
            yield asyncio.run(memory(here))
        if "engine" in wanted:
            yield asyncio.run(memory_of_engine(here))
        in_browser: dict[str, Callable[[Installed], Iterator[Drawn | Updated]]]
        in_browser = {"drawn": drawn, "updated": updated}
        for name in (name for name in in_browser if name in wanted):
            try:
                yield from in_browser[name](here)
            except MissingServer as error:
                say(f"not {name}: {error}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what was asked for, and print and keep it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.dashboard", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=WHAT, default=WHAT, help="what to measure")
    asked = parser.parse_args(arguments)
    rows = []
    for row in measure(asked.only):
        rows.append({"what": type(row).__name__.lower(), **asdict(row)})
        told = {
            name: f"{value:.4g}" if isinstance(value, float) else value for name, value in asdict(row).items()
        }
        figures = (f"{name}={value}" for name, value in told.items())
        say(f"dashboard       {type(row).__name__.lower():9}", *figures)
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(rows, indent=1) + "\n")
    say(f"written to {RESULT}")


if __name__ == "__main__":
    with provided_keys():
        main()
