"""``make bench``: what a resource costs, in four shapes, three sizes and three installations, beside Celery itself."""

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from orchestrator.config.settings import load_settings
from orchestrator.queue.celery_app import default_app
from orchestrator.service import Service
from orchestrator.store import migrations
from tests.bench import constraints, dashboard, hooks, language, nodes, update
from tests.bench.installation import (
    CONCURRENCY,
    Processes,
    environment,
    isotherm,
    processes,
    run_inside,
    stack_seconds,
)
from tests.bench.noop import PLAIN_CELERY, UNDER_OUR_SETTINGS
from tests.bench.row import Row, keep, table
from tests.bench.running_celery import RunningCelery
from tests.bench.shapes import SHAPES
from tests.bench.signing import signing_ms
from tests.keys import provided_keys
from tests.services.servers import PostgresServer, RedisServer

INSTALLATIONS = (
    *("language", "update", "constraints", "hooks", "nodes", "dashboard"),
    *("sqlite", "sqlite+redis", "postgres+redis"),
)
RESULT = Path("build") / "bench.json"
#: The yardsticks: Celery with its defaults, and under our settings.
CELERY = (PLAIN_CELERY, UNDER_OUR_SETTINGS)
#: How many tasks are run to know Celery's rate; the best of two runs counts, so the yardstick is never too kind.
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
    yardsticks = [_celery_in_memory(case) for case in CELERY]
    yield from (_beside(row, yardsticks) for row in yardsticks)
    for size in sizes:
        for shape in shapes:
            with environment({"ISOTHERM_STATE_DIRECTORY": str(directory / f"{shape}-{size}")}):
                run = json.loads(run_inside("embedded", shape, str(size)))
            url = f"sqlite:///{directory / f'inspect-{shape}-{size}.db'}"
            seen = json.loads(run_inside("inspect", url, shape, str(min(size, 1000))))
            row = Row(
                case="isotherm",
                shape=shape,
                n=size,
                store="sqlite",
                broker="memory",
                rate=size / run["seconds"],
                cpu_ms=run["cpu_seconds"] / size * 1000,
                message_bytes=seen["message_bytes"],
                statements=seen["statements"],
                rss_mib=run["rss_mib"],
            )
            yield _beside(row, yardsticks)


def _celery_in_memory(case: str) -> Row:
    """Measure Celery on an in-memory broker; the best of two runs counts."""
    runs = [json.loads(run_inside(case, str(RAW_TASKS))) for _ in range(2)]
    best = min(runs, key=lambda run: run["seconds"])
    return _celery_row(case, "memory", best["seconds"], best["cpu_seconds"], best["rss_mib"])


def _celery_row(case: str, broker: str, seconds: float, cpu: float, rss_mib: float) -> Row:
    return Row(
        case=case,
        shape="-",
        n=RAW_TASKS,
        store="-",
        broker=broker,
        rate=RAW_TASKS / seconds,
        cpu_ms=cpu / RAW_TASKS * 1000,
        message_bytes=0.0,
        statements=0.0,
        rss_mib=rss_mib,
    )


def _beside(row: Row, yardsticks: Sequence[Row]) -> Row:
    """Return a row with its ratios to those of :data:`CELERY`."""
    plain, under_our_settings = (row.rate / each.rate for each in yardsticks)
    return replace(row, ratio_to_celery=plain, ratio_to_celery_our_settings=under_our_settings)


def celery_row(case: str, broker_url: str, log: Path) -> Row:
    """Measure Celery's tasks on a broker; the best of two runs counts."""
    with RunningCelery.start(case, broker_url, log) as celery:
        celery.run_alone(100)
        best = min(celery.run_alone(RAW_TASKS) for _ in range(2))
        rss = celery.processes.peak_rss_mib(celery.processes.roots[0])
    return _celery_row(case, "redis", best.seconds, best.cpu_seconds, rss)


def distributed_rows(
    store: str, shapes: list[str], sizes: list[int], directory: Path, log: Path
) -> Iterator[Row]:
    """Measure a coordinator and a worker of two processes, on Redis and the store of the environment."""
    # No worker under our settings begins without a database, not even one that only measures Celery.
    migrations.upgrade(load_settings().effective_database_url)
    yardsticks = [celery_row(case, load_settings().broker_url, log) for case in CELERY]
    yield from (_beside(row, yardsticks) for row in yardsticks)
    coordinator = isotherm("coordinator", "--concurrency", "1")
    worker = isotherm("worker", "--concurrency", str(CONCURRENCY))
    with processes(worker, coordinator, log=log) as running, Service.open(load_settings()) as service:
        stack_seconds(service, "warm-up", "wide", 50)
        for size in sizes:
            for shape in shapes:
                name = f"{shape}-{size}"
                used = running.cpu_seconds()
                seconds = stack_seconds(service, name, shape, size)
                cpu = running.cpu_seconds() - used
                row = _distributed_row(store, shape, size, seconds, cpu, running, directory)
                yield _beside(row, yardsticks)


def _distributed_row(
    store: str,
    shape: str,
    size: int,
    seconds: float,
    cpu: float,
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
                ratios = f"{row.ratio_to_celery:5.2f} {row.ratio_to_celery_our_settings:5.2f}"
                say(f"{installation:15} {row.case:20} {row.shape:7} {row.n:6} {row.rate:8.0f}/s {ratios}")
    keep(rows, RESULT)
    Console().print(table(rows), soft_wrap=True, highlight=False)
    say(f"written to {RESULT}")


if __name__ == "__main__":
    with provided_keys():
        main()
