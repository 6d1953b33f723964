"""Limits of projects: what exceeds one is refused before anything is touched, in the same words as by a dry run."""

from typing import Any

import pytest

from hooks.lifecycle import LifecyclePlugin
from orchestrator.config.projects import ProjectLimitSettings
from orchestrator.config.settings import Settings
from orchestrator.engine.job_queue import JobQueue
from orchestrator.engine.stack_preview import preview_job
from orchestrator.errors import Conflict
from orchestrator.model.identity import ENGINE_ITSELF
from orchestrator.model.messages import DeleteJob, SignalJob, StackJob, UpdateJob
from orchestrator.model.project_limits import EVALUATION
from tests.scenarios.test_nested import BIG_PAIR, FILES, PAIR, root
from tests.scenarios.world import World, template_of

ONE, TWO, THREE = (template_of({f"r{no}": [] for no in range(count)}) for count in (1, 2, 3))


class Witness(LifecyclePlugin):
    """Counts how often it is called."""

    name = "witness"

    def __init__(self) -> None:
        self.calls = 0

    def do_pre_op(self, *_: Any) -> None:
        """Count."""
        self.calls += 1


def test_stack_too_many_is_refused_before_plugins_are_called() -> None:
    world = World(project_limits={"stacks": 1})
    witness = Witness()
    world.create(ONE, "a")
    world.plug(witness)
    with pytest.raises(
        Conflict, match=r"limit 'stacks': project 'default' may have 1 .* it has 1, and .* 1 more"
    ):
        world.create(ONE, "b")
    assert witness.calls == 0
    assert len(world.store.stacks.all(project="default")) == 1
    # What another project has is its own.
    world.create(ONE, "b", project="other")
    world.settle()
    world.plug()
    world.delete("a")
    world.settle()
    world.create(ONE, "b")


def test_limit_of_a_project_goes_before_that_of_the_settings() -> None:
    world = World(project_limits={"stacks": 0})
    world.store.project_limits.set("default", {"stacks": None})
    world.create(ONE, "a")
    with pytest.raises(Conflict, match="'other' may have 0 stacks"):
        world.create(ONE, "b", project="other")


def test_update_is_refused_for_what_it_adds_only() -> None:
    world = World(project_limits={"resources": 2})
    world.create(TWO)
    world.settle()
    with pytest.raises(Conflict, match=r"may have 2 resources .* it has 2, and this needs 1 more"):
        world.update(THREE)
    assert world.state() == "CREATE_COMPLETE"
    world.store.project_limits.set("default", {"resources": 1})
    world.update(ONE)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"


def test_rollback_is_not_refused() -> None:
    world = World()
    world.create(THREE)
    world.settle()
    world.update(ONE)
    world.store.project_limits.set("default", {"resources": 0})
    world.cancel()
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert len(world.cloud.objects) == 3


def test_resources_of_nested_stacks_are_refused_with_their_root() -> None:
    world = World(project_limits={"resources": 4})
    with pytest.raises(Conflict, match="this needs 5 more"):
        world.create(root(), files=FILES)
    assert not world.messages
    world.store.project_limits.set("default", {"resources": 5})
    world.create(root(), files=FILES)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    # More in the nested stack alone is found when that is updated.
    world.update(root(), files={"pair.yaml": BIG_PAIR})
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    assert world.store.project_limits.used("default")["resources"] == 5
    world.update(root(), files={"pair.yaml": PAIR})
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"


def test_large_job_is_refused_with_all_its_texts_counted() -> None:
    files = {"a.txt": "é" * 100}
    size = len(ONE.encode()) + 200
    world = World(project_limits={"template_bytes": size})
    world.coordinator.begin(StackJob(name="a", template=ONE, files=files))
    world.store.project_limits.set("default", {"template_bytes": size - 1})
    with pytest.raises(Conflict, match=f"may have {size - 1} bytes in .* this needs {size} more"):
        world.coordinator.begin(StackJob(name="b", template=ONE, files=files))


def test_project_without_time_left_may_only_end_what_it_has() -> None:
    world = World(project_limits={"evaluation_seconds": 1})
    world.coordinator.begin(StackJob(name="s", template=TWO))
    used = world.store.project_limits.evaluated("default")
    assert used > 0
    world.store.project_limits.add_evaluation("default", 1 - used)
    update = UpdateJob(name="s", template=ONE)
    with pytest.raises(Conflict, match=r"limit 'evaluation_seconds'.* it has 1, and this needs 0\.01 more"):
        world.coordinator.begin(update)
    with pytest.raises(Conflict, match="evaluation_seconds"):
        world.coordinator.begin(SignalJob(name="s", resource="r0"))
    world.now += 60
    world.coordinator.begin(update)
    world.store.project_limits.set("default", {EVALUATION: 0})
    world.coordinator.begin(DeleteJob(name="s"))
    world.settle()
    assert not world.cloud.objects


def test_ledger_has_why_a_job_was_refused() -> None:
    world = World()
    settings = Settings(project_limits=ProjectLimitSettings(jobs=1, template_bytes=len(TWO)))
    queue = JobQueue(
        world.store, settings, admit=lambda _job, _key: ENGINE_ITSELF, begin=world.coordinator.begin
    )
    for job_id, template in (("0", ONE), ("1", ONE), ("2", THREE)):
        queue.accept(
            StackJob.task, {"name": f"s{job_id}", "template": template, "job_id": job_id}, signed_by=""
        )
    refusals = [row.refusal for row in map(world.store.stacks.job, "12") if row]
    assert [refusal and refusal["kind"] for refusal in refusals] == ["Conflict", "Conflict"]
    assert "may have 1 jobs waiting; it has 1, and this needs 1 more" in str(refusals[0])
    assert f"this needs {len(THREE)} more" in str(refusals[1])
    assert queue.begin_next()
    assert not queue.begin_next()
    assert [row.name for row in world.store.stacks.all(project="default")] == ["s0"]


def test_preview_is_refused_without_a_database_too(tmp_path: Any) -> None:
    limits = ProjectLimitSettings(resources=1)
    settings = Settings(state_directory=tmp_path, project_limits=limits)
    template = (
        "heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::None}, b: {type: OS::Heat::None}}"
    )
    with pytest.raises(Conflict, match=r"may have 1 resources .* it has 0, and this needs 2 more"):
        preview_job(StackJob(name="s", template=template), settings)
    assert list(tmp_path.iterdir()) == []
