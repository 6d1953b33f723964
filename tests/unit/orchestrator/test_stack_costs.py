"""Counts of what a coordinator does for a small stack besides its checks; a change that adds to them raises a bound.

All is counted for one stack of ten resources in layers, on PostgreSQL: what arrives is recorded, begun, and ended. The
counts do not depend on how busy the machine is. ``python -m tests.bench.many`` measures the times.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from celery import Celery
from kombu.transport.memory import Channel

from orchestrator import tasks
from orchestrator.config.settings import Settings
from orchestrator.keys.key import JOB
from orchestrator.model.messages import END, CheckOrder, StackJob
from orchestrator.processes.runtime import Runtime
from orchestrator.queue.celery_app import make_app
from orchestrator.queue.job_slots import JobSlots
from orchestrator.store import migrations
from tests.bench.shapes import template
from tests.counting import calls, statements
from tests.services.servers import PostgresServer

#: The most statements, and calls of Python's functions (3.11): the counts, or a little more where runs differ.
BOUNDS: Final[Mapping[str, tuple[int, int]]] = {"accept": (11, 6100), "begin": (14, 12200), "end": (7, 1250)}
#: How many stacks are made before one is counted.
WARM: Final = 33
#: A bound that is so far above its count guards nothing.
LOOSE: Final = 0.8


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Iterator[Celery]:
    """The app of the tasks, with a broker in memory, which all apps of a process share."""
    Channel.queues.clear()
    with make_app(Settings(broker_url="memory://")) as app:
        monkeypatch.setattr(tasks, "default_app", lambda: app)
        monkeypatch.setattr(tasks, "_turns", tasks._Turns())
        monkeypatch.setattr(tasks, "job_slots", JobSlots())
        yield app
        Channel.queues.clear()


class Noted:
    """Keeps the orders that are published; sending them is counted with the checks."""

    def __init__(self) -> None:
        self.orders: list[CheckOrder] = []

    def publish(self, orders: Sequence[CheckOrder]) -> list[tuple[CheckOrder, str]]:
        self.orders += orders
        return []

    def backlog(self) -> int | None:
        return None


@pytest.fixture
def published() -> Noted:
    """The orders that were published."""
    return Noted()


@pytest.fixture
def runtime(
    published: Noted, tmp_path: Path, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Runtime]:
    """This process's share of the engine."""
    settings = Settings(state_directory=tmp_path, database_url=postgres_server.create_database())
    migrations.upgrade(settings.effective_database_url)
    runtime = Runtime(settings, published, kind="coordinator")
    monkeypatch.setattr(tasks, "runtime", lambda: runtime)
    yield runtime
    runtime.close()


def cost(act: Callable[[], object]) -> tuple[int, int]:
    """Return how many statements and calls something takes; COPY is none of the statements."""
    with statements() as sent:
        called = calls(act)
    return len(sent), called


def carry_out(app: Any, runtime: Runtime, published: Noted, name: str) -> dict[str, tuple[int, int]]:
    """Make a stack as a coordinator and its worker do; return what each part costs the coordinator."""
    ring = app.keys()
    key = next(key for key in ring if key.use == JOB and not key.user)
    job = StackJob(name=name, template=template("layers", 10), job_id=name).to_wire()
    costs = {
        "accept": cost(lambda: tasks.accept(StackJob.task, job, signed_by=key.id)),
        "begin": cost(tasks.begin_next),
    }
    while published.orders[-1].phase != END:
        orders, published.orders = published.orders, []
        runtime.checker.check(orders)
    end = published.orders.pop()
    costs["end"] = cost(lambda: tasks.finish_traversal(end.to_wire()))
    assert runtime.store.stacks.find(name, project="default").status == "COMPLETE"
    return costs


def test_a_small_stack_costs_a_coordinator_what_the_table_says(
    app: Any, runtime: Runtime, published: Noted
) -> None:
    # They fill caches, such as that of statements, which are prepared when they are run for the sixth time; and a
    # dataclass compiles its initializer at its 33rd instance.
    for number in range(WARM):
        carry_out(app, runtime, published, f"warm{number}")
    costs = carry_out(app, runtime, published, "counted")
    cells = [
        (name, count, most)
        for name, bounds in BOUNDS.items()
        for count, most in zip(costs[name], bounds, strict=True)
    ]
    assert [cell for cell in cells if cell[1] > cell[2]] == [], str(costs)
    assert [cell for cell in cells if cell[1] < LOOSE * cell[2]] == [], "lower these bounds"
