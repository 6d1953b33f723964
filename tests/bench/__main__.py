"""``make bench``: what a resource costs, in four shapes, three sizes and three installations, beside raw Celery."""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from orchestrator.config.settings import load_settings
from orchestrator.model.messages import StackJob
from orchestrator.queue.celery_app import default_app
from orchestrator.service import Service
from orchestrator.store import migrations
from tests.bench import constraints, dashboard, hooks, language, nodes, noop, update
from tests.bench.installation import (
    CONCURRENCY,
    Processes,
    environment,
    isotherm,
    processes,
    raw_worker,
    run_inside,
    wait_until,
)
from tests.bench.row import Row, keep, table
from tests.bench.shapes import SHAPES, template
from tests.bench.signing import signing_ms
from tests.keys import provided_keys
from tests.services.servers import PostgresServer, RedisServer

INSTALLATIONS = (
    *("language", "update", "constraints", "hooks", "nodes", "dashboard"),
    *("sqlite", "sqlite+redis", "postgres+redis"),
)
RESULT = Path("build") / "bench.json"
#: How many raw tasks are run to know Celery's rate; the best of two runs counts, so the yardstick is never too kind.
RAW_TASKS = 2_000

say = Console(stderr=True, highlight=False).print


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--sizes", default="100,1000,10000", help="numbers of resources, with commas")
    parser.add_argument("--shapes", default=",".join(SHAPES), help="which shapes, with commas")
    parser.add_argument("--installations", default=",".join(INSTALLATIONS), help="which, with commas")
    return parser.parse_args()


def embedded_rows(shapes: list[str], sizes: list[int], directory: Path) -> Iterator[Row]:
    """Measure embedded mode: SQLite, threads, nothing else."""
    raw = max(
        (json.loads(run_inside("celery", str(RAW_TASKS))) for _ in range(2)), key=lambda run: -run["seconds"]
    )
    celery_rate = RAW_TASKS / raw["seconds"]
    yield Row(
        case="celery",
        shape="-",
        n=RAW_TASKS,
        store="-",
        broker="memory",
        rate=celery_rate,
        ratio_to_celery=1.0,
        cpu_ms=raw["cpu_seconds"] / RAW_TASKS * 1000,
        message_bytes=0.0,
        statements=0.0,
        rss_mib=raw["rss_mib"],
    )
    for size in sizes:
        for shape in shapes:
            with environment({"ISOTHERM_STATE_DIRECTORY": str(directory / f"{shape}-{size}")}):
                run = json.loads(run_inside("embedded", shape, str(size)))
            url = f"sqlite:///{directory / f'inspect-{shape}-{size}.db'}"
            seen = json.loads(run_inside("inspect", url, shape, str(min(size, 1000))))
            yield Row(
                case="isotherm",
                shape=shape,
                n=size,
                store="sqlite",
                broker="memory",
                rate=size / run["seconds"],
                ratio_to_celery=size / run["seconds"] / celery_rate,
                cpu_ms=run["cpu_seconds"] / size * 1000,
                message_bytes=seen["message_bytes"],
                statements=seen["statements"],
                rss_mib=run["rss_mib"],
            )


def raw_row(log: Path) -> Row:
    """Measure raw Celery on the broker of the environment."""
    app = default_app()
    with tempfile.TemporaryDirectory() as counts:
        directory = Path(counts)
        with (
            environment({noop.COUNT_DIRECTORY: counts}),
            processes(raw_worker(), log=log) as running,
        ):

            def run(size: int) -> tuple[float, float]:
                before, used, started = noop.counted(directory), running.cpu_seconds(), time.perf_counter()
                with app.producer_or_acquire() as producer:
                    for _ in range(size):
                        app.send_task(
                            noop.NOOP_TASK, queue="checks", argsrepr="()", kwargsrepr="{}", producer=producer
                        )
                wait_until(lambda: noop.counted(directory) - before >= size)
                return time.perf_counter() - started, running.cpu_seconds() - used

            run(100)
            seconds, cpu = min(run(RAW_TASKS), run(RAW_TASKS))
            rss = running.peak_rss_mib(running.roots[0])
    return Row(
        case="celery",
        shape="-",
        n=RAW_TASKS,
        store="-",
        broker="redis",
        rate=RAW_TASKS / seconds,
        ratio_to_celery=1.0,
        cpu_ms=cpu / RAW_TASKS * 1000,
        message_bytes=0.0,
        statements=0.0,
        rss_mib=rss,
    )


