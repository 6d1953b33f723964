"""What an operator orders: read, checked against the stack, and refused if it was given upon something else."""

import json
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.dashboard.access import ACTIONS
from orchestrator.dashboard.bodies import MOST_BYTES
from orchestrator.dashboard.fitness import ON_WHAT_WAS_SEEN, Situation, unfit
from orchestrator.dashboard.orders import Order, check_order, read_order
from orchestrator.errors import Conflict, InvalidInput
from orchestrator.store.stacks.snapshots import SnapshotRow
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.views.stacks import HookView

STACK = StackRow(
    id="s1",
    name="web",
    project="default",
    action="CREATE",
    status="FAILED",
    reason="",
    traversal_id="t1",
    template_id="d1",
    parent_id=None,
    parent_resource=None,
    root_id="s1",
    depth=0,
    completed_template_id=None,
    timeout_minutes=60.0,
    rollback=False,
    created_at=0.0,
    updated_at=0.0,
    deleted_at=None,
)
GOING = replace(STACK, status="IN_PROGRESS")
HOOK = HookView(resource="one", uuid="r1", kind="pre-create", since=0.0)
SNAPSHOT = SnapshotRow(
    id="n1",
    stack_id="s1",
    name="before",
    action="CREATE",
    status="COMPLETE",
    reason="",
    template_id="d1",
    traversal_id="t0",
    created_at=0.0,
)
#: The fields that some actions need beside those of every order.
NEEDED = {
    "signal": {"resource": "one"},
    "restore": {"snapshot": "before"},
    "mark_unhealthy": {"resource": "one"},
    "mark_healthy": {"resource": "one"},
}
GOOD = {"stack_id": "s1", "traversal_id": "t1", "confirm": "web"}


def problems(action: str, sent: Any) -> list[str]:
    with pytest.raises(InvalidInput) as refused:
        read_order(action, sent if isinstance(sent, bytes) else json.dumps(sent).encode())
    return [str(problem) for problem in refused.value.problems]


def order(action: str, **others: Any) -> Order:
    return read_order(action, json.dumps({**GOOD, **NEEDED.get(action, {}), **others}).encode())


def situation(stack: StackRow) -> Situation:
    return Situation(stack=stack, hooks=[HOOK], snapshots=[SNAPSHOT])


def fitting(stack: StackRow) -> set[str]:
    return {each for each in ACTIONS if not unfit(each, Situation(stack=stack, snapshots=[SNAPSHOT]))}


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000], ids=["none", "half", "bytes", "deep"])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    assert problems("cancel", body) == ["expected is a JSON object, and found is no JSON"]


@pytest.mark.parametrize("sent", [[], "x", 1, True, None], ids=["list", "text", "number", "truth", "null"])
def test_what_is_no_object_is_refused(sent: Any) -> None:
    assert "expected is a JSON object, and found is " in problems("cancel", sent)[0]


@pytest.mark.parametrize(
    "wrong",
    ['"a\\u0000b"', '"\\ud800"', '{"\\udfff": 1}', "NaN", "-Infinity", "1e999", "[" * 200 + "]" * 200],
    ids=["nul", "surrogate", "name", "nan", "infinite", "large", "deep"],
)
def test_what_no_database_keeps_is_refused(wrong: str) -> None:
    more = f', "resource": "one", "details": {{"a": {wrong}}}}}'
    found = problems("signal", (json.dumps(GOOD)[:-1] + more).encode())
    assert len(found) == 1
    assert found[0].startswith("details: it has ")


def test_a_character_that_is_none_is_refused_in_a_name_and_text_that_looks_like_it_is_not() -> None:
    assert "resource: it has a character" in problems("signal", {**GOOD, "resource": "\0"})[0]
    assert order("signal", resource="one", details={"a": "\\u0000 \\ud800 \U0001f600"}).details


def test_an_order_too_long_is_refused_before_it_is_read() -> None:
    assert str(MOST_BYTES) in problems("signal", b" " * (MOST_BYTES + 1))[0]


def test_all_that_is_wrong_is_told_at_once_and_the_nearest_name() -> None:
    told = problems("signal", {**GOOD, "confirm": "", "resorce": "one", "details": []})
    assert told == [
        "resorce: there is no such field (did you mean 'resource'?)",
        "confirm: is needed",
        "resource: is needed",
        "details: expected is an object, and found is a list",
    ]


def test_a_kind_of_hook_that_there_is_none_of_is_refused() -> None:
    assert "pre-create" in problems("clear_hook", {**GOOD, "kind": "pre-crate"})[0]


