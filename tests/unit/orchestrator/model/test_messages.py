"""Jobs come from anybody: whatever arrives is either a job or refused in words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.messages import (
    OPERATE_JOBS,
    AdoptJob,
    DeleteJob,
    DeleteSnapshotJob,
    EnvironmentSource,
    RestoreJob,
    SnapshotJob,
    StackJob,
)

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
anything = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner), max_leaves=8
)
names = st.text(st.characters(codec="utf-8").filter(str.isprintable), min_size=1, max_size=255).filter(
    lambda name: name == name.strip()
)
FIELDS = tuple(StackJob.__dataclass_fields__)
GOOD = {"name": "web", "template": "heat_template_version: 2021-04-16"}


def received(job: type[StackJob] | type[DeleteJob], data: Any) -> StackJob | DeleteJob | tuple[Problem, ...]:
    """Return the job, or the problems with which it was refused."""
    try:
        return job.from_wire(data)
    except InvalidInput as error:
        return error.problems


@given(data=anything)
def test_what_is_no_job_is_refused_in_words(data: Any) -> None:
    for job in (StackJob, DeleteJob):
        came = received(job, data)
        assert isinstance(came, tuple)
        assert came


@given(field=st.sampled_from(FIELDS), value=anything)
def test_one_wrong_field_is_named(field: str, value: Any) -> None:
    job = received(StackJob, {**GOOD, field: value})
    if not isinstance(job, StackJob):
        assert isinstance(job, tuple)
        assert [problem.path for problem in job] == [field]
        return
    assert isinstance(job.name, str)
    assert isinstance(job.project, str)
    assert all(isinstance(content, str) for content in job.files.values())
    assert all(isinstance(each.source, str) for each in job.environments)


def test_every_fault_of_a_job_is_found_at_once() -> None:
    with pytest.raises(InvalidInput) as refused:
        StackJob.from_wire({"name": 5, "files": {"a": 1}, "colour": "red"})
    assert {problem.path for problem in refused.value.problems} == {"name", "template", "files", "colour"}


def test_a_field_that_is_null_is_not_given() -> None:
    job = StackJob.from_wire({**GOOD, "files": None, "environments": None, "project": None, "job_id": None})
    assert (job.files, job.environments, job.project) == ({}, (), "default")
    assert job.job_id
    assert DeleteJob.from_wire({"name": "web", "project": None}).project == "default"


@given(
    job=st.builds(
        StackJob,
        environments=st.lists(st.builds(EnvironmentSource)).map(tuple),
        parameters=st.dictionaries(st.text(), scalars.filter(lambda value: value == value)),
        timeout_minutes=st.none() | st.floats(min_value=1, max_value=60),
        tags=st.none() | st.lists(st.text("abc", min_size=1), unique=True, max_size=4).map(tuple),
        job_id=names,
        project=names,
    )
)
def test_a_job_arrives_as_it_was_sent(job: StackJob) -> None:
    assert StackJob.from_wire(job.to_wire()) == job


@pytest.mark.parametrize("name", ["", " ", "a ", "\ta", "a\nb", "a\0", "a\x1b[31m", "\ud800", "x" * 256])
@pytest.mark.parametrize(
    ("job", "field"),
    [
        (StackJob, "project"),
        (StackJob, "job_id"),
        (DeleteJob, "name"),
        (DeleteJob, "project"),
        (DeleteJob, "job_id"),
    ],
)
def test_a_text_that_is_no_name_is_refused(
    job: type[StackJob] | type[DeleteJob], field: str, name: str
) -> None:
    good = GOOD if job is StackJob else {"name": "web"}
    problems = received(job, {**good, field: name})
    assert isinstance(problems, tuple)
    (problem,) = problems
    assert problem.path == field
    assert problem.message == (
        "expected one line of 1 to 255 printable characters, without a blank at either end, got another text"
    )


@pytest.mark.parametrize("name", ["x", "x" * 255, "Überall daheim", "8c1f-44"])
def test_a_text_that_is_a_name_is_kept(name: str) -> None:
    assert DeleteJob(name=name, project=name, job_id=name) == DeleteJob.from_wire(
        {"name": name, "project": name, "job_id": name}
    )


@pytest.mark.parametrize("action", ["CHECK", "SUSPEND", "RESUME"])
def test_what_is_done_with_a_stack_as_it_is_is_said_by_the_task_alone(action: str) -> None:
    kind = OPERATE_JOBS[action]
    job = kind(name="web")
    assert (job.action, "action" in job.to_wire()) == (action, False)
    assert kind.from_wire(job.to_wire()) == job
    with pytest.raises(InvalidInput, match=f"is no field of a {action.lower()} job"):
        kind.from_wire({"name": "web", "action": action})
    with pytest.raises(InvalidInput, match="name"):
        kind.from_wire({})


@pytest.mark.parametrize(
    "job",
    [
        AdoptJob(
            name="web",
            template="t",
            environments=(EnvironmentSource(file="e", source="s"),),
            resources={"a": {"resource_id": "1"}},
            rollback=True,
        ),
        DeleteJob(name="web", abandon=True),
        SnapshotJob(name="web"),
        SnapshotJob(name="web", snapshot="first"),
        RestoreJob(name="web", snapshot="first", timeout_minutes=3, rollback=True),
    ],
)
def test_a_job_comes_out_of_the_queue_as_it_went_in(
    job: AdoptJob | DeleteJob | SnapshotJob | RestoreJob,
) -> None:
    assert type(job).from_wire(job.to_wire()) == job


def test_what_is_wrong_with_a_job_on_a_snapshot_is_named() -> None:
    with pytest.raises(InvalidInput) as refused:
        DeleteSnapshotJob.from_wire({"name": "web"})
    assert [problem.path for problem in refused.value.problems] == ["snapshot"]
    with pytest.raises(InvalidInput) as refused:
        RestoreJob.from_wire(
            {"name": "web", "snapshot": 7, "rollback": "yes", "timeout_minutes": "3", "x": 1}
        )
    assert {problem.path for problem in refused.value.problems} == {
        "snapshot",
        "rollback",
        "timeout_minutes",
        "x",
    }


def test_what_is_wrong_with_an_adopt_job_is_named() -> None:
    with pytest.raises(InvalidInput) as refused:
        AdoptJob.from_wire({**GOOD, "files": []})
    assert {problem.path for problem in refused.value.problems} == {"files", "resources"}


def test_an_adopt_job_is_made_of_any_other() -> None:
    job = StackJob(name="web", template="t", parameters={"p": 1}, job_id="1")
    adopting = AdoptJob.of(job, resources={"a": {}})
    assert adopting.to_wire() == {**job.to_wire(), "resources": {"a": {}}}
