"""Costs of the parts of an installation, measured for the model: ``python -m tests.bench.costs`` writes them to a file.

They are processor times of processes, counts, and the time that a commit waits for the disk; none of them is a rate. So
what the model predicts from them can be compared with rates that were measured apart from it.
"""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from orchestrator.config.settings import load_settings
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from tests.bench.installation import servers, wait_for_all, wait_until, worker_and_coordinator
from tests.bench.shapes import template
from tests.keys import provided_keys
from tests.services.servers import PostgresServer
from workers.check.checker import CARRY_ON, LINKS

#: The file that the model reads.
COSTS = Path("build") / "costs.json"
#: The runs: a name, the shape, the size, and how many checks travel together at most.
RUNS = (("together", "wide", 3200, 32), ("alone", "wide", 1000, 1), ("chain", "chain", 1000, 32))
#: How many links of a chain are carried out for one message, see :meth:`workers.check.checker.Checker.check`.
LINKS_OF_A_MESSAGE = (CARRY_ON - 1) * LINKS + 1
COMMITS = 300
IDLE_SECONDS = 3.0
#: How long after the answer to a job the coordinator still publishes what is ready.
PUBLISHING_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Milliseconds of a processor, but for the last."""

    #: For a resource: the client that submits the job, the coordinator that begins it, and PostgreSQL.
    submit: float
    begin: float
    rows: float
    #: The main process of a worker, for a message.
    dispatch: float
    #: A child process of a worker: for a message, a transaction, which claims or ends any number of nodes, and a check.
    message: float
    transaction: float
    check: float
    #: PostgreSQL, for the same transaction and check.
    postgres_transaction: float
    postgres_check: float
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


@dataclass(frozen=True, slots=True)
class Used:
    """Processor time of the parts, in milliseconds."""

    client: float = 0.0
    worker: float = 0.0
    children: float = 0.0
    coordinator: float = 0.0
    postgres: float = 0.0
    redis: float = 0.0

    def since(self, before: "Used", idle: "Used | None" = None, seconds: float = 0.0) -> "Used":
        """Return what was used since then, without what the parts use in that time when nothing is to be done."""
        nothing = asdict(idle or Used())
        return Used(
            **{
                name: max(0.0, value - asdict(before)[name] - nothing[name] * seconds)
                for name, value in asdict(self).items()
            }
        )

    def times(self, factor: float) -> "Used":
        """Return all times, multiplied."""
        return Used(**{name: value * factor for name, value in asdict(self).items()})


@dataclass(frozen=True, slots=True)
class Run:
    """What a resource of a run used: until its stack had begun, and until it was complete."""

    begun: Used
    checked: Used


def milliseconds(each: psutil.Process) -> float:
    """Return the processor time of a process so far."""
    times = each.cpu_times()
    return 1000 * (times.user + times.system)


def tree_milliseconds(root: psutil.Process) -> float:
    """Return the processor time of a process and of all that it has started."""
    return sum(map(milliseconds, (root, *root.children(recursive=True))))


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


def _run(shape: str, size: int, most: int) -> tuple[Run, float]:
    """Make a stack on an installation of two worker processes; return what a resource used, and a commit's wait."""
    with servers({"ISOTHERM_BATCH_SIZE": str(most), "ISOTHERM_RUN_SIZE": "1"}) as there:
        commit = _commit_ms(there.postgres)
        with (
            worker_and_coordinator(there.directory) as running,
            Service.open(load_settings()) as service,
        ):
            worker, coordinator = running.roots

            def now() -> Used:
                main = milliseconds(worker)
                return Used(
                    milliseconds(psutil.Process()),
                    main,
                    tree_milliseconds(worker) - main,
                    tree_milliseconds(coordinator),
                    tree_milliseconds(psutil.Process(there.postgres.pid)),
                    milliseconds(psutil.Process(there.redis.pid)),
                )

            def create(name: str, shape: str, size: int) -> str:
                return service.create(StackJob(name=name, template=template(shape, size))).id

            def wait_for(stack_id: str) -> None:
                wait_until(lambda: service.stack(stack_id).status != "IN_PROGRESS", pause_seconds=0.05)

            wait_for_all(service, running)
            wait_for(create("warm-up", "wide", 200))
            before = now()
            time.sleep(IDLE_SECONDS)
            idle = now().since(before).times(1 / IDLE_SECONDS)
            with _stopped(worker):
                before, started = now(), time.monotonic()
                stack_id = create("measured", shape, size)
                time.sleep(PUBLISHING_SECONDS)
                begun = now()
                until_begun = begun.since(before, idle, time.monotonic() - started)
            started = time.monotonic()
            wait_for(stack_id)
            until_complete = now().since(begun, idle, time.monotonic() - started)
            return Run(until_begun.times(1 / size), until_complete.times(1 / size)), commit


@contextmanager
def _stopped(worker: psutil.Process) -> Iterator[None]:
    """Keep the processes of a worker from everything for a while."""
    all_of_it = (worker, *worker.children(recursive=True))
    for each in all_of_it:
        each.suspend()
    try:
        yield
    finally:
        for each in all_of_it:
            each.resume()


def measure() -> Costs:
    """Run all of :data:`RUNS`, each on an installation of its own, and divide what they cost."""
    found = {name: _run(shape, size, most) for name, shape, size, most in RUNS}
    return divided(
        {name: run for name, (run, _) in found.items()}, max(commit for _, commit in found.values())
    )


def divided(runs: Mapping[str, Run], commit: float) -> Costs:
    """Solve for the costs.

    Of resources without requirements, as many as travel together share a message and two transactions: one claims all
    of them, and one ends them. Each link of a chain has a transaction, and many share a message.
    """
    most = {name: together for name, _, _, together in RUNS}
    messages = {
        "together": 1 / most["together"],
        "alone": 1 / most["alone"],
        "chain": 1 / LINKS_OF_A_MESSAGE,
    }
    together, alone, chain = (runs[name].checked for name in ("together", "alone", "chain"))
    shared = messages["together"]
    # A message and the two transactions of it.
    pair = max(0.0, (alone.children - together.children) / (messages["alone"] - shared))
    check = max(0.0, together.children - pair * shared)
    # A link has one transaction, and its part of a message with one more.
    rare = messages["chain"]
    transaction = min(pair / 2, max(0.0, (chain.children - check - pair * rare) / (1 - rare)))
    in_postgres = max(0.0, (chain.postgres - together.postgres) / (1 + rare - 2 * shared))
    begun = runs["together"].begun
    return Costs(
        submit=begun.client,
        begin=begun.coordinator,
        rows=begun.postgres,
        dispatch=alone.worker,
        message=pair - 2 * transaction,
        transaction=transaction,
        check=check,
        postgres_transaction=in_postgres,
        postgres_check=max(0.0, together.postgres - 2 * shared * in_postgres),
        broker=alone.redis + runs["alone"].begun.redis,
        commit=commit,
    )


def main() -> None:
    """Measure, and write the file."""
    keep(measure())
    print(COSTS.read_text())


if __name__ == "__main__":
    with provided_keys():
        main()