def distributed_rows(
    store: str, shapes: list[str], sizes: list[int], directory: Path, log: Path
) -> Iterator[Row]:
    """Measure a coordinator and a worker of two processes, on Redis and the store of the environment."""
    # No worker begins without a database, not even one that only measures Celery.
    migrations.upgrade(load_settings().effective_database_url)
    raw = raw_row(log)
    yield raw
    coordinator = isotherm("coordinator", "--concurrency", "1")
    worker = isotherm("worker", "--concurrency", str(CONCURRENCY))
    with processes(worker, coordinator, log=log) as running, Service.open(load_settings()) as service:
        _stack_seconds(service, "warm-up", "wide", 50)
        for size in sizes:
            for shape in shapes:
                name = f"{shape}-{size}"
                used = running.cpu_seconds()
                seconds = _stack_seconds(service, name, shape, size)
                cpu = running.cpu_seconds() - used
                yield _distributed_row(store, shape, size, seconds, cpu, raw, running, directory)


def _stack_seconds(service: Service, name: str, shape: str, size: int) -> float:
    source = template(shape, size)
    started = time.perf_counter()
    stack = service.create(StackJob(name=name, template=source))
    # To ask how far a large stack is costs the database milliseconds: asked seldom, so as not to measure the asking.
    pause_seconds = min(0.5, max(0.02, size / 20_000))
    wait_until(lambda: service.progress(stack.id).finished, pause_seconds=pause_seconds)
    seconds = time.perf_counter() - started
    if service.stack(stack.id).state != "CREATE_COMPLETE":
        raise SystemExit(f"stack {name} ended {service.stack(stack.id).state}")
    return seconds


def _distributed_row(
    store: str,
    shape: str,
    size: int,
    seconds: float,
    cpu: float,
    raw: Row,
    running: Processes,
    directory: Path,
) -> Row:
    inspected = f"sqlite:///{directory / f'inspect-{store}-{shape}-{size}.db'}"
    if store == "postgres":
        inspected = load_settings().effective_database_url
    with tempfile.TemporaryDirectory(), environment({"ISOTHERM_PROJECT": f"inspect-{shape}-{size}"}):
        seen = json.loads(run_inside("inspect", inspected, shape, str(min(size, 1000))))
    return Row(
        case="isotherm",
        shape=shape,
        n=size,
        store=store,
        broker="redis",
        rate=size / seconds,
        ratio_to_celery=size / seconds / raw.rate,
        cpu_ms=cpu / size * 1000,
        message_bytes=seen["message_bytes"],
        statements=seen["statements"],
        rss_mib=running.peak_rss_mib(running.roots[0]),
        signing_percent=100 * signing_ms(seen["message_bytes"]) / (cpu / size * 1000),
    )


def measure(
    installation: str, shapes: list[str], sizes: list[int], directory: Path, log: Path
) -> Iterator[Row]:
    """Yield the rows of one installation."""
    if installation == "sqlite":
        yield from embedded_rows(shapes, sizes, directory)
        return
    store = installation.partition("+")[0]
    with ExitStack() as servers:
        redis = servers.enter_context(RedisServer.start())
        if store == "postgres":
            postgres = servers.enter_context(PostgresServer.start(durable=True))
            url = postgres.create_database()
        else:
            url = f"sqlite:///{directory / 'shared.db'}"
        values = {
            "ISOTHERM_BROKER_URL": redis.url,
            "ISOTHERM_DATABASE_URL": url,
            "ISOTHERM_LOG_LEVEL": "WARNING",
        }
        default_app.cache_clear()
        servers.enter_context(environment(values))
        yield from distributed_rows(store, shapes, sizes, directory, log)


def main() -> None:
    """Measure everything that was asked for, print the table, and keep the rows."""
    asked = arguments()
    sizes = [int(size) for size in asked.sizes.split(",")]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="isotherm-bench-") as directory:
        log = Path(directory) / "log"
        installations = asked.installations.split(",")
        if "language" in installations:
            # No installation at all, and first: nothing else runs yet.
            installations.remove("language")
            language.main()
        if "update" in installations:
            installations.remove("update")
            update.main([])
        if "constraints" in installations:
            installations.remove("constraints")
            constraints.main([])
        if "hooks" in installations:
            installations.remove("hooks")
            hooks.main([])
        if "nodes" in installations:
            installations.remove("nodes")
            nodes.main([])
        if "dashboard" in installations:
            installations.remove("dashboard")
            dashboard.main([])
        for installation in installations:
            for row in measure(installation, asked.shapes.split(","), sizes, Path(directory), log):
                rows.append(row)
                speed = f"{row.rate:8.0f}/s {row.ratio_to_celery:5.2f}"
                say(f"{installation:15} {row.case:9} {row.shape:7} {row.n:6} {speed}")
    keep(rows, RESULT)
    Console().print(table(rows), soft_wrap=True, highlight=False)
    say(f"written to {RESULT}")


if __name__ == "__main__":
    with provided_keys():
        main()
