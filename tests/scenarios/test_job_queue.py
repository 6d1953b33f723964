"""Jobs that wait: none is lost with a coordinator, none has two effects, and no project waits for another's jobs."""

import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.settings import Settings
from orchestrator.engine.job_queue import JobQueue
from orchestrator.errors import Unavailable
from orchestrator.model.identity import ENGINE_ITSELF, Caller
from orchestrator.model.messages import Job, StackJob
from orchestrator.store import tables
from orchestrator.store.installation.jobs_in_flight import AGAIN_SECONDS
from tests.scenarios.cloud import Crash
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.world import World, template_of

SETTINGS = Settings()
TEMPLATE = template_of({"a": [], "b": ["a"]})


def admitted(_job: Job, _key_id: str) -> Caller:
    return ENGINE_ITSELF


def queue_of(world: World) -> JobQueue:
    return JobQueue(world.store, SETTINGS, admit=admitted, begin=world.coordinator.begin)


def arrive(queue: JobQueue, name: str, project: str = "default", **job: object) -> None:
    given = {"name": name, "template": TEMPLATE, "project": project, "job_id": name, **job}
    queue.accept(StackJob.task, given, signed_by="")


def begin_all(world: World, queue: JobQueue) -> None:
    """Let the leases of the dead end, and begin what waits."""
    world.now += SETTINGS.job_lease_seconds + 1
    while queue.begin_next():
        world.now += 1


@die_everywhere
def test_job_is_done_once_at_whichever_transaction_its_coordinator_dies(instruction: int) -> None:
    """In the midst of a transaction is as before it: nothing of it is written."""
    world = World()
    queue = queue_of(world)
    world.cloud.crash_after(instruction)
    if not world.survive(lambda: arrive(queue, "s")):
        # It was not acknowledged.
        arrive(queue, "s")
    world.survive(queue.begin_next)
    world.cloud.crash_at = None
    world.messages.clear()
    begin_all(world, queue)
    assert world.store.stacks.accepted("s") is not None
    assert not waiting(world)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert world.made_names() == ["a", "b"]


def waiting(world: World) -> list[str]:
    return list(world.store.database.column(sa.select(tables.waiting_job.c.id)))


def test_job_that_ends_its_coordinator_every_time_is_refused_in_the_end() -> None:
    world = World()

    def begin(job: Job) -> None:
        if job.name == "deadly":
            raise Crash
        world.coordinator.begin(job)

    queue = JobQueue(world.store, SETTINGS, admit=admitted, begin=begin)
    arrive(queue, "deadly")
    arrive(queue, "s")
    deaths = 0
    while waiting(world):
        deaths += not world.survive(queue.begin_next)
        world.now += SETTINGS.job_lease_seconds + 1
    assert deaths == SETTINGS.lost_attempt_limit
    row = world.store.stacks.job("deadly")
    assert row is not None
    assert row.refusal == {
        "kind": "IsothermError",
        "message": f"its coordinator was lost {deaths} times while it began this job",
    }
    assert world.store.stacks.accepted("s")


def test_job_that_cannot_be_begun_yet_keeps_its_place_before_later_ones_of_its_stack() -> None:
    world = World()
    begun: list[str] = []

    def begin(job: Job) -> None:
        begun.append(job.job_id)
        if begun == ["first"]:
            raise Unavailable("not yet")

    queue = JobQueue(world.store, SETTINGS, admit=admitted, begin=begin)
    for name in ("first", "second"):
        arrive(queue, name)
    assert queue.begin_next()
    world.now += AGAIN_SECONDS
    begin_all(world, queue)
    assert begun == ["first", "first", "second"]
    assert not waiting(world)


@given(
    st.lists(st.sampled_from(["a", "b", "c"]), max_size=30),
    st.lists(st.sampled_from(["begin", "die", "refuse"]), max_size=30),
)
def test_project_has_its_turn_before_another_has_two(arrivals: list[str], ends: list[str]) -> None:
    """Whatever comes of the jobs that are begun: they end, are refused, or end their process."""
    world = World()
    order: list[str] = []

    def begin(job: Job) -> None:
        order.append(job.project)
        end = ends[len(order) - 1] if len(order) <= len(ends) else "begin"
        if end == "die":
            raise Crash
        if end == "refuse":
            raise ZeroDivisionError

    queue = JobQueue(world.store, SETTINGS, admit=admitted, begin=begin)
    for number, project in enumerate(arrivals):
        arrive(queue, f"s{number}", project)
    while waiting(world):
        world.survive(queue.begin_next)
        world.now += 0.001
        if not world.store.taken_jobs.is_due():
            world.now += SETTINGS.job_lease_seconds
    first = [order.index(project) for project in "abc" if project in arrivals]
    assert sorted(first) == list(range(len(first)))
    world.close()
