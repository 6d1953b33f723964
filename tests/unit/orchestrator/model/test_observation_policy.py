"""Observation policies: what is refused, what is ignored, and when a stack is observed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import InvalidInput
from orchestrator.model.observation_policy import ObservationPolicy
from orchestrator.model.observation_times import next_due

DAY = 86400.0
ids = st.uuids().map(str)
moments = st.floats(min_value=0, max_value=4e9)
intervals = st.floats(min_value=60, max_value=7 * DAY)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mode": "fix"}, "mode: expected one of off, detect, repair, found 'fix'"),
        ({"interval_seconds": 59}, "interval_seconds: expected 60 to 604800 seconds, found 59"),
        ({"interval_seconds": True}, "interval_seconds: expected 60 to 604800 seconds, found True"),
        ({"window": "22:00"}, "window: expected a time of the day in UTC such as 22:00-06:00"),
        ({"window": "22:00-22:00"}, "window: expected a time of the day"),
        ({"repairs_per_hour": 0}, "repairs_per_hour: expected a whole number from 1 to 100000, found 0"),
        ({"gone": "keep"}, "gone: expected one of make, report, found 'keep'"),
        ({"replace": "yes"}, "replace: expected true or false, found 'yes'"),
        ({"ignore": ["a/b/c"]}, "ignore: expected a list of TYPE, RESOURCE, TYPE/PATH or RESOURCE/PATH"),
        ({"report_only": ["a/b"]}, "report_only: expected a list of types and names of resources"),
        ({"intervall_seconds": 60}, "intervall_seconds: is no part of an observation policy"),
    ],
)
def test_a_wrong_part_is_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        ObservationPolicy.of(given)
    assert message in str(refused.value)


def test_a_policy_survives_its_way_through_plain_types() -> None:
    policy = ObservationPolicy.of(
        {"mode": "repair", "ignore": ["OS::Nova::Server/metadata"], "replace": True}
    )
    assert ObservationPolicy.of(policy.to_wire()) == policy
    assert policy.ignore == ("OS::Nova::Server/metadata",)


def test_what_is_ignored_is_a_resource_a_type_or_a_part_of_a_property() -> None:
    policy = ObservationPolicy.of({"ignore": ["web", "T::A/tags.owner", "*/note"]})
    assert policy.ignores("web", "T::A")
    assert policy.ignores("web", "T::A", ("size",))
    assert policy.ignores("db", "T::A", ("tags", "owner"))
    assert policy.ignores("db", "T::A", ("tags", "owner", 0))
    assert policy.ignores("db", "T::B", ("note",))
    assert not policy.ignores("db", "T::A")
    assert not policy.ignores("db", "T::A", ("tags",))
    assert not policy.ignores("db", "T::A", ("tags", "cost"))
    assert not policy.ignores("db", "T::B", ("tags", "owner"))


def test_only_repair_repairs() -> None:
    assert ObservationPolicy(mode="detect").only_reports("a", "T")
    policy = ObservationPolicy(mode="repair", report_only=("T", "b"))
    assert policy.only_reports("a", "T")
    assert policy.only_reports("b", "U")
    assert not policy.only_reports("a", "U")


@given(ids, intervals, moments)
def test_a_stack_is_due_once_in_each_interval_at_its_own_moment(
    stack_id: str, interval: float, after: float
) -> None:
    policy = ObservationPolicy(mode="detect", interval_seconds=interval)
    first = next_due(stack_id, policy, after)
    assert first is not None
    assert after < first <= after + interval + 1e-5
    second = next_due(stack_id, policy, first)
    assert second == pytest.approx(first + interval, abs=1e-4)


@given(ids, intervals, moments, st.integers(0, 1439), st.integers(1, 1439))
def test_a_stack_is_due_within_its_window(
    stack_id: str, interval: float, after: float, begin: int, length: int
) -> None:
    end = (begin + length) % 1440
    window = f"{begin // 60:02}:{begin % 60:02}-{end // 60:02}:{end % 60:02}"
    policy = ObservationPolicy(mode="detect", interval_seconds=interval, window=window)
    due = next_due(stack_id, policy, after)
    assert due is not None
    assert due > after
    since = (due - 60 * begin) % DAY
    # Floats near a whole day round either way.
    assert since <= 60 * length + 1e-3 or since > DAY - 1e-3
    assert due <= after + interval + 2 * DAY


def test_a_policy_that_is_off_is_never_due() -> None:
    assert next_due("a", ObservationPolicy(), 5.0) is None


def test_many_stacks_are_spread_over_the_interval() -> None:
    policy = ObservationPolicy(mode="detect", interval_seconds=900)
    dues = [next_due(f"stack-{number}", policy, 900_000.0) or 0.0 for number in range(9000)]
    tenths = [sum(900_000 + 90 * part < due <= 900_090 + 90 * part for due in dues) for part in range(10)]
    assert min(tenths) > 800
    assert max(tenths) < 1000
