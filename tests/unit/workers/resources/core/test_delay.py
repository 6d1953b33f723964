"""``OS::Heat::Delay``."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plugins.steps import PropertyChanges, ResourceState, Wait
from tests.unit.workers.resources.core.made import STARTED, UUID, errors, make
from workers.resources.core.delay import Delay

ACTIONS = ("create", "delete", "suspend", "resume")


def pair(resource: Delay, action: str) -> tuple[Callable[[], Any], Callable[[Any], bool | Wait]]:
    """Return the two steps of an action."""
    return getattr(resource, f"handle_{action}"), getattr(resource, f"check_{action}_complete")


def answer(action: str, *, now: float = STARTED, uuid: str = UUID, **properties: Any) -> bool | Wait:
    state = ResourceState(uuid=uuid, physical_id=uuid, started_at=STARTED)
    handle, check = pair(make(Delay, properties, state=state, now=now), action)
    return check(handle())


def test_only_creation_waits_unless_told_otherwise() -> None:
    assert answer("create", min_wait=5) == Wait(5.0)
    for action in ACTIONS[1:]:
        assert answer(action, min_wait=5) is True


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_that_is_named_waits_and_the_others_do_not(action: str) -> None:
    for each in ACTIONS:
        waited = answer(each, min_wait=5, actions=[action.upper()])
        assert waited == (Wait(5.0) if each == action else True)


def test_it_is_over_when_the_time_is_over() -> None:
    assert answer("create", now=STARTED + 4, min_wait=5) == Wait(1.0)
    assert answer("create", now=STARTED + 5, min_wait=5) is True


def test_without_seconds_nothing_waits() -> None:
    assert answer("create", now=STARTED - 1) is True


def test_an_update_waits_for_nothing() -> None:
    resource = make(Delay, {"min_wait": 5})
    changes = PropertyChanges(before={"min_wait": 1}, after={"min_wait": 5})
    assert not resource.needs_replace(changes)
    assert resource.check_update_complete(resource.handle_update(changes)) is True
    assert all(prop.update_allowed for prop in Delay.properties_schema.values())


def test_a_step_that_is_run_again_draws_the_same() -> None:
    assert answer("create", max_jitter=100) == answer("create", max_jitter=100)
    assert answer("create", max_jitter=100) != answer("create", max_jitter=100, uuid="another")


@given(
    least=st.floats(0, 1000),
    jitter=st.floats(0, 1000),
    multiplier=st.floats(0, 10),
    uuid=st.uuids().map(str),
)
def test_it_waits_within_its_bounds(least: float, jitter: float, multiplier: float, uuid: str) -> None:
    waited = answer("create", uuid=uuid, min_wait=least, max_jitter=jitter, jitter_multiplier=multiplier)
    seconds = waited.seconds if isinstance(waited, Wait) else 0.0
    # The clock's number is large, so tiny parts of a second get lost.
    assert least - 1e-6 <= seconds <= least + jitter * multiplier + 1e-6


def test_schema_knows_the_limits() -> None:
    given_properties = {"min_wait": -1, "max_jitter": float("inf"), "actions": ["CREATE", "DELET"]}
    assert errors(Delay, given_properties) == [
        "min_wait: -1 is out of range; it must be from 0 to 31536000",
        "max_jitter: inf is out of range; it must be from 0 to 31536000",
        (
            "actions[1]: 'DELET' is not allowed, did you mean 'DELETE'?; it must be one of 'CREATE', 'DELETE', "
            "'SUSPEND', 'RESUME'"
        ),
    ]
