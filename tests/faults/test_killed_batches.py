"""Processes are killed, and the broker emptied, exactly in the middle of a batch or a run: nothing lost, nothing twice.

What there is, and how often each step was taken, is counted outside of the database (``kept.py``); where a process
stands when it is killed is no matter of time (``stops.py``).
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from orchestrator.model.messages import StackJob
from orchestrator.queue.celery_app import make_app, send_job
from orchestrator.store import migrations
from orchestrator.views.stacks import StackView
from tests.bench.shapes import SHAPES
from tests.faults import kept, stops
from tests.faults.history import assert_made_once_and_in_order
from tests.faults.installation import LOOK_SECONDS, Installation
from tests.faults.kept import Outside, Requires
from tests.faults.standing import Points, Stop
from tests.faults.stops import (
    CLAIMED,
    COMPLETE,
    ENDED,
    HALF,
    LAST,
    RUN_ENDED,
    RUN_HALF,
    RUN_TAKEN,
    TAKEN,
)
from tests.services.engine import EngineProcess, running
from tests.services.servers import RedisServer
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
#: Many, as many as a few batches of each process are, and the links of a chain.
MANY, SOME, LINKS = 2000, 320, 500
#: Where a process can be in the middle of a batch.
IN_BATCH = (CLAIMED, HALF, TAKEN, ENDED)
IN_RUN = (RUN_HALF, RUN_TAKEN, RUN_ENDED)


class Scene:
    """A coordinator and a worker of two processes whose steps are counted, and the points at which they stop."""

    def __init__(self, installation: Installation, outside: Outside, points: Points) -> None:
        self.installation, self.outside, self.points = installation, outside, points
        self.killed: list[Stop] = []
        self._workers = 0

    @property
    def batch_size(self) -> int:
        return self.installation.settings.batch_size

    @property
    def run_size(self) -> int:
        return self.installation.settings.run_size

    def start_worker(self) -> EngineProcess:
        """Start a worker of two processes, and return it when it takes work."""
        self._workers += 1
        words = ("worker", "--name", f"w{self._workers}", "--concurrency", "2")
        engine = EngineProcess(self.installation._start(*words))
        self.installation.engines.append(engine)
        engine.wait_until_ready()
        return engine

    def create(self, template: str, name: str) -> StackView:
        """Put a job into the queue, and return the stack that becomes of it."""
        with make_app(self.installation.settings) as app:
            send_job(app, StackJob(name=name, template=template), stack=name)

        def begun() -> StackView | None:
            stacks = self.installation.service.stacks()
            return next((stack for stack in stacks if stack.name == name), None)

        return until(begun, pause_seconds=LOOK_SECONDS)

    def kill(self, stop: Stop) -> None:
        """Kill a process that stands somewhere."""
        self._note_death(stop)
        stop.kill()

    def kill_worker_of(self, both: Sequence[Stop]) -> None:
        """Kill the parent of both processes, which stand somewhere: they die with it."""
        worker = self.installation.engines[-1]
        assert {stop.parent for stop in both} == {worker.process.pid}
        for stop in both:
            self._note_death(stop)
        children = worker.kill_alone()
        assert {stop.pid for stop in both} <= {child.pid for child in children}
        worker.wait()
        _, alive = psutil.wait_procs(children, PATIENCE_SECONDS)
        assert alive == []

    def _note_death(self, stop: Stop) -> None:
        """Check before a process is killed that what is lost with it is at most one batch."""
        running = f"SELECT no FROM node WHERE state = 'running' AND worker LIKE '%:{stop.pid}:%'"
        assert len(self.installation.rows(running)) <= self.batch_size
        assert stop.size <= max(self.batch_size, self.run_size)
        self.killed.append(stop)

    def lost(self) -> list[tuple[str, str]]:
        """Return the resources and processes of all attempts that were ever lost."""
        return self.installation.rows("SELECT resource, worker FROM event WHERE cause = 'lost'")

    def again(self, what: str) -> int:
        """Return how many steps were taken more than once, each as often as it was."""
        return sum(times - 1 for times in self.outside.times(what).values())

    @contextmanager
    def stops(self, *points: str) -> Iterator[Iterator[Stop]]:
        """Arm points, and give the processes that stand there, in the order in which they come."""
        self.points.arm(*points)
        yield (self.points.next() for _ in points)

    def delete(self, stack: StackView) -> None:
        """Delete a stack; nothing may be left of it."""
        self.installation.service.delete(stack.id)
        self.assert_deleted(stack)

    def assert_created(self, stack: StackView, requires: Requires) -> None:
        """Wait for a stack; each resource must be there once, in the database and outside, with the right value."""
        names = dict.fromkeys(requires, 1)
        ended = self.installation.ended(stack.id)
        assert ended.state == "CREATE_COMPLETE", ended.reason
        rows = self.installation.service.resources(stack.id)
        assert {row.name: row.state for row in rows} == dict.fromkeys(names, "CREATE_COMPLETE")
        assert self.outside.objects() == {row.name: [row.physical_id] for row in rows}
        assert self.outside.times("made") == names
        outputs = self.installation.service.outputs(stack.id)
        assert {output.key: output.value for output in outputs} == kept.values_of(requires)
        assert_made_once_and_in_order(self.installation.events(stack.id), requires)

    def assert_steps(self) -> None:
        """Check that no step was taken again but those of lost attempts, and no object made that was there."""
        lost = self.lost()
        assert self.again("create") + self.again("delete") <= len(lost)
        killed = {stop.pid for stop in self.killed}
        # On a machine that is busy, the lease of a step may end although its process lives.
        alive = {name for name, process in lost if int(process.split(":")[-2]) not in killed}
        assert self.outside.times("second").keys() <= alive

    def assert_deleted(self, stack: StackView) -> None:
        """Wait for the end of a stack; nothing may be left of it."""
        assert self.installation.ended(stack.id).state == "DELETE_COMPLETE"
        assert self.outside.objects() == {}
        made, removed = self.outside.times("made"), self.outside.times("removed")
        assert made == removed
        self.assert_steps()

    def assert_chain(self, stack: StackView) -> None:
        """Wait for a chain; each link must be created once, after the one before, and the last have the right value."""
        assert self.installation.ended(stack.id).state == "CREATE_COMPLETE"
        (output,) = self.installation.service.outputs(stack.id)
        assert output.value == kept.last_of_chain(LINKS)
        requires = {f"r{number}": [f"r{number - 1}"] if number else [] for number in range(LINKS)}
        assert_made_once_and_in_order(self.installation.events(stack.id), requires)


@pytest.fixture
def scene(tmp_path: Path, redis_url: str, postgres_url: str) -> Iterator[Scene]:
    """A coordinator and a worker that take work."""
    packages = tmp_path / "packages"
    packages.mkdir()
    kept.put_on_path(packages)
    migrations.upgrade(postgres_url)
    # No step of a busy machine is so slow that it is taken alone.
    settings = {"broker_url": redis_url, "database_url": postgres_url, "quick_step_seconds": "1"}
    installation = Installation(tmp_path, **settings)
    installation.environment |= {
        "PYTHONPATH": os.pathsep.join([str(packages), str(ROOT)]),
        kept.VARIABLE: str(tmp_path / "outside"),
    }
    outside = Outside.begin(tmp_path / "outside")
    with (
        installation.service,
        running([installation.start("coordinator")]) as installation.engines,
        Points(tmp_path / "stops") as points,
    ):
        scene = Scene(installation, outside, points)
        # Workers stop, and no coordinator.
        installation.environment |= {stops.VARIABLE: str(tmp_path / "stops")}
        try:
            scene.start_worker()
            yield scene
        finally:
            # Shown where a test failed.
            print(installation.log)


def leave(stop: Stop, *, asleep: bool) -> Stop:
    """Let a process stand where it is, ``asleep`` with all its threads, so that its leases end although it lives."""
    if asleep:
        psutil.Process(stop.pid).suspend()
    return stop


def come_back(away: Iterable[Stop]) -> None:
    """Let processes go on."""
    for stop in away:
        psutil.Process(stop.pid).resume()
        stop.go_on()


def requires_of_two_layers() -> Requires:
    """Return two layers of which the first has more batches than a worker takes messages at once."""
    below = {f"r{no:04}": list[str]() for no in range(SOME)}
    names = [*below]
    return below | {f"s{no:04}": [names[no], names[no - 1]] for no in range(SOME)}


def requires_of(shape: str, size: int) -> Requires:
    """Return what resources require, by their names."""
    return {f"r{no:04}": [f"r{other:04}" for other in SHAPES[shape](no, size)] for no in range(size)}


def test_processes_killed_in_batches_of_a_large_stack_cost_a_batch_each(scene: Scene) -> None:
    requires = requires_of("wide", MANY)
    with scene.stops(*IN_BATCH, LAST) as standing:
        stack = scene.create(kept.template_of(requires), "large")
        for stop in standing:
            scene.kill(stop)
    scene.assert_created(stack, requires)
    scene.assert_steps()
    with scene.stops(*IN_BATCH, COMPLETE) as standing:
        scene.installation.service.delete(stack.id)
        for stop in standing:
            scene.kill(stop)
    scene.assert_deleted(stack)


def test_a_worker_killed_in_batches_costs_a_batch_of_each_of_its_processes(
    scene: Scene, redis_server: RedisServer
) -> None:
    requires = requires_of("layers", SOME)
    with scene.stops(*IN_BATCH) as standing:
        stack = scene.create(kept.template_of(requires), "layers")
        scene.kill_worker_of([next(standing), next(standing)])
        scene.start_worker()
        scene.kill_worker_of([next(standing), next(standing)])
        # This time nothing is left but the database.
        redis_server.flush()
        scene.start_worker()
    scene.assert_created(stack, requires)
    scene.delete(stack)


def test_a_broker_emptied_in_batches_costs_no_step(scene: Scene, redis_server: RedisServer) -> None:
    requires = requires_of_two_layers()
    with scene.stops(*IN_BATCH, LAST) as standing:
        stack = scene.create(kept.template_of(requires), "emptied")
        for _ in range(len(IN_BATCH) // 2):
            # While both processes stand there are more messages than their worker takes.
            pair = [next(standing), next(standing)]
            until(scene.installation.lose_messages)
            for stop in pair:
                stop.go_on()
        redis_server.flush()
        next(standing).go_on()
    scene.assert_created(stack, requires)
    scene.delete(stack)


def test_a_broker_that_restarts_empty_in_batches_costs_no_step(
    scene: Scene, redis_server: RedisServer
) -> None:
    requires = requires_of_two_layers()
    with scene.stops(TAKEN, ENDED) as standing, scene.installation.broker() as broker:
        stack = scene.create(kept.template_of(requires), "restarted")
        pair = [next(standing), next(standing)]
        until(lambda: broker.llen("checks"))
        redis_server.restart()
        for stop in pair:
            stop.go_on()
    scene.assert_created(stack, requires)
    scene.delete(stack)


@pytest.mark.parametrize("what", ["killed", "emptied"])
def test_a_chain_whose_runs_are_cut_short_is_computed_once_more_by_a_run_each(
    scene: Scene, redis_server: RedisServer, what: str
) -> None:
    with scene.stops(*IN_RUN, LAST) as standing:
        stack = scene.create(kept.chain_of(LINKS), "chain")
        for stop in standing:
            if what == "killed":
                scene.kill(stop)
            else:
                redis_server.flush()
                stop.go_on()
    scene.assert_chain(stack)
    # On a machine that is busy a run may come too late, and is not recorded either.
    cut = len([stop for stop in scene.killed if stop.point == RUN_HALF])
    cut += scene.outside.times("taken").total() - scene.outside.times("recorded").total()
    assert scene.again("compute") <= cut * scene.run_size + len(scene.lost())
    scene.installation.service.delete(stack.id)
    assert scene.installation.ended(stack.id).state == "DELETE_COMPLETE"


@pytest.mark.parametrize("asleep", [True, False])
def test_processes_that_come_back_when_others_have_done_their_work_do_no_harm(
    scene: Scene, asleep: bool
) -> None:
    requires = requires_of("layers", SOME)
    with scene.stops(HALF, TAKEN) as standing:
        stack = scene.create(kept.template_of(requires), "layers")
        away = [leave(next(standing), asleep=asleep) for _ in range(2)]
        scene.start_worker()
        scene.assert_created(stack, requires)
        come_back(away)
    with scene.stops(RUN_HALF, RUN_TAKEN) as standing:
        chain = scene.create(kept.chain_of(LINKS), "chain")
        away = [leave(next(standing), asleep=asleep) for _ in range(2)]
        scene.assert_chain(chain)
        come_back(away)
    # They take work again, and everything is as it was.
    scene.assert_created(stack, requires)
    scene.assert_chain(chain)
    scene.delete(stack)
