"""What the API takes: pages of a long list, creates beside those of the command, and clients that wait for stacks.

Run as ``python -m tests.bench.api``: Redis, PostgreSQL, a coordinator, a worker of two processes and an API of one
process, all on this machine. Clients are in this process, whose own slowness is counted in.
"""

import asyncio
import json
import statistics
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import sqlalchemy as sa
from rich.console import Console
from rich.table import Table

from orchestrator.config.settings import load_settings
from orchestrator.queue.celery_app import default_app
from orchestrator.service import Service
from orchestrator.store import migrations, tables
from orchestrator.store.store import Store
from tests.bench.dashboard import answers
from tests.bench.installation import CONCURRENCY, Processes, environment, isotherm, processes, wait_until
from tests.bench.shapes import template
from tests.keys import provided_keys
from tests.services.process import HOST, free_port
from tests.services.servers import PostgresServer, RedisServer

RESULT: Final = Path("build") / "bench-api.json"
#: How many stacks are listed, and how many are on a page.
LISTED, PAGE = 10_000, 100
#: How many stacks are created by the API, one after the other, and by the command; and how many resources each has.
CREATED, BY_COMMAND, RESOURCES = 200, 10, 3
#: The clients that wait for a stack each, how often they look, and how long.
POLLERS, EVERY_SECONDS, POLLED_SECONDS = 200, 5.0, 30.0

