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
from statistics import median

import psutil

from orchestrator.config.settings import load_settings
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from tests.bench.installation import servers, wait_for_all, wait_until, worker_and_coordinator
from tests.bench.passes import BATCH_SIZE, RUN_SIZE, passes
from tests.bench.shapes import SHAPES, template
from tests.keys import provided_keys
from tests.services.servers import PostgresServer

#: The file that the model reads.
COSTS = Path("build") / "costs.json"
COMMITS = 300
IDLE_SECONDS = 3.0
#: How long after the answer to a job the coordinator still publishes what is ready.
PUBLISHING_SECONDS = 1.0
ASKS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is run to find costs: stacks of one shape, and how many checks and links travel together at most."""

    shape: str
    size: int
    stacks: int = 1
    batch_size: int = BATCH_SIZE
    run_size: int = 1


#: Each is run on an installation of its own.
CASES = {
    # As many as the bench makes, so that PostgreSQL writes new files of its log here, too.
    "together": Case(shape="wide", size=10_000),
    "layers": Case(shape="layers", size=3000),
    "small": Case(shape="wide", size=32, stacks=30),
    "alone": Case(shape="wide", size=1000, batch_size=1),
    "chain": Case(shape="chain", size=1000),
    "in runs": Case(shape="chain", size=3000, run_size=RUN_SIZE),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Milliseconds of a processor, but for ``commit``."""

    #: For a resource: the client that submits the job, the coordinator that begins it, and PostgreSQL.
    submit: float
    begin: float
    rows: float
    #: The same three for each requirement of a resource.
    submit_requirement: float
    begin_requirement: float
    rows_requirement: float
    #: The same three for a stack, whatever its size; and workers, coordinator and PostgreSQL at its end.
    submit_stack: float
    begin_stack: float
    rows_stack: float
    end_worker: float
    end_coordinator: float
    end_rows: float
    #: The main process of a worker, for a message.
    dispatch: float
    #: A child process of a worker: for a message, a transaction, which claims or ends any number of nodes, a check, and
    #: a link that is created in a run.
    message: float
    transaction: float
    check: float
    link: float
    #: PostgreSQL, for the same transaction, check and link.
    postgres_transaction: float
    postgres_check: float
    postgres_link: float
    #: Redis, for a message.
    broker: float
    #: To ask once how far a stack is: the client, and PostgreSQL; and for each of its resources.
    ask: float
    ask_postgres: float
    ask_resource: float
    ask_resource_postgres: float
    #: How long a commit waits for the disk.
    commit: float
    #: All processes together, in each second in which nothing is to be done.
    idle: float


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
    rounded = {name: round(value, 4) for name, value in asdict(costs).items()}
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

    def slope(self, size: int, larger: "Used", larger_size: int) -> "Used":
        """Return what each of the further parts of something larger used."""
        return larger.since(self).times(1 / (larger_size - size))

    def times(self, factor: float) -> "Used":
        """Return all times, multiplied."""
        return Used(**{name: value * factor for name, value in asdict(self).items()})


@dataclass(frozen=True, slots=True)
class Run:
    """What a stack of a run used: until it had begun, and until it was complete; and to ask for it once.

    ``idle`` is what was used in a second before, and is left out of the others.
    """

    begun: Used
    checked: Used
    asked: Used
    idle: Used
    #: How long a commit waited for the disk.
    commit: float


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


def _run(case: Case) -> Run:
    """Make the stacks of a case on an installation of two worker processes."""
    sizes = {"ISOTHERM_BATCH_SIZE": str(case.batch_size), "ISOTHERM_RUN_SIZE": str(case.run_size)}
    with servers(sizes) as there:
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
                # Seldom: to ask costs the database as much as some checks.
                wait_until(lambda: service.stack(stack_id).status != "IN_PROGRESS", pause_seconds=0.5)

            wait_for_all(service, running)
            for number in range(3):
                wait_for(create(f"warm-up-{number}", "wide", 200))
            before = now()
            time.sleep(IDLE_SECONDS)
            idle = now().since(before).times(1 / IDLE_SECONDS)
            with _stopped(worker):
                before, started = now(), time.monotonic()
                ids = [create(f"measured-{number}", case.shape, case.size) for number in range(case.stacks)]
                time.sleep(PUBLISHING_SECONDS)
                begun = now()
                until_begun = begun.since(before, idle, time.monotonic() - started)
            started = time.monotonic()
            for stack_id in ids:
                wait_for(stack_id)
            complete = now()
            until_complete = complete.since(begun, idle, time.monotonic() - started)
            started = time.monotonic()
            for _ in range(ASKS):
                service.progress(ids[0])
            asked = now().since(complete, idle, time.monotonic() - started)
            part = 1 / case.stacks
            return Run(
                until_begun.times(part), until_complete.times(part), asked.times(1 / ASKS), idle, commit
            )


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
    """Run all of :data:`CASES`, and divide what they cost."""
    return divided({name: _run(case) for name, case in CASES.items()})


