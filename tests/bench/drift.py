"""What observations cost: processor time, statements, messages and requests, as counts and for a whole installation.

Run as ``python -m tests.bench.drift``; ``--stacks 10000`` for the size of the requirement. All in one process, with a
publisher that only counts, so that nothing but the observation itself is measured.
"""

import argparse
import json
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import psutil
import sqlalchemy as sa
from rich.console import Console

from orchestrator.config.settings import Settings
from orchestrator.engine.coordinator import Coordinator
from orchestrator.engine.drift import PORTION, DriftKeeper
from orchestrator.model.check_batch import batches_of
from orchestrator.model.messages import END, CheckOrder, StackJob
from orchestrator.model.observation_policy import ObservationPolicy
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import CannotTell
from orchestrator.store import migrations
from orchestrator.store.store import Store
from tests.bench.copies import copy_stack
from tests.counting import count_statements
from tests.services.servers import PostgresServer
from workers.check.checker import Checker

RESULT: Final = Path("build") / "bench-drift.json"
#: The requirement: so many stacks within so many seconds.
STACKS, INTERVAL_SECONDS = 10_000, 900.0
#: Nothing becomes due by itself while it is measured.
POLICY: Final = ObservationPolicy(mode="detect", interval_seconds=7 * 86_400.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What the observation of each of some stacks once costs."""

    database: str
    stacks: int
    resources: int
    #: The share of stacks that had drift on record already.
    drifted: float
    ms_of_a_stack: float
    statements_of_a_stack: float
    messages_of_a_stack: float
    requests_of_a_stack: float
    #: The processor time of the requirement, as a share of one core.
    share_of_a_core: float


class Bench:
    """The engine in this process, with all that it sends and asks counted."""

    def __init__(self, url: str) -> None:
        migrations.upgrade(url)
        self.store = Store(url)
        self.counts: Counter[str] = Counter()
        self.waiting: deque[Sequence[CheckOrder]] = deque()
        self.sizes: dict[str, str] = {}
        types: Mapping[str, type[Resource]] = {"Bench::Object": _type(self)}
        settings = Settings()
        self._size = settings.batch_size
        self.coordinator = Coordinator(
            store=self.store, types=types, settings=settings, publisher=self, name="bench"
        )
        self.checker = Checker(
            store=self.store,
            types=types,
            settings=settings,
            publisher=self,
            worker="bench",
            coordinator=self.coordinator,
        )
        self.keeper: DriftKeeper = self.coordinator._drift

        count_statements(lambda: self.counts.update(statements=1))

    def publish(self, orders: Sequence[CheckOrder]) -> None:
        """Keep the messages."""
        for batch in batches_of(orders, self._size):
            self.counts["messages"] += 1
            self.waiting.append(batch)

    def backlog(self) -> int:
        """Return 0: no other checks wait."""
        return 0

    def carry_out(self) -> None:
        """Carry out all messages."""
        while self.waiting:
            batch = self.waiting.popleft()
            if batch[0].phase == END:
                self.coordinator.finish(batch[0])
            else:
                self.checker.check(batch)

    def create(self, stacks: int, resources: int) -> None:
        """Create a stack by the engine, and copies of it."""
        lines = [
            "heat_template_version: 2021-04-16",
            "resources:",
            *(f"  r{no}: {{type: 'Bench::Object', properties: {{size: s}}}}" for no in range(resources)),
        ]
        template = "\n".join([*lines, ""])
        first, *others = (f"stack-{no:06}" for no in range(stacks))
        stack_id = self.coordinator.create(StackJob(name=first, template=template, job_id="j"))
        self.carry_out()
        self.store.observation_turns.set_policy(stack_id, POLICY, due_at=0.0)
        copy_stack(self.store, stack_id, first, others)

    def change_one_of_each(self) -> None:
        """Change one object of each stack behind the engine's back."""
        sql = sa.text("SELECT min(physical_id) FROM resource GROUP BY stack_id")
        self.sizes |= dict.fromkeys((str(row[0]) for row in self.store.database.rows(sql)), "l")

    def observe(self, most: int = 1_000_000) -> None:
        """Observe all stacks once, or at most so many, each however soon after the last time."""
        table = self.store.observation_turns
        some = "(SELECT stack_id FROM observation ORDER BY stack_id LIMIT :most)"
        with self.store.database.write() as connection:
            connection.execute(sa.text("UPDATE observation SET due_at = NULL"))
            due = sa.text(f"UPDATE observation SET due_at = 0 WHERE stack_id IN {some}")
            connection.execute(due, {"most": most})
        self.counts.clear()
        while table.is_due():
            self.keeper.begin_due()
            self.carry_out()


def _type(bench: Bench) -> type[Resource]:
    class Object(Resource):
        """An object whose system can be asked for many at once."""

        properties_schema: ClassVar[Mapping[str, Property]] = {
            "size": Property(type=PropertyType.STRING, update_allowed=True)
        }

        def handle_create(self) -> None:
            self.state.physical_id = self.state.uuid

        @classmethod
        def observe_all(
            cls, resources: Sequence[Resource]
        ) -> list[Mapping[str, Any] | CannotTell | Exception | None]:
            bench.counts["requests"] += 1
            return [{"size": bench.sizes.get(str(each.state.physical_id), "s")} for each in resources]

    return Object


def measure(
    url: str, stacks: int, resources: int, *, of_server: Callable[[], float] = lambda: 0.0
) -> list[Cost]:
    """Return what observations cost without drift, and with drift in each stack that is known already.

    ``of_server`` returns the processor time of the database's server so far, in seconds.
    """
    bench = Bench(url)
    costs = []
    with closing(bench.store), closing(bench.checker):
        bench.create(stacks, resources)
        # What is loaded once, and statements that are compiled once.
        bench.observe(PORTION)
        for drifted in (False, True):
            if drifted:
                bench.change_one_of_each()
                bench.observe()
            begun = time.process_time() + of_server()
            bench.observe()
            seconds = time.process_time() + of_server() - begun
            costs.append(
                Cost(
                    database=bench.store.database.url.get_backend_name(),
                    stacks=stacks,
                    resources=resources,
                    drifted=float(drifted),
                    ms_of_a_stack=1000 * seconds / stacks,
                    statements_of_a_stack=bench.counts["statements"] / stacks,
                    messages_of_a_stack=bench.counts["messages"] / stacks,
                    requests_of_a_stack=bench.counts["requests"] / stacks,
                    share_of_a_core=seconds / stacks * STACKS / INTERVAL_SECONDS,
                )
            )
    return costs


def _processor_seconds(pid: int) -> float:
    """Return the processor time of a process and of all that it started."""
    server = psutil.Process(pid)
    return sum(sum(each.cpu_times()[:4]) for each in (server, *server.children()))


def _a_second(of_a_stack: float) -> str:
    return f"{of_a_stack * STACKS / INTERVAL_SECONDS:.1f}"


def main() -> None:
    """Measure, show and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stacks", type=int, default=200)
    parser.add_argument("--resources", type=int, default=10)
    parser.add_argument("--database", help="the URL of an empty database; by default a file")
    parser.add_argument(
        "--postgres", action="store_true", help="on a server of its own, whose processor time counts as well"
    )
    given = parser.parse_args()
    with ExitStack() as running:
        directory = running.enter_context(tempfile.TemporaryDirectory())
        url, of_server = given.database or f"sqlite:///{directory}/bench.db", lambda: 0.0
        if given.postgres:
            server = running.enter_context(PostgresServer.start(durable=True))
            url, of_server = server.create_database(), partial(_processor_seconds, server.pid)
        costs = measure(url, given.stacks, given.resources, of_server=of_server)
    for cost in costs:
        Console().print(
            f"{cost.database}, {cost.stacks} stacks of {cost.resources}, "
            f"{'drift in each' if cost.drifted else 'no drift'}: {cost.ms_of_a_stack:.1f} ms, "
            f"{cost.statements_of_a_stack:.2f} statements, {cost.messages_of_a_stack:.3f} messages, "
            f"{cost.requests_of_a_stack:.2f} requests a stack; {STACKS} stacks every {INTERVAL_SECONDS:g} s take "
            f"{cost.share_of_a_core:.1%} of a core, and a second {_a_second(cost.statements_of_a_stack)} statements, "
            f"{_a_second(cost.messages_of_a_stack)} messages and {_a_second(cost.requests_of_a_stack)} requests"
        )
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps([asdict(cost) for cost in costs], indent=2) + "\n")


if __name__ == "__main__":
    main()
