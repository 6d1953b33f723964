"""What an operator orders: read, checked against the stack, and refused if it was given upon something else."""

import json
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.dashboard.access import ACTIONS
from orchestrator.dashboard.bodies import MOST_BYTES
from orchestrator.dashboard.orders import Order, check_order, read_order, unfit
from orchestrator.errors import Conflict, InvalidInput
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
GOOD = {"stack_id": "s1", "traversal_id": "t1", "confirm": "web"}


def problems(action: str, sent: Any) -> list[str]:
    with pytest.raises(InvalidInput) as refused:
        read_order(action, sent if isinstance(sent, bytes) else json.dumps(sent).encode())
    return [str(problem) for problem in refused.value.problems]


def order(action: str, **others: Any) -> Order:
    return replace(read_order(action, json.dumps({**GOOD, **others}).encode()))


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


@pytest.mark.parametrize("action", ["cancel", "retry", "delete"])
def test_what_belongs_to_another_action_is_refused(action: str) -> None:
    assert "resource: there is no such field" in problems(action, {**GOOD, "resource": "one"})[0]


@pytest.mark.parametrize("action", ACTIONS)
def test_another_stack_of_the_same_name_is_left_alone(action: str) -> None:
    given = order(action, stack_id="s0", **({"resource": "one"} if action == "signal" else {}))
    with pytest.raises(Conflict, match="another stack is called 'web' now"):
        check_order(given, GOING if action == "cancel" else STACK, [HOOK])


@pytest.mark.parametrize("action", ACTIONS)
def test_another_name_confirms_nothing(action: str) -> None:
    given = order(action, confirm="Web", **({"resource": "one"} if action == "signal" else {}))
    with pytest.raises(InvalidInput, match="expected is the stack's name, 'web'"):
        check_order(given, STACK, [HOOK])


@pytest.mark.parametrize(("action", "stack"), [("cancel", GOING), ("retry", STACK)])
def test_nobody_cancels_or_repeats_what_they_have_not_seen(action: str, stack: StackRow) -> None:
    check_order(order(action), stack, [])
    with pytest.raises(Conflict, match="has begun another operation meanwhile"):
        check_order(order(action, traversal_id="t0"), stack, [])


#: Per state, which actions have a point in it.
FITTING = {
    "CREATE_IN_PROGRESS": {"cancel", "delete", "signal"},
    "CREATE_FAILED": {"retry", "delete", "signal"},
    "CREATE_COMPLETE": {"delete", "signal"},
    "UPDATE_FAILED": {"retry", "delete", "signal"},
    "SUSPEND_FAILED": {"delete", "signal"},
    "DELETE_IN_PROGRESS": {"signal"},
    "DELETE_FAILED": {"delete", "signal"},
}


@pytest.mark.parametrize("state", FITTING)
def test_what_has_a_point_depends_on_the_state(state: str) -> None:
    action, _, status = state.partition("_")
    stack = replace(STACK, action=action, status=status)
    assert {each for each in ACTIONS if not unfit(each, stack, [])} == FITTING[state]
    assert not unfit("clear_hook", stack, [HOOK])


def test_nothing_is_done_to_what_is_deleted() -> None:
    deleted = replace(STACK, deleted_at=1.0)
    assert {unfit(action, deleted, [HOOK]) for action in ACTIONS} == {"the stack is deleted"}


def test_a_part_of_a_stack_is_changed_with_the_whole() -> None:
    part = replace(GOING, parent_id="s0", depth=1)
    assert [action for action in ACTIONS if not unfit(action, part, [HOOK])] == ["signal", "clear_hook"]