say = Console(highlight=False, width=110).print


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What some requests came to."""

    what: str
    n: int
    p50_ms: float
    p95_ms: float
    #: Processor time of the API's processes: a request, and as a part of one core in percent.
    cpu_ms: float
    cpu_percent: float
    goal: str = ""


class Installed:
    """A running installation, and a connection to its API."""

    def __init__(self, service: Service, store: Store, api: Processes, url: str) -> None:
        self.service, self.store, self.api, self.url = service, store, api, url
        self.client = httpx.Client(base_url=url, trust_env=False, timeout=60)

    def result(self, what: str, seconds: Sequence[float], used: float, lasted: float, goal: str) -> Result:
        """Return the result of requests that took so long, in which the API used so much of the processor."""
        return Result(
            what=what,
            n=len(seconds),
            p50_ms=statistics.median(seconds) * 1000,
            p95_ms=statistics.quantiles(seconds, n=20)[-1] * 1000,
            cpu_ms=used / len(seconds) * 1000,
            cpu_percent=used / lasted * 100,
            goal=goal,
        )

    def in_turn(self, what: str, ask: Callable[[int], object], count: int, goal: str = "") -> Result:
        """Measure requests that follow each other."""
        used, began, seconds = self.api.cpu_seconds(), time.perf_counter(), []
        for number in range(count):
            started = time.perf_counter()
            ask(number)
            seconds.append(time.perf_counter() - started)
        return self.result(what, seconds, self.api.cpu_seconds() - used, time.perf_counter() - began, goal)


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
        engine = (
            isotherm("worker", "--concurrency", str(CONCURRENCY)),
            isotherm("coordinator", "--concurrency", "1"),
        )
        running.enter_context(processes(*engine, log=directory / "log"))
        serve = isotherm("api", "--auth", "none", "--port", str(port), "--threads", "16")
        api = running.enter_context(processes(serve, log=directory / "log"))
        url = f"http://{HOST}:{port}"
        wait_until(partial(answers, url), pause_seconds=0.1)
        service = running.enter_context(Service.open(settings))
        store = Store.of(settings)
        running.callback(store.close)
        yield Installed(service, store, api, f"{url}/v1/{settings.project}")


def create(here: Installed, name: str) -> str:
    """Create a stack by the API, and return its address."""
    body = {"stack_name": name, "template": template("wide", RESOURCES)}
    made = here.client.post("/stacks", json=body).raise_for_status()
    return str(made.headers["location"])


def ended(here: Installed, address: str) -> bool:
    """Whether nothing is in progress."""
    return not here.client.get(address).json()["stack"]["stack_status"].endswith("IN_PROGRESS")


def multiply(here: Installed, name: str) -> None:
    """Insert as many stacks as are listed, like one that there is."""
    stack, traversal = tables.stack, tables.traversal
    with here.store.database.write() as connection:
        head = dict(connection.execute(sa.select(stack).where(stack.c.name == name)).one()._mapping)
        found = sa.select(traversal).where(traversal.c.id == head["traversal_id"])
        operation = dict(connection.execute(found).one()._mapping)
        stacks: list[dict[str, Any]] = []
        traversals: list[dict[str, Any]] = []
        for number in range(LISTED):
            stack_id, traversal_id = str(uuid.uuid4()), str(uuid.uuid4())
            own = {
                "id": stack_id,
                "name": f"listed-{number}",
                "created_at": head["created_at"] + number / 1000,
            }
            stacks.append({**head, **own, "root_id": stack_id, "traversal_id": traversal_id})
            traversals.append({**operation, "id": traversal_id, "stack_id": stack_id})
        connection.execute(traversal.insert(), traversals)
        connection.execute(stack.insert(), stacks)
        connection.execute(sa.text("ANALYZE"))


def pages(here: Installed) -> Result:
    """Read the whole list, page by page."""
    address = [f"/stacks?limit={PAGE}"]

    def read(_: int) -> None:
        body = here.client.get(address[0]).raise_for_status().json()
        if len(body["stacks"]) != PAGE:
            raise SystemExit(f"a page has {len(body['stacks'])} stacks, and not {PAGE}")
        address[0] = body["links"][0]["href"]

    return here.in_turn(f"GET /stacks, {PAGE} a page", read, LISTED // PAGE, "p95 < 100 ms")


def by_command(here: Installed, directory: Path) -> Result:
    """Create stacks by the command, which ends once the operation has begun."""
    file = directory / "stack.yaml"
    file.write_text(template("wide", RESOURCES))

    def run(number: int) -> None:
        command = isotherm("stack", "create", f"command-{number}", "-t", str(file), "--no-wait")
        subprocess.run(command, check=True, capture_output=True)

    return here.in_turn("isotherm stack create", run, BY_COMMAND)


async def polled(here: Installed, addresses: Sequence[str]) -> Result:
    """Let each client look at its stack again and again."""
    seconds: list[float] = []
    # Each has a connection of its own. To make a client takes long where it reads certificates.
    clients = [httpx.AsyncClient(trust_env=False, timeout=60, verify=False) for _ in addresses]
    began = time.perf_counter()

    async def poll(number: int) -> None:
        async with clients[number] as client:
            due = began + number / len(addresses) * EVERY_SECONDS
            while due < began + POLLED_SECONDS:
                await asyncio.sleep(due - time.perf_counter())
                started = time.perf_counter()
                (await client.get(addresses[number])).raise_for_status()
                seconds.append(time.perf_counter() - started)
                due += EVERY_SECONDS

    used = here.api.cpu_seconds()
    await asyncio.gather(*(poll(number) for number in range(len(addresses))))
    used, lasted = here.api.cpu_seconds() - used, time.perf_counter() - began
    what = f"{POLLERS} pollers, each every {EVERY_SECONDS:g} s"
    return here.result(what, seconds, used, lasted, "cpu_percent < 60")


def measure(directory: Path) -> Iterator[Result]:
    """Yield what was measured."""
    with installed(directory) as here:
        first = create(here, "first")
        wait_until(lambda: ended(here, first))
        multiply(here, "first")
        here.client.get("/stacks", params={"limit": 1})
        yield pages(here)
        addresses: list[str] = []

        def post(number: int) -> None:
            addresses.append(create(here, f"created-{number}"))

        yield here.in_turn("POST /stacks", post, CREATED, "p95 < 300 ms")
        wait_until(lambda: ended(here, addresses[-1]))
        yield by_command(here, directory)
        yield asyncio.run(polled(here, addresses[:POLLERS]))


def main() -> None:
    """Measure, and print and keep it."""
    with tempfile.TemporaryDirectory(prefix="isotherm-bench-") as directory:
        results = list(measure(Path(directory)))
    shown = Table()
    for field in fields(Result):
        shown.add_column(field.name, no_wrap=True)
    for each in results:
        shown.add_row(
            *(f"{value:.1f}" if isinstance(value, float) else str(value) for value in asdict(each).values())
        )
    say(shown)
    by_api, command = (next(each for each in results if name in each.what) for name in ("POST", "isotherm"))
    say(f"the command takes {command.p50_ms / by_api.p50_ms:.1f} times as long as POST /stacks")
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps([asdict(each) for each in results], indent=1) + "\n")
    say(f"written to {RESULT}")


if __name__ == "__main__":
    with provided_keys():
        main()
