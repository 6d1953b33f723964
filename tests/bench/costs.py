"""Costs of the parts of an installation, measured for the model: ``python -m tests.bench.costs`` writes them to a file.

They are processor times of processes, counts, and the time that a commit waits for the disk; none of them is a rate. So
what the model predicts from them can be compared with rates that were measured apart from it.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from orchestrator.config.settings import load_settings
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from orchestrator.store import migrations
from tests.bench.installation import CONCURRENCY, environment, isotherm, processes, wait_until
from tests.bench.shapes import template
from tests.keys import provided_keys
from tests.services.servers import PostgresServer, RedisServer

#: The file that the model reads.
COSTS = Path("build") / "costs.json"
#: Every resource of the one is a message; of the other one in sixteen is.
SIZES = {"wide": 1000, "chain": 500}
COMMITS = 300
IDLE_SECONDS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Milliseconds of a processor, but for the last."""

    #: A coordinator: to plan and begin a resource, and to publish one that is ready.
    begin: float
    publish: float
    #: The main process of a worker, for a message.
    dispatch: float
    #: A child process of a worker: for a message, and for a check.
    message: float
    check: float
    #: PostgreSQL: for a check, which has two transactions, and besides for each resource.
    transactions: float
    rows: float
    #: Redis, for a message.
    broker: float
    #: How long a commit waits for the disk.
    commit: float


def load(file: Path = COSTS) -> Costs:
    """Return the costs in a file.

    Raises:
        FileNotFoundError: they are not measured yet.
    """
    if not file.exists():
        raise FileNotFoundError(f"there is no {file}: run python -m tests.bench.costs, on a quiet machine")
    return Costs(**json.loads(file.read_text()))


def keep(costs: Costs, file: Path = COSTS) -> None:
    """Write costs to a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    rounded = {name: round(value, 3) for name, value in asdict(costs).items()}
    file.write_text(json.dumps(rounded, indent=1) + "\n")


@dataclass(slots=True)
class _Used:
    """Processor time of the parts so far, in milliseconds."""

    worker: float
    children: float
    coordinator: float
    postgres: float
    redis: float

    def since(self, before: "_Used", idle: "_Used", seconds: float) -> "_Used":
        return _Used(
            **{
                name: max(0.0, value - asdict(before)[name] - asdict(idle)[name] * seconds)
                for name, value in asdict(self).items()
            }
        )


def _milliseconds(each: psutil.Process) -> float:
    times = each.cpu_times()
    return 1000 * (times.user + times.system)


def _tree(root: psutil.Process) -> float:
    return sum(map(_milliseconds, (root, *root.children(recursive=True))))


def _working(service: Service) -> set[str]:
    """Return the kinds of the processes that take work."""
    return {each.kind for each in service.observer.processes() if each.state == "present"}


def _commit_ms(postgres: PostgresServer) -> float:
    """Return how much longer a commit takes that waits for the disk than one that does not."""
    with postgres.connect() as connection:
        connection.execute("CREATE TABLE written (at integer)")
        taken = []
        for waits in ("off", "on"):
            connection.execute(f"SET synchronous_commit = {waits}")
            started = time.perf_counter()
            for number in range(COMMITS):
                connection.execute("INSERT INTO written VALUES (%s)", [number])
            taken.append(time.perf_counter() - started)
    return max(0.0, 1000 * (taken[1] - taken[0]) / COMMITS)


@contextmanager
def _installation() -> Iterator[tuple[PostgresServer, dict[str, str]]]:
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
        }
        with environment(values):
            migrations.upgrade(url)
            yield postgres, {"log": f"{directory}/log", "redis": str(redis.pid)}


def measure() -> Costs:
    """Run both shapes on an installation of two worker processes, and divide what they cost."""
    used: dict[str, _Used] = {}
    with _installation() as (postgres, places):
        commit = _commit_ms(postgres)
        commands = isotherm("worker", "--concurrency", str(CONCURRENCY)), isotherm("coordinator")
        with (
            processes(*commands, log=Path(places["log"])) as running,
            Service.open(load_settings()) as service,
        ):
            worker, coordinator = running.roots

            def now() -> _Used:
                main = _milliseconds(worker)
                return _Used(
                    main,
                    _tree(worker) - main,
                    _tree(coordinator),
                    _tree(psutil.Process(postgres.pid)),
                    _milliseconds(psutil.Process(int(places["redis"]))),
                )

            def run(shape: str, size: int, name: str) -> None:
                stack = service.create(StackJob(name=name, template=template(shape, size)))
                wait_until(lambda: service.stack(stack.id).status != "IN_PROGRESS", pause_seconds=0.05)

            wait_until(lambda: len(_working(service)) == len(running.roots))
            run("wide", 50, "warm-up")
            before = now()
            time.sleep(IDLE_SECONDS)
            idle = now().since(before, _Used(0, 0, 0, 0, 0), 0)
            idle = _Used(**{name: value / IDLE_SECONDS for name, value in asdict(idle).items()})
            for shape, size in SIZES.items():
                before, started = now(), time.monotonic()
                run(shape, size, shape)
                used[shape] = now().since(before, idle, time.monotonic() - started)
    return _divided(used["wide"], used["chain"], commit)


def _divided(wide: _Used, chain: _Used, commit: float) -> Costs:
    """Solve for the costs: wide has a message for each resource, chain one for sixteen."""
    wides, chains, few = SIZES["wide"], SIZES["chain"], 1 / 16
    each = {name: value / wides for name, value in asdict(wide).items()}
    rare = {name: value / chains for name, value in asdict(chain).items()}
    message = max(0.0, (each["children"] - rare["children"]) / (1 - few))
    return Costs(
        begin=min(each["coordinator"], rare["coordinator"]),
        publish=max(0.0, each["coordinator"] - rare["coordinator"]),
        dispatch=each["worker"],
        message=message,
        check=max(each["children"] - message, 0.0),
        transactions=min(each["postgres"], rare["postgres"]),
        rows=max(0.0, each["postgres"] - rare["postgres"]),
        broker=each["redis"],
        commit=commit,
    )


def main() -> None:
    """Measure, and write the file."""
    keep(measure())
    print(COSTS.read_text())


if __name__ == "__main__":
    with provided_keys():
        main()
