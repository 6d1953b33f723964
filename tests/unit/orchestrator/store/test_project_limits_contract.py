"""What every store promises about the limits of projects, and what is counted for them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from orchestrator.errors import Conflict
from orchestrator.model.plan import DesiredResource, plan_create
from orchestrator.model.project_limits import EVALUATION, JOBS, RESOURCES, SOFTWARE, STACKS, ProjectLimits
from orchestrator.store.installation.project_limits import ProjectLimit
from orchestrator.store.traversals.new_traversal import NewTraversal
from tests.unit.orchestrator.store.conftest import Bench

#: How many add something at the same moment.
AT_ONCE = 8


def begin(bench: Bench, name: str, limits: ProjectLimits, *, resources: int = 2, project: str = "p") -> None:
    """Begin a stack of some resources."""
    desired = [
        DesiredResource(
            name=f"r{no}",
            type="Test",
            resource_id=f"{project}-{name}-{no}",
            fragment={"definition": {}},
            requires=frozenset(),
            wanted=frozenset(),
        )
        for no in range(resources)
    ]
    plan = plan_create(desired)
    new = NewTraversal(
        id=f"{project}-{name}-t",
        stack_id=f"{project}-{name}",
        stack=name,
        project=project,
        template_id="none",
        timeout_minutes=60,
        plan=plan,
        context={"name": name},
        new_types={str(each.resource_id): "Test" for each in desired},
        job_id=f"{project}-{name}-job",
        limits=limits,
        added={STACKS: 1, RESOURCES: resources},
    )
    bench.store.traversal_starts.begin_create(new)


def refused_at_once(act: Callable[[int], object]) -> int:
    """Do something many times at once; return how often it was refused."""
    together = Barrier(AT_ONCE)

    def tried(number: int) -> bool:
        together.wait()
        try:
            act(number)
        except Conflict:
            return True
        return False

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return sum(threads.map(tried, range(AT_ONCE)))


def test_limits_are_those_that_were_set_last_until_they_are_unset(bench: Bench) -> None:
    limits = bench.store.project_limits
    assert limits.of("p") == {}
    limits.set("p", {STACKS: 3, JOBS: None})
    limits.set("p", {STACKS: 4})
    limits.set("q", {STACKS: 1})
    assert limits.of("p") == {STACKS: 4, JOBS: None}
    assert limits.all() == [
        ProjectLimit(project="p", name=JOBS, most=None),
        ProjectLimit(project="p", name=STACKS, most=4),
        ProjectLimit(project="q", name=STACKS, most=1),
    ]
    assert limits.unset("p", STACKS)
    assert not limits.unset("p", STACKS)
    assert limits.of("p") == {JOBS: None}


def test_evaluations_are_counted_for_a_minute(bench: Bench) -> None:
    limits = bench.store.project_limits
    bench.clock.pass_(60 - bench.clock.now % 60)
    limits.add_evaluation("p", 2.0)
    limits.add_evaluation("q", 5.0)
    bench.clock.pass_(59)
    limits.add_evaluation("p", 0.5)
    assert limits.evaluated("p") == 2.5
    assert limits.used("p")[EVALUATION] == 2.5
    bench.clock.pass_(1)
    assert limits.evaluated("p") == 0.0
    limits.add_evaluation("p", 1.0)
    assert limits.evaluated("p") == 1.0


def test_usage_is_that_of_one_project(bench: Bench) -> None:
    begin(bench, "a", {})
    begin(bench, "b", {})
    begin(bench, "a", {}, project="q")
    bench.store.taken_jobs.add("1", {}, project="p", task="stack.create")
    nothing = {SOFTWARE: 0, EVALUATION: 0.0}
    assert bench.store.project_limits.used("p") == {STACKS: 2, RESOURCES: 4, JOBS: 1, **nothing}
    assert bench.store.project_limits.used("r") == {STACKS: 0, RESOURCES: 0, JOBS: 0, **nothing}


def test_stack_beyond_a_limit_is_refused_and_nothing_of_it_is_written(bench: Bench) -> None:
    begin(bench, "a", {STACKS: 1})
    with pytest.raises(
        Conflict, match=r"'stacks': project 'p' may have 1 stacks.*it has 1, and this needs 1 more"
    ):
        begin(bench, "b", {STACKS: 1})
    with pytest.raises(
        Conflict, match=r"'resources': project 'p' may have 3 .*it has 2, and this needs 2 more"
    ):
        begin(bench, "b", {RESOURCES: 3})
    assert bench.store.stacks.by_id("p-b") is None
    assert bench.store.stacks.job("p-b-job") is None
    begin(bench, "b", {STACKS: 1}, project="q")
    begin(bench, "b", {STACKS: 2, RESOURCES: 4})


@pytest.mark.parametrize("limits", [{STACKS: 3}, {RESOURCES: 7}])
def test_stacks_begun_at_once_do_not_exceed_a_limit(bench: Bench, limits: ProjectLimits) -> None:
    assert refused_at_once(lambda number: begin(bench, f"s{number}", limits)) == AT_ONCE - 3
    assert bench.store.project_limits.used("p")[STACKS] == 3


def test_jobs_that_arrive_at_once_do_not_exceed_a_limit(bench: Bench) -> None:
    jobs = bench.store.taken_jobs

    def add(number: int) -> None:
        jobs.add(f"{number}", {}, project="p", task="stack.create", limits={JOBS: 3})

    assert refused_at_once(add) == AT_ONCE - 3
    assert bench.store.project_limits.used("p")[JOBS] == 3
    # Another project's jobs are not counted.
    jobs.add("other", {}, project="q", task="stack.create", limits={JOBS: 1})


def test_refused_job_may_arrive_again_and_is_not_begun(bench: Bench) -> None:
    """Its message may come again before it is acknowledged, when there is room."""
    bench.store.stacks.refuse_job("1", {"kind": "Conflict", "message": "full"})
    assert not bench.store.taken_jobs.add("1", {}, project="p", task="stack.create")
    assert not bench.store.taken_jobs.is_due()
