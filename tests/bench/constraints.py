"""What the constraint cache saves: many resources that share three names, of which an HTTP API says whether they exist.

Run as ``python -m tests.bench.constraints``, or by ``make bench``. A coordinator, a worker of four processes,
PostgreSQL and Redis; every answer of the API takes 20 ms. The same stack with the cache and without, by turns; the
best of two runs counts, and every ratio is of times taken within one run.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console

from orchestrator.config.settings import load_settings
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from orchestrator.store import migrations
from tests.bench.installation import environment, wait_until
from tests.services.asking import Asking
from tests.services.demanding import NAMES, install, path_of, template
from tests.services.engine import running
from tests.services.http_api import HttpApi
from tests.services.servers import PostgresServer, RedisServer

RESULT: Final = Path("build") / "bench-constraints.json"
WORKERS: Final = 4
RUNS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a stack costs."""

    cache: bool
    n: int
    #: Of every answer of the API.
    latency_ms: float
    #: What the API was asked.
    requests: int
    #: From the job to the end of the stack, and until the first resource began: so long the whole stack is validated.
    seconds: float
    validation_seconds: float


class Bench:
    """Servers and an API, for one installation after the other."""

    def __init__(self, directory: Path, stack: ExitStack, latency_ms: float) -> None:
        """Start them; ``stack`` ends them."""
        self._directory = directory
        self._latency_ms = latency_ms
        self._api = stack.enter_context(HttpApi())
        self._redis = stack.enter_context(RedisServer.start())
        self._postgres = stack.enter_context(PostgresServer.start(durable=True))
        self._api.latency_seconds = latency_ms / 1000
        for name in NAMES:
            self._api.put(path_of(name))

    def run(self, size: int, *, cache: bool) -> Cost:
        """Create a stack on a fresh installation."""
        self._redis.flush()
        url = self._postgres.create_database()
        migrations.upgrade(url)
        asking = Asking(
            Path(tempfile.mkdtemp(dir=self._directory)) / "asking",
            clients={"http": {"base_url": self._api.url}},
            broker_url=self._redis.url,
            database_url=url,
            cache_backend="redis",
            cache_url=self._redis.url_of(1),
            constraint_cache={"enabled": cache, "expiration_seconds": 3_600},
        )
        asking.environment["ISOTHERM_LOG_LEVEL"] = "INFO"
        worker = asking.start("worker", "--concurrency", str(WORKERS))
        processes = [asking.start("coordinator", "--concurrency", "1"), worker]
        ours = {name: value for name, value in asking.environment.items() if name.startswith("ISOTHERM_")}
        with running(processes), environment(ours), Service.open(load_settings()) as service:
            self._to_its_end(service, "warm-up", 3)
            self._redis.client(1).flushdb()
            self._api.forget_requests()
            seconds, validation_seconds = self._to_its_end(service, "measured", size)
        return Cost(
            cache=cache,
            n=size,
            latency_ms=self._latency_ms,
            requests=self._api.count(),
            seconds=round(seconds, 2),
            validation_seconds=round(validation_seconds, 2),
        )

    def _to_its_end(self, service: Service, name: str, size: int) -> tuple[float, float]:
        started = time.perf_counter()
        stack = service.create(StackJob(name=name, template=template(size)))
        validated = time.perf_counter() - started
        wait_until(lambda: service.progress(stack.id).finished, pause_seconds=0.05)
        seconds = time.perf_counter() - started
        if (state := service.stack(stack.id).state) != "CREATE_COMPLETE":
            raise SystemExit(f"the stack ended {state}")
        return seconds, validated


def measure(sizes: Sequence[int], latency_ms: float) -> Iterator[Cost]:
    """Yield what each size costs with the cache and without."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="isotherm-bench-")))
        # Whoever hands a template in has to know the type too.
        sys.path.insert(0, str(install(directory / "site")))
        stack.enter_context(environment({"XDG_CACHE_HOME": str(directory / "cache")}))
        bench = Bench(directory, stack, latency_ms)
        for size in sizes:
            # By turns, so that whatever else the machine does falls on both.
            costs = [bench.run(size, cache=cache) for _ in range(RUNS) for cache in (True, False)]
            for cache in (True, False):
                yield min((cost for cost in costs if cost.cache is cache), key=lambda cost: cost.seconds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and keep the rows."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.constraints", description=__doc__)
    parser.add_argument("--sizes", default="1000", help="numbers of resources, with commas")
    parser.add_argument("--latency-ms", type=float, default=20.0, help="how long the API takes to answer")
    asked = parser.parse_args(arguments)
    say = partial(Console(highlight=False).print, soft_wrap=True)
    say("constraints: resources that share three names, with the cache and without")
    costs = []
    for cost in measure([int(size) for size in asked.sizes.split(",")], asked.latency_ms):
        costs.append(cost)
        say("  ".join(f"{key} {value}" for key, value in asdict(cost).items()))
    ratios = {
        cost.n: round(other.seconds / cost.seconds, 2)
        for cost, other in zip(costs[::2], costs[1::2], strict=True)
    }
    for size, ratio in ratios.items():
        say(f"n {size}: without the cache it takes {ratio} times as long")
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    rows = {"costs": [asdict(cost) for cost in costs], "ratios": ratios}
    RESULT.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
