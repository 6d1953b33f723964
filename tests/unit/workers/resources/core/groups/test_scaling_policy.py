"""What a signal comes to: the new size, or a sentence why there is none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.scaling import Scaling
from orchestrator.plugins.steps import ResourceFailure, ResourceState
from tests.unit.workers.resources.core.groups.fake_child import FakeChild, make_stack
from tests.unit.workers.resources.core.made import STARTED, UUID, make, validate
from workers.resources.core.groups.auto_scaling_group import AutoScalingGroup
from workers.resources.core.groups.scaling_policy import (
    CHANGE,
    EXACT,
    PERCENT,
    ScalingPolicy,
    adjusted_size,
)


@pytest.mark.parametrize(
    ("current", "kind", "adjustment", "min_step", "size"),
    [
        (3, CHANGE, 1, None, 4),
        (3, CHANGE, -2, None, 1),
        (3, CHANGE, -9, None, -6),
        (3, CHANGE, 1.9, None, 4),
        (3, CHANGE, 0, None, 3),
        (3, EXACT, 7, None, 7),
        (3, EXACT, 7.9, None, 7),
        (10, PERCENT, 50, None, 15),
        (10, PERCENT, -50, None, 5),
        # Below one member, away from zero; above, toward it.
        (3, PERCENT, 10, None, 4),
        (3, PERCENT, -10, None, 2),
        (15, PERCENT, 10, None, 16),
        (15, PERCENT, -10, None, 14),
        (10, PERCENT, 0, 5, 10),
        (0, PERCENT, 50, 5, 0),
        (10, PERCENT, 10, 3, 13),
        (10, PERCENT, -10, 3, 7),
        (10, PERCENT, 50, 3, 15),
        (10, PERCENT, 1, 0, 11),
    ],
)
def test_the_size_that_an_adjustment_leads_to(
    current: int, kind: str, adjustment: float, min_step: int | None, size: int
) -> None:
    assert adjusted_size(current, kind, adjustment, min_step) == size


@given(
    current=st.integers(1, 1000),
    percent=st.floats(-100, 100).filter(bool),
    min_step=st.none() | st.integers(0, 9),
)
def test_percents_always_change_something_and_never_too_much(
    current: int, percent: float, min_step: int | None
) -> None:
    change = adjusted_size(current, PERCENT, percent, min_step) - current
    exactly = current * percent / 100
    if exactly:
        assert change * exactly > 0
    assert abs(change) <= max(abs(exactly), min_step or 1)


def group(size: int = 3, **more: Any) -> AutoScalingGroup:
    properties = {"resource": {"type": "T"}, "min_size": 1, "max_size": 5, "desired_capacity": size, **more}
    child = FakeChild()
    made = make_stack(AutoScalingGroup, child, properties)
    made.handle_create()
    child.succeed()
    return made


def policy(adjustment: float = 1, *, metadata: dict[str, Any] | None = None, **more: Any) -> ScalingPolicy:
    properties = {"scaling_adjustment": adjustment, "adjustment_type": CHANGE, **more}
    state = ResourceState(uuid=UUID, metadata=metadata or {}, started_at=STARTED)
    return make(ScalingPolicy, {"auto_scaling_group_id": "g", **properties}, state=state)


def test_a_signal_changes_the_size_and_takes_down_when() -> None:
    signalled = policy(metadata={"own": 1})
    assert signalled.scaling(group(), {}) == Scaling(sentence="the size goes from 3 to 4", size=4)
    assert signalled.state.metadata == {"own": 1, "last_scaling": {"at": STARTED, "from": 3, "to": 4}}


@pytest.mark.parametrize(("adjustment", "size"), [(9, 5), (-9, 1)])
def test_the_size_stays_within_the_bounds(adjustment: int, size: int) -> None:
    assert policy(adjustment).scaling(group(), {}).size == size


@pytest.mark.parametrize(
    ("signalled", "of", "details", "sentence"),
    [
        (policy(), group(5), {}, "the size stays 5"),
        (policy(0), group(), {}, "the size stays 3"),
        (policy(), group(), {"state": "OK"}, "is no alarm"),
        (policy(), group(), {"current": "insufficient data"}, "is no alarm"),
        (
            policy(cooldown=60, metadata={"last_scaling": {"at": STARTED - 20}}),
            group(),
            {},
            "for 40 more seconds",
        ),
    ],
)
def test_nothing_happens_and_it_is_said_why(
    signalled: ScalingPolicy, of: AutoScalingGroup, details: dict[str, Any], sentence: str
) -> None:
    before = signalled.state.metadata
    scaling = signalled.scaling(of, details)
    assert scaling.size is None
    assert sentence in scaling.sentence
    assert signalled.state.metadata == before


def test_the_groups_own_cooldown_counts_too() -> None:
    cooling = group(cooldown=60)
    cooling.resize(4)
    assert "for 60 more seconds" in policy().scaling(cooling, {}).sentence


@pytest.mark.parametrize("metadata", [{"last_scaling": "never"}, {"last_scaling": {"at": None}}, {}])
def test_metadata_that_a_template_made_up_hold_nothing_back(metadata: dict[str, Any]) -> None:
    assert policy(cooldown=60, metadata=metadata).scaling(group(), {}).size == 4


@pytest.mark.parametrize("state", ["ALARM", "alarm", "Alarm"])
def test_an_alarm_is_an_alarm_however_it_is_spelt(state: str) -> None:
    assert policy().scaling(group(), {"state": state}).size == 4


def test_a_state_that_is_no_text_is_refused() -> None:
    with pytest.raises(ResourceFailure, match="the state of a signal is a text, not"):
        policy().scaling(group(), {"state": {}})


def test_the_smallest_step_goes_with_percents_only() -> None:
    given = {"auto_scaling_group_id": "g", "scaling_adjustment": 1, "min_adjustment_step": 2}
    with pytest.raises(
        PropertyError, match="min_adjustment_step: it goes with percent_change_in_capacity only"
    ):
        validate(ScalingPolicy, {**given, "adjustment_type": CHANGE})
    validate(ScalingPolicy, {**given, "adjustment_type": PERCENT})
    validate(ScalingPolicy, {**given, "adjustment_type": UNKNOWN})


def test_there_is_a_command_that_signals_and_no_url() -> None:
    assert policy().attribute("curl_cli") == "isotherm stack resource signal 1 it"
    assert policy().attribute("signal_url") is None
    assert policy().attribute("alarm_url") is None
