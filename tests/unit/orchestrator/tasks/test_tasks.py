"""What the tasks say to the broker, and to the sender, about a job that could not be done."""

from pathlib import Path
from typing import Any, get_type_hints

import pytest
from celery.exceptions import Reject
from structlog.testing import capture_logs

from orchestrator import tasks
from orchestrator.config.caller import caller
from orchestrator.config.nodes import NodeStateCacheSettings
from orchestrator.config.settings import Settings
from orchestrator.engine.coordinator import Coordinator
from orchestrator.engine.job_errors import raise_refusal, refusal_of
from orchestrator.errors import (
    Bug,
    Conflict,
    InvalidInput,
    IsothermError,
    NotAllowed,
    NotFound,
    PluginMistake,
)
from orchestrator.model.messages import (
    BEGIN_TASK,
    COORDINATOR_QUEUE,
    END,
    JOBS,
    STACKS_QUEUE,
    WATCH_TASK,
    AdoptJob,
    CancelJob,
    CheckJob,
    CheckOrder,
    DeleteJob,
    DeleteSnapshotJob,
    ImportJob,
    Job,
    RestoreJob,
    ResumeJob,
    SignalJob,
    StackJob,
    SuspendJob,
    UpdateJob,
)
from orchestrator.plugins.resource import Resource
from orchestrator.processes.runtime import Runtime
from orchestrator.queue.celery_app import ROUTES, default_app, make_app
from orchestrator.queue.refusals import refusals
from orchestrator.store.installation.jobs_in_flight import AGAIN_SECONDS
from orchestrator.store.store import Store
from orchestrator.store.traversals.operation_rows import TakenOver
from tests.migrated import migrate
from tests.unit.orchestrator.store.conftest import FakeClock
from tests.unit.orchestrator.tasks.jobs import TEMPLATE, Broken, Silent, accept, answer, carry_out, runtime_in
from tests.unit.packages import install


def test_a_job_goes_back_to_the_queue_while_the_database_is_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = runtime_in(tmp_path / "not" / "there")
    monkeypatch.setattr(tasks, "runtime", lambda: nowhere)
    # The second cannot be read as a job, and its refusal cannot be written down either.
    for job in ({"job_id": "1", "name": "s", "template": TEMPLATE}, {"job_id": "1"}):
        with pytest.raises(Reject) as rejected:
            accept(StackJob.task, job)
        assert rejected.value.requeue
    tasks.begin_next()


def test_a_sink_is_told_of_the_first_job_though_nobody_tells_it_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(state_directory=tmp_path, event_sinks={"log": {"enabled": True}})
    runtime = Runtime(settings, Silent(), kind="coordinator")
    migrate(settings.effective_database_url)
    monkeypatch.setattr(tasks, "runtime", lambda: runtime)
    template = "heat_template_version: 2021-04-16\nresources: {it: {type: OS::Heat::TestResource}}"
    for number in range(2):
        carry_out(StackJob.task, {"job_id": f"{number}", "name": f"s{number}", "template": template})
    (cursor,) = runtime.store.sink_cursors.all()
    assert (cursor.name, cursor.position, cursor.backlog) == ("log", 0, 2)
    runtime.close()