@pytest.mark.parametrize(
    ("action", "more", "told"),
    [
        ("cancel", {"rollback": "yes"}, "rollback: expected is true or false, and found is a text"),
        (
            "snapshot",
            {"snapshot": " before"},
            "snapshot: expected is one line of 1 to 255 printable characters",
        ),
        ("delete", {"comment": "a\nb"}, "comment: expected is one line of at most 500 printable"),
        ("delete", {"comment": "x" * 501}, "comment: expected is one line of at most 500 printable"),
        ("delete", {"comment": 1}, "comment: expected is a text, and found is a number"),
        ("restore", {"snapshot": ""}, "snapshot: is needed"),
        ("mark_healthy", {"resource": ""}, "resource: is needed"),
    ],
)
def test_a_malformed_field_is_refused(action: str, more: Any, told: str) -> None:
    assert problems(action, {**GOOD, **more})[0].startswith(told)


def test_null_is_as_good_as_nothing() -> None:
    assert order("cancel", rollback=None).rollback
    assert not order("cancel", rollback=False).rollback
    assert order("snapshot", snapshot="").snapshot == ""


@pytest.mark.parametrize("action", ["cancel", "retry", "delete"])
def test_what_belongs_to_another_action_is_refused(action: str) -> None:
    assert "resource: there is no such field" in problems(action, {**GOOD, "resource": "one"})[0]


@pytest.mark.parametrize("action", ACTIONS)
def test_another_stack_of_the_same_name_is_left_alone(action: str) -> None:
    with pytest.raises(Conflict, match="another stack is called 'web' now"):
        check_order(order(action, stack_id="s0"), situation(STACK))


@pytest.mark.parametrize("action", ACTIONS)
def test_another_name_confirms_nothing(action: str) -> None:
    with pytest.raises(InvalidInput, match="expected is the stack's name, 'web'"):
        check_order(order(action, confirm="Web"), situation(STACK))


@pytest.mark.parametrize("action", ON_WHAT_WAS_SEEN)
def test_nobody_cancels_or_repeats_what_they_have_not_seen(action: str) -> None:
    states = {"cancel": GOING, "resume": replace(STACK, action="SUSPEND")}
    stack = states.get(action, STACK)
    check_order(order(action), situation(stack))
    with pytest.raises(Conflict, match="has begun another operation meanwhile"):
        check_order(order(action, traversal_id="t0"), situation(stack))


MARKS = {"mark_unhealthy", "mark_healthy"}
PROTECTION = {"protect", "unprotect"}
AT_REST = {"check", "suspend", "snapshot", "restore", *MARKS, *PROTECTION}
#: Per state, which actions have a point in it.
FITTING = {
    "CREATE_IN_PROGRESS": {"cancel", "delete", "signal"},
    "CREATE_FAILED": {"retry", "delete", "signal", *AT_REST},
    "CREATE_COMPLETE": {"delete", "signal", *AT_REST},
    "UPDATE_FAILED": {"retry", "delete", "signal", "resume", *AT_REST},
    "SUSPEND_COMPLETE": {"delete", "signal", "resume", *PROTECTION},
    "SUSPEND_FAILED": {"delete", "signal", "suspend", "resume", *PROTECTION},
    "RESUME_COMPLETE": {"delete", "signal", *AT_REST},
    "CHECK_IN_PROGRESS": {"cancel", "delete", "signal"},
    "DELETE_IN_PROGRESS": {"signal"},
    "DELETE_FAILED": {"delete", "signal"},
}


@pytest.mark.parametrize("state", FITTING)
def test_what_has_a_point_depends_on_the_state(state: str) -> None:
    action, _, status = state.partition("_")
    stack = replace(STACK, action=action, status=status)
    assert fitting(stack) == FITTING[state]
    assert not unfit("clear_hook", situation(stack))


def test_only_a_complete_snapshot_can_be_restored() -> None:
    for status in ("IN_PROGRESS", "FAILED"):
        taken = Situation(stack=STACK, snapshots=[replace(SNAPSHOT, status=status)])
        assert unfit("restore", taken) == "there is no complete snapshot to restore"


def test_nothing_is_done_to_what_is_deleted() -> None:
    deleted = situation(replace(STACK, deleted_at=1.0))
    assert {unfit(action, deleted) for action in ACTIONS} == {"the stack is deleted"}


def test_a_part_of_a_stack_is_changed_with_the_whole() -> None:
    part = replace(STACK, parent_id="s0", depth=1)
    assert fitting(part) == {"signal", *MARKS, *PROTECTION}
