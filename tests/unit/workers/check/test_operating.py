"""One step of what is done with a resource as it is: what its type is asked, and what comes of the answers."""

import random
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.model.messages import CONVERGE, OPERATE, CheckOrder
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import CANNOT_TELL, CannotTell, ResourceFailure, RetryableFailure, Wait
from orchestrator.store.nodes.claims import Claim, Ending, Outcome
from workers.check.context import CheckContext
from workers.check.step import take_step


class Told(Resource):
    """Does as its class says, and remembers what it was asked."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "size": Property(type=PropertyType.INTEGER, default=1),
        "color": Property(type=PropertyType.STRING, default="red"),
    }
    observed: ClassVar[Mapping[str, Any] | CannotTell | None] = CANNOT_TELL
    #: By method: what it raises, or answers.
    answers: ClassVar[Mapping[str, Any]] = {}

    def _asked(self, method: str) -> Any:
        self.state.data.setdefault("asked", []).append(method)
        answer = self.answers.get(method)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def handle_check(self) -> Any:
        return self._asked("handle_check")

    def handle_suspend(self) -> Any:
        return self._asked("handle_suspend")

    def check_suspend_complete(self, token: Any) -> bool | Wait:
        return self._asked("check_suspend_complete") or True

    def handle_resume(self) -> Any:
        return self._asked("handle_resume")

    def observe(self) -> Mapping[str, Any] | CannotTell | None:
        return self.observed


def told(observed: Mapping[str, Any] | CannotTell | None = CANNOT_TELL, **answers: Any) -> type[Told]:
    return type("Told", (Told,), {"observed": observed, "answers": answers})


def step(
    kind: type[Resource],
    action: str,
    *,
    was: tuple[str, str] = ("CREATE", "COMPLETE"),
    fragment: Mapping[str, Any] | None = None,
    token: Any = None,
    phase: str = OPERATE,
    applied: Mapping[str, Any] | None = None,
    hidden: Sequence[str] = (),
) -> Outcome:
    claim = Claim(
        order=CheckOrder(stack_id="1", traversal_id="2", no=1, key="it", phase=phase, node_data=()),
        attempt=1,
        action=action,
        now=0.0,
        retries=0,
        fragment=fragment or {},
        wanted=(),
        dependents=(),
        requirements=(),
        resource_id="row",
        type="Test",
        physical_id="there",
        properties={"size": "7", "color": "blue"},
        data={},
        metadata=None,
        token=token,
        started=token is not None,
        started_at=0.0,
        was=was,
    )
    check = CheckContext(
        types={"Test": kind},
        settings=Settings(),
        limits=Limits(),
        context={"id": "1", "name": "s", "project": "p", "parameters": {"color": "blue"}, "hidden": hidden},
        inputs=[],
        files=lambda digests: digests,
        metadata_of=lambda reference: {},
        annotations_of=lambda _: {},
        random=random.Random(1),
        child_of=lambda *_: pytest.fail("no stack is in this one"),
        clients=Clients(Settings()),
        applied=lambda: applied,
    )
    return take_step(claim, check)


@pytest.mark.parametrize(
    "observed",
    [CANNOT_TELL, {}, {"size": 7}, {"size": 7, "color": "blue"}],
    ids=["blind", "none", "one", "all"],
)
def test_what_is_as_it_was_made_is_in_order(observed: Mapping[str, Any]) -> None:
    outcome = step(told(observed), "CHECK")
    assert (outcome.ending, outcome.reason) == (Ending.DONE, "")


def test_what_is_gone_is_a_fault() -> None:
    outcome = step(told(None), "CHECK")
    assert (outcome.ending, outcome.reason) == (Ending.FAULT, "it is not there any more")
    assert not outcome.untouched


def test_what_others_changed_is_told_with_its_values_unless_they_may_be_secrets() -> None:
    masked = "color: recorded ******, observed ******; size: recorded ******, observed ******"
    kind = told({"size": 8, "color": "secret"})
    outcome = step(kind, "CHECK")
    assert (outcome.ending, outcome.reason) == (Ending.FAULT, f"changed by others: {masked}")
    applied = {
        "definition": {
            "t": "Test",
            "v": "2021-04-16",
            "p": {"size": 7, "color": {"get_param": "color"}},
            "c": ["get_param"],
        }
    }
    reason = step(kind, "CHECK", applied=applied).reason
    assert (
        reason == "changed by others: color: recorded 'blue', observed 'secret'; size: recorded 7, observed 8"
    )
    reason = step(kind, "CHECK", applied=applied, hidden=("color",)).reason
    assert (
        reason == "changed by others: color: recorded ******, observed ******; size: recorded 7, observed 8"
    )
    reason = step(kind, "CHECK", applied={"definition": {"of": "another version"}}).reason
    assert reason == f"changed by others: {masked}"


def test_what_its_type_finds_wrong_is_a_fault_whatever_is_observed() -> None:
    outcome = step(told({"size": 7}, handle_check=ResourceFailure("it smells")), "CHECK")
    assert (outcome.ending, outcome.reason) == (Ending.FAULT, "it smells")


def test_a_check_that_cannot_look_now_looks_again() -> None:
    outcome = step(told({"size": 7}, handle_check=RetryableFailure("busy")), "CHECK")
    assert outcome.ending is Ending.RETRY


@pytest.mark.parametrize("was", [("INIT", "COMPLETE"), ("CREATE", "FAILED"), ("UPDATE", "IN_PROGRESS")])
def test_a_check_counts_what_it_cannot_look_at_as_a_fault_and_does_not_touch_it(was: tuple[str, str]) -> None:
    outcome = step(told({"size": 7}), "CHECK", was=was)
    assert (outcome.ending, outcome.reason) == (Ending.FAULT, f"it is {was[0]}_{was[1]}")
    assert outcome.untouched
    assert outcome.data == {}


def test_what_was_said_to_be_unhealthy_is_a_fault_however_it_looks() -> None:
    outcome = step(told({"size": 7}), "CHECK", was=("CHECK", "FAILED"), fragment={"unhealthy": "it hums"})
    assert (outcome.ending, outcome.reason, outcome.untouched) == (Ending.FAULT, "it hums", True)


def test_an_operation_applies_nothing_and_tells_nobody_anything() -> None:
    outcome = step(told(), "SUSPEND")
    assert outcome.ending is Ending.DONE
    assert outcome.data == {"asked": ["handle_suspend", "check_suspend_complete"]}
    assert (outcome.properties, outcome.definition_hash, outcome.node_data) == (None, None, None)


def test_an_operation_that_waits_goes_on_with_its_token() -> None:
    kind = told(handle_suspend="token", check_suspend_complete=Wait(3))
    outcome = step(kind, "SUSPEND")
    assert (outcome.ending, outcome.seconds, outcome.token) == (Ending.WAITING, 3, "token")
    assert outcome.properties is None
    outcome = step(told(), "SUSPEND", was=("SUSPEND", "IN_PROGRESS"), token="token")
    assert outcome.data == {"asked": ["check_suspend_complete"]}


def test_a_suspend_that_fails_fails_for_all() -> None:
    outcome = step(told(handle_suspend=ResourceFailure("no brakes")), "SUSPEND")
    assert (outcome.ending, outcome.reason, outcome.untouched) == (Ending.FAILED, "no brakes", False)


@pytest.mark.parametrize(
    ("action", "was"), [("SUSPEND", "CREATE"), ("RESUME", "SUSPEND"), ("SNAPSHOT", "UPDATE")]
)
def test_what_is_not_ours_is_left_alone(action: str, was: str) -> None:
    outcome = step(told(), action, was=(was, "COMPLETE"), fragment={"external": True})
    assert (outcome.ending, outcome.data) == (Ending.DONE, {})


def test_of_what_is_not_ours_a_check_only_asks_whether_it_is_there() -> None:
    assert step(told({"size": 8}), "CHECK", fragment={"external": True}).ending is Ending.DONE
    assert step(told(None), "CHECK", fragment={"external": True}).ending is Ending.FAULT


def test_what_rests_is_resumed_and_the_node_goes_on() -> None:
    outcome = step(told(), "RESUME", was=("SUSPEND", "COMPLETE"), fragment={"definition": {}}, phase=CONVERGE)
    assert outcome.ending is Ending.NEXT
    assert outcome.data == {"asked": ["handle_resume"]}
    assert (outcome.properties, outcome.definition_hash) == (None, None)


def test_what_cannot_be_resumed_is_replaced_by_an_update() -> None:
    outcome = step(
        told(handle_resume=ResourceFailure("dead")),
        "RESUME",
        was=("SUSPEND", "COMPLETE"),
        fragment={"definition": {}},
        phase=CONVERGE,
    )
    assert (outcome.ending, outcome.reason) == (Ending.REPLACE, "dead")