def divided(runs: Mapping[str, Run]) -> Costs:
    """Solve for the costs.

    Of resources without requirements, as many as travel together share a message and two transactions: one claims all
    of them, and one ends them. Each link of a chain has a transaction, and many share a message; those of a run share
    two, one of which reads them. What a small stack costs more than its resources and its message is for a stack.
    """
    sizes = {name: case.size for name, case in CASES.items()}
    together, alone, chain, in_runs = (
        runs[name].checked.times(1 / sizes[name]) for name in ("together", "alone", "chain", "in runs")
    )
    shared = 1 / CASES["together"].batch_size
    # A message and the two transactions of it.
    pair = max(0.0, (alone.children - together.children) / (1 - shared))
    check = max(0.0, together.children - pair * shared)
    # A link has one transaction, and its part of a message with one more.
    rare = 1 / sum(passes(1))
    transaction = min(pair / 2, max(0.0, (chain.children - check - pair * rare) / (1 - rare)))
    in_postgres = max(0.0, (chain.postgres - together.postgres) / (1 + rare - 2 * shared))
    postgres_check = max(0.0, together.postgres - 2 * shared * in_postgres)
    # The first of each pass is a check, and the others are links.
    of_a_message = passes(RUN_SIZE)
    links, checks = sum(of_a_message) - len(of_a_message), len(of_a_message)
    transactions = 1 + sum(2 if each > 1 else 1 for each in of_a_message)
    message = pair - 2 * transaction
    once = message + transactions * transaction + checks * check
    once_in_postgres = transactions * in_postgres + checks * postgres_check
    few, many = runs["small"], runs["together"]
    size, large = sizes["small"], sizes["together"]
    begun = few.begun.slope(size, many.begun, large)
    begun_stack = few.begun.since(begun.times(size))
    of_layers = sizes["layers"]
    required = sum(len(SHAPES["layers"](number, of_layers)) for number in range(of_layers))
    begun_layers = runs["layers"].begun.since(begun_stack).since(begun.times(of_layers)).times(1 / required)
    asked = few.asked.slope(size, many.asked, large)
    asked_stack = few.asked.since(asked.times(size))
    ended = few.checked.since(
        Used(children=pair + check * size, postgres=2 * in_postgres + postgres_check * size)
    )
    return Costs(
        submit=begun.client,
        begin=begun.coordinator,
        rows=begun.postgres,
        submit_requirement=begun_layers.client,
        begin_requirement=begun_layers.coordinator,
        rows_requirement=begun_layers.postgres,
        submit_stack=begun_stack.client,
        begin_stack=begun_stack.coordinator,
        rows_stack=begun_stack.postgres,
        end_worker=ended.children,
        end_coordinator=ended.coordinator,
        end_rows=ended.postgres,
        dispatch=alone.worker,
        message=message,
        transaction=transaction,
        check=check,
        link=max(0.0, (in_runs.children * sum(of_a_message) - once) / links),
        postgres_transaction=in_postgres,
        postgres_check=postgres_check,
        postgres_link=max(0.0, (in_runs.postgres * sum(of_a_message) - once_in_postgres) / links),
        broker=alone.redis + runs["alone"].begun.redis / sizes["alone"],
        ask=asked_stack.client,
        ask_postgres=asked_stack.postgres,
        ask_resource=asked.client,
        ask_resource_postgres=asked.postgres,
        commit=median(run.commit for run in runs.values()),
        idle=median(sum(asdict(run.idle).values()) for run in runs.values()),
    )


def main() -> None:
    """Measure, and write the file."""
    keep(measure())
    print(COSTS.read_text())


if __name__ == "__main__":
    with provided_keys():
        main()