def test_a_job_that_another_process_is_at_is_begun_after_a_while(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the while, it would go round and round."""
    begun: list[str] = []

    def begin(_self: Coordinator, job: StackJob) -> str:
        begun.append(job.job_id)
        raise TakenOver("another process asks lifecycle plugins")

    monkeypatch.setattr(Coordinator, "create", begin)
    clock = FakeClock()
    runtime.store = Store(runtime.settings.effective_database_url, clock=clock)
    carry_out(StackJob.task, {"job_id": "1", "name": "s", "template": TEMPLATE})
    tasks.begin_next()
    assert begun == ["1"]
    assert runtime.store.stacks.job("1") is None
    clock.pass_(AGAIN_SECONDS)
    tasks.begin_next()
    assert begun == ["1", "1"]


def test_last_words_that_another_process_says_are_left_to_it(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finish(_order: CheckOrder) -> None:
        raise TakenOver("another process tells lifecycle plugins")

    monkeypatch.setattr(runtime.coordinator, "finish", finish)
    order = CheckOrder(stack_id="1", traversal_id="2", no=0, key="", phase=END, stack="s", node_data=())
    with capture_logs() as logs:
        tasks.finish_traversal(order.to_wire())
    assert [(line["log_level"], line["reason"]) for line in logs if line["log_level"] != "debug"] == [
        ("info", "another process tells lifecycle plugins")
    ]


@pytest.mark.parametrize("kind", JOBS.values())
def test_a_job_goes_to_a_method_of_the_coordinator_that_takes_its_kind(kind: type[Job]) -> None:
    assert issubclass(kind, get_type_hints(getattr(Coordinator, kind.method))["job"])
    assert ROUTES[kind.task] == STACKS_QUEUE


@pytest.mark.parametrize("task", [*JOBS, BEGIN_TASK])
def test_a_job_is_acknowledged_when_it_is_done_and_not_before(task: str) -> None:
    registered = default_app().tasks[task]
    assert registered.acks_late
    assert registered.reject_on_worker_lost


def test_a_process_whose_hooks_went_away_refuses_jobs_and_leaves_the_rest_to_others(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        "from hooks.lifecycle import LifecyclePlugin\nclass Gone(LifecyclePlugin):\n    ordinal = 'first'\n"
    )
    install(tmp_path, "acme_leaving", source, {"isotherm.lifecycle": ["gone = acme_leaving:Gone"]})
    monkeypatch.syspath_prepend(tmp_path)
    with capture_logs() as logs:
        carry_out(StackJob.task, {"job_id": "1", "name": "s", "template": TEMPLATE})
        tasks.sweep()
    with pytest.raises(InvalidInput, match="its ordinal must be a whole number"):
        raise_refusal(answer(runtime, "1").refusal or {})
    (told,) = [line for line in logs if line["log_level"] == "error"]
    assert told["event"] == "hooks cannot be loaded any more; end this coordinator"
    assert "exc_info" not in told


def test_the_sender_learns_of_an_error_that_nobody_foresaw_and_the_log_of_its_place(runtime: Runtime) -> None:
    with capture_logs() as logs:
        carry_out(StackJob.task, {"job_id": "1", "name": "s", "template": TEMPLATE})
    row = answer(runtime, "1")
    assert (row.status, row.stack_id) == ("refused", None)
    assert row.refusal is not None
    with pytest.raises(Bug, match=r"^ZeroDivisionError: division by zero ") as told:
        raise_refusal(row.refusal)
    assert "this is a bug" in str(told.value)
    assert "Traceback" not in str(told.value)
    (line,) = [each for each in logs if each["event"] == "a job met a bug"]
    assert line["exc_info"] is Broken.error


def test_the_sender_learns_why_a_job_was_refused(runtime: Runtime) -> None:
    carry_out(StackJob.task, {"job_id": "1", "name": "s"})
    carry_out(DeleteJob.task, {"job_id": "2", "name": "s"})
    carry_out(UpdateJob.task, {"job_id": "3", "name": "s", "template": TEMPLATE})
    carry_out(UpdateJob.task, {"job_id": "4", "name": "s", "template": TEMPLATE, "colour": "red"})
    carry_out(CancelJob.task, {"job_id": "5", "name": "s"})
    carry_out(CancelJob.task, {"job_id": "6", "name": "s", "rollback": "no"})
    carry_out(CheckJob.task, {"job_id": "7", "name": "s"})
    carry_out(SuspendJob.task, {"job_id": "8", "name": "s"})
    carry_out(ResumeJob.task, {"job_id": "9", "name": "s"})
    carry_out(ResumeJob.task, {"job_id": "10", "name": "s", "action": "CHECK"})
    expected = {
        "1": InvalidInput,
        "2": NotFound,
        "3": NotFound,
        "4": InvalidInput,
        "5": NotFound,
        "6": InvalidInput,
        "7": NotFound,
        "8": NotFound,
        "9": NotFound,
        "10": InvalidInput,
    }
    for job_id, error in expected.items():
        row = answer(runtime, job_id)
        assert row.refusal is not None
        with pytest.raises(error):
            raise_refusal(row.refusal)


def test_an_update_that_is_delivered_twice_is_one(runtime: Runtime) -> None:
    runtime.types = {"Test": Resource}
    carry_out(StackJob.task, {"job_id": "1", "name": "s", "template": TEMPLATE})
    stack_id = answer(runtime, "1").stack_id
    job = {"job_id": "2", "name": "s", "template": f"{TEMPLATE}\ndescription: new"}
    operations = []
    for _ in range(2):
        carry_out(UpdateJob.task, job)
        operations.append(runtime.store.stacks.find("s", project="default").traversal_id)
    row = answer(runtime, "2")
    assert (row.status, row.stack_id) == ("accepted", stack_id)
    assert operations[0] == operations[1]
    assert runtime.store.stacks.find("s", project="default").action == "UPDATE"


def test_a_job_that_was_accepted_stays_accepted_whatever_comes_after(runtime: Runtime) -> None:
    runtime.store.stacks.accept_job("1", "stack")
    accept(StackJob.task, {"job_id": "1"})
    assert answer(runtime, "1").status == "accepted"


@pytest.mark.parametrize(
    "error", [NotFound("a"), Conflict("b"), PluginMistake("c"), Bug("d"), IsothermError("e")]
)
def test_every_refusal_comes_back_as_the_error_it_was(error: IsothermError) -> None:
    with pytest.raises(IsothermError) as again:
        raise_refusal(refusal_of(error))
    assert type(again.value) is type(error)
    assert str(again.value) == str(error)


@pytest.mark.parametrize("job_id", [None, 5, "", "nul\0"])
def test_a_job_whose_id_is_none_is_refused_all_the_same(job_id: object, runtime: Runtime) -> None:
    with capture_logs() as logs:
        carry_out(DeleteJob.task, {"name": "s", "job_id": job_id})
    assert [line["event"] for line in logs] == ["a job was refused"]


def test_a_job_is_known_to_be_taken_before_it_is_looked_at(runtime: Runtime) -> None:
    assert not runtime.store.taken_jobs.is_taken("1")
    accept(StackJob.task, {"job_id": "1", "name": "s", "template": "none"})
    assert runtime.store.taken_jobs.is_taken("1")
    assert runtime.store.stacks.job("1") is None


def test_job_without_an_id_has_that_of_its_message(runtime: Runtime) -> None:
    for _ in range(2):
        accept(DeleteJob.task, {"name": "s"})
    tasks.begin_next()
    tasks.begin_next()
    assert answer(runtime, "message").status == "refused"


def test_a_coordinator_looks_after_nodes_more_often_than_each_is_due() -> None:
    settings = Settings(
        broker_url="redis://localhost/0", node_state_cache=NodeStateCacheSettings(watch_seconds=100)
    )
    entry = make_app(settings).conf.beat_schedule["watch nodes"]
    assert (entry["task"], ROUTES[entry["task"]]) == (WATCH_TASK, COORDINATOR_QUEUE)
    # What nobody took is of no use once the next is ordered.
    assert entry["schedule"] == entry["options"]["expires"] == 20
    assert WATCH_TASK in default_app().tasks


def refused(runtime: Runtime, job_id: str) -> str:
    """Return the sentence that the sender of a refused job reads."""
    row = answer(runtime, job_id)
    assert row.refusal is not None
    with pytest.raises(NotAllowed) as told:
        raise_refusal(row.refusal)
    return str(told.value)


@pytest.mark.usefixtures("users")
@pytest.mark.parametrize("task", sorted(JOBS))
def test_key_of_a_user_decides_about_every_kind_of_job_whatever_it_says_of_itself(
    runtime: Runtime, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[str, str, str]] = []
    monkeypatch.setattr(
        Coordinator,
        "begin",
        lambda _, job: begun.append((job.project, caller().identity.user, caller().origin)),
    )
    counted: list[str] = []
    monkeypatch.setattr(refusals, "add", lambda place, why, **_: counted.append(f"{place}: {why.reason}"))
    more: dict[str, dict[str, Any]] = {
        StackJob.task: {"template": TEMPLATE},
        UpdateJob.task: {"template": TEMPLATE},
        AdoptJob.task: {"template": TEMPLATE, "resources": {}},
        ImportJob.task: {"template": TEMPLATE, "resources": {}},
        SignalJob.task: {"resource": "it"},
        RestoreJob.task: {"snapshot": "one"},
        DeleteSnapshotJob.task: {"snapshot": "one"},
    }
    job = {"name": "s", "project": "acme", "user": "root", **more.get(task, {})}
    carry_out(task, {**job, "job_id": "1"}, user="alice")
    carry_out(task, {**job, "job_id": "2"}, user="rita")
    carry_out(task, {**job, "job_id": "3", "project": "beta"}, user="alice")
    carry_out(task, {**job, "job_id": "4", "project": "*"}, user="alice")
    own_project = {key: value for key, value in job.items() if key != "project"}
    carry_out(task, {**own_project, "job_id": "5"}, user="alice")
    assert [(project, user) for project, user, _ in begun] == [("acme", "alice")]
    assert begun[0][2].startswith("queue, key ")
    needed = f"{task} needs the role operator in the project"
    assert refused(runtime, "2") == f"{needed} 'acme'; rita has the role reader there"
    assert refused(runtime, "3") == f"{needed} 'beta'; alice has no role there"
    assert "needs the role operator in all projects ('*'); alice has no role" in refused(runtime, "4")
    assert refused(runtime, "5") == f"{needed} 'default'; alice has no role there"
    assert counted == ["stacks: not allowed"] * 4


@pytest.mark.usefixtures("users")
def test_abandoning_a_stack_may_need_another_role_than_deleting_it(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("stack.abandon: administrator")
    runtime.settings = runtime.settings.with_values(policy_file=tmp_path / "policy.yaml")
    job = {"name": "s", "project": "acme"}
    carry_out(DeleteJob.task, {**job, "job_id": "1"}, user="alice")
    carry_out(DeleteJob.task, {**job, "job_id": "2", "abandon": True}, user="alice")
    with pytest.raises(NotFound):
        raise_refusal(answer(runtime, "1").refusal or {})
    assert "stack.abandon needs the role administrator" in refused(runtime, "2")


@pytest.mark.usefixtures("users")
def test_signal_that_clears_a_hook_needs_the_role_for_that(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("stack.clear_hook: administrator")
    runtime.settings = runtime.settings.with_values(policy_file=tmp_path / "policy.yaml")
    job = {"name": "s", "project": "acme", "resource": "it"}
    carry_out(SignalJob.task, {**job, "job_id": "1", "details": {"x": 1}}, user="alice")
    carry_out(SignalJob.task, {**job, "job_id": "2", "details": {"unset_hook": "pre-create"}}, user="alice")
    with pytest.raises(NotFound):
        raise_refusal(answer(runtime, "1").refusal or {})
    assert "stack.clear_hook needs the role administrator" in refused(runtime, "2")


@pytest.mark.usefixtures("users")
def test_installation_itself_acts_for_the_user_whom_it_names(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[str, str]] = []
    monkeypatch.setattr(
        Coordinator, "begin", lambda *_: begun.append((caller().identity.user, caller().comment))
    )
    carry_out(DeleteJob.task, {"name": "s", "job_id": "1", "user": "bob", "comment": "of no use"})
    carry_out(DeleteJob.task, {"name": "s", "job_id": "2"})
    assert begun == [("bob", "of no use"), ("", "")]
    assert [each.entry.detail for each in runtime.store.audit_log.newest(2)] == ["", "of no use"]


@pytest.mark.usefixtures("users")
def test_job_whose_key_was_removed_meanwhile_is_refused(runtime: Runtime) -> None:
    tasks.accept(DeleteJob.task, {"name": "s", "job_id": "1"}, signed_by="00000000")
    tasks.accept(DeleteJob.task, {"name": "s", "job_id": "2"}, signed_by="")
    assert "was removed" in refused(runtime, "1")
    assert "was removed" in refused(runtime, "2")


@pytest.mark.usefixtures("users")
def test_every_job_is_on_record_once_and_refusals_with_their_reason(runtime: Runtime) -> None:
    job = {"name": "s", "project": "acme"}
    for _ in range(2):
        carry_out(DeleteJob.task, {**job, "job_id": "1"}, user="alice")
    for _ in range(3):
        carry_out(DeleteJob.task, {**job, "job_id": "2"}, user="rita")
    refused, allowed = (each.entry for each in runtime.store.audit_log.newest(9))
    assert (allowed.user, allowed.project, allowed.action, allowed.outcome) == (
        "alice",
        "acme",
        "stack.delete",
        "allowed",
    )
    assert allowed.target == "s (job 1)"
    assert allowed.origin.startswith("queue, key ")
    assert (refused.user, refused.outcome) == ("rita", "refused")
    assert "needs the role operator" in refused.detail
    assert runtime.store.audit_log.verify().broken_at is None
