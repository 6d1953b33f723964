"""What an update of one resource costs beside what cannot be saved: to read the new template and to plan.

Run as ``python -m tests.bench.update``, or by ``make bench``. In one process and on one database, as embedded mode
has it; with ``--database`` on another one, for example PostgreSQL. Every ratio is of times taken within one run.
"""

import argparse
import gc
import json
import statistics
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console

from orchestrator.config.settings import load_settings
from orchestrator.model.messages import StackJob
from orchestrator.model.plan import plan_update
from orchestrator.planning.comparing import compare
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.service import Service
from orchestrator.store.store import Store
from tests.bench.shapes import SHAPES

RESULT: Final = Path("build") / "bench-update.json"
#: The best of so many runs counts, each with the garbage of the one before collected.
RUNS: Final = 5
#: How many updates follow each other, and how many of the first and of the last are compared.
SUCCESSIVE, COMPARED = 100, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What updates of one stack cost."""

    shape: str
    n: int
    database: str
    #: Seconds to read the new template once, and to plan.
    load_and_plan: float
    #: Seconds of the whole update, from the job to its end.
    update: float
    ratio: float
    #: The same ratio of processor time, which other work of the machine does not touch.
    cpu_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ageing:
    """What the last of many updates costs beside the first."""

    n: int
    database: str
    #: Seconds, in the median.
    first: float
    last: float
    ratio: float
    #: As above.
    cpu_ratio: float


def changed(shape: str, size: int, value: int) -> str:
    """Return a template of ``size`` values in a shape; the last, on which nothing depends, is ``value``."""
    requires = SHAPES[shape]
    lines = ["heat_template_version: 2021-04-16", "resources:"]
    for number in range(size):
        others = ", ".join(f"r{other}" for other in requires(number, size))
        said = value if number == size - 1 else number
        depends = f", depends_on: [{others}]" if others else ""
        lines.append(f"  r{number}: {{type: 'OS::Heat::Value', properties: {{value: 'v{said}'}}{depends}}}")
    return "\n".join([*lines, ""])


class Took(NamedTuple):
    """How long something took, in seconds."""

    wall: float
    cpu: float


@contextmanager
def taking(took: list[Took]) -> Iterator[None]:
    """Add how long the body takes, the garbage of what was before it collected."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    took.append(Took(wall=time.perf_counter() - wall, cpu=time.process_time() - cpu))


class Stack:
    """A stack that is updated again and again."""

    def __init__(self, service: Service, store: Store, shape: str, size: int) -> None:
        """Make it."""
        self._service, self._store, self._shape, self._size = service, store, shape, size
        self._name = f"{shape}-{size}-{uuid.uuid4().hex[:6]}"
        self._value = size
        self._to_its_end(service.create(self._next()).id, "CREATE_COMPLETE")

    def update(self, took: list[Took]) -> None:
        """Change one resource."""
        job = self._next()
        with taking(took):
            self._to_its_end(self._service.update(job).id, "UPDATE_COMPLETE")

    def load_and_plan(self, took: list[Took]) -> None:
        """Read a new template once and plan its update; nothing is changed."""
        job, types, settings = self._next(), ResourceTypes.load(), self._service.settings
        with taking(took):
            stack = self._store.stacks.find(self._name, project=settings.project)
            compared = compare(self._store, stack, job, types, settings)
            plan_update(compared.desired_resources, compared.matches, ())

    def _next(self) -> StackJob:
        self._value += 1
        return StackJob(name=self._name, template=changed(self._shape, self._size, self._value))

    def _to_its_end(self, stack_id: str, state: str) -> None:
        for progress in self._service.watch(stack_id, interval_seconds=0.005):
            seen = progress.stack.state
        if seen != state:
            raise SystemExit(f"the stack ended {seen}")


def cost(service: Service, store: Store, shape: str, size: int) -> Cost:
    """Measure what the update of one resource costs."""
    stack = Stack(service, store, shape, size)
    stack.update([])
    planned, updated = list[Took](), list[Took]()
    for _ in range(RUNS):
        # By turns, so that whatever else the machine does falls on both.
        stack.load_and_plan(planned)
        stack.update(updated)
    least, most = min(each.wall for each in planned), min(each.wall for each in updated)
    cpu = min(each.cpu for each in updated) / min(each.cpu for each in planned)
    return Cost(
        shape=shape,
        n=size,
        database=store.database.url.get_backend_name(),
        load_and_plan=round(least, 4),
        update=round(most, 4),
        ratio=round(most / least, 2),
        cpu_ratio=round(cpu, 2),
    )


def ageing(service: Service, store: Store, size: int) -> Ageing:
    """Measure whether an update becomes dearer the more of them there were."""
    stack = Stack(service, store, "layers", size)
    took = list[Took]()
    for _ in range(SUCCESSIVE):
        stack.update(took)
    first, last = took[:COMPARED], took[-COMPARED:]
    wall = [statistics.median(each.wall for each in times) for times in (first, last)]
    cpu = [statistics.median(each.cpu for each in times) for times in (first, last)]
    return Ageing(
        n=size,
        database=store.database.url.get_backend_name(),
        first=round(wall[0], 4),
        last=round(wall[1], 4),
        ratio=round(wall[1] / wall[0], 2),
        cpu_ratio=round(cpu[1] / cpu[0], 2),
    )


def measure(database: str, sizes: Sequence[int], shapes: Sequence[str]) -> Iterator[Cost | Ageing]:
    """Yield what was measured on one database; an empty URL is a new SQLite file."""
    with tempfile.TemporaryDirectory(prefix="isotherm-bench-") as directory:
        given = {"database_url": database} if database else {}
        settings = load_settings(log_level="WARNING", state_directory=directory, **given)
        store = Store.of(settings)
        with closing(store), Service.open(settings) as service:
            for size in sizes:
                for shape in shapes:
                    yield cost(service, store, shape, size)
            yield ageing(service, store, min(1000, *sizes))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and keep the rows."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.update", description=__doc__)
    parser.add_argument("--sizes", default="10000", help="numbers of resources, with commas")
    parser.add_argument("--shapes", default="wide,layers", help="which shapes, with commas")
    parser.add_argument("--database", default="", help="the URL of an empty database; SQLite if not given")
    asked = parser.parse_args(arguments)
    say = Console(highlight=False).print
    rows = []
    say("update: one resource of many, beside reading the new template and planning")
    for row in measure(
        asked.database, [int(size) for size in asked.sizes.split(",")], asked.shapes.split(",")
    ):
        rows.append(asdict(row))
        say("  ".join(f"{key} {value}" for key, value in rows[-1].items()))
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
