"""``OS::Heat::WaitConditionHandle`` and ``OS::Heat::WaitCondition``."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plugins.steps import ResourceFailure, ResourceState, Wait
from tests.unit.workers.resources.core.made import STARTED, UUID, errors, make
from workers.resources.core.signalled import collector_of
from workers.resources.core.wait_condition import (
    CfnWaitConditionHandle,
    UpdateWaitConditionHandle,
    WaitCondition,
    WaitConditionHandle,
    signals,
)

Signal = dict[str, Any]


def signalled(*details: Signal, metadata: Signal | None = None) -> Signal:
    """Return the metadata of a handle that took these signals."""
    handle = make(WaitConditionHandle, state=ResourceState(uuid=UUID, metadata=metadata or {}))
    for signal in details:
        handle.handle_signal(signal)
    return handle.state.metadata


def condition(*details: Signal, now: float = STARTED, **properties: Any) -> WaitCondition:
    given_properties = {"handle": UUID, "timeout": 60, **properties}
    return make(WaitCondition, given_properties, now=now, watched=signalled(*details))


def test_empty_signal_is_a_success_with_the_next_number() -> None:
    assert signalled({}, {}) == {
        "1": {"status": "SUCCESS", "reason": "signal 1 received", "data": None},
        "2": {"status": "SUCCESS", "reason": "signal 2 received", "data": None},
    }


def test_signal_is_stored_as_given() -> None:
    signal = {"status": "FAILURE", "reason": "disk full", "data": {"free": 0}, "id": "web"}
    assert signalled(signal) == {"web": {"status": "FAILURE", "reason": "disk full", "data": {"free": 0}}}


def test_same_id_takes_the_place_of_the_earlier_signal() -> None:
    stored = signalled({"id": 7, "data": "old"}, {"id": "7", "data": "new"})
    assert {key: entry["data"] for key, entry in stored.items()} == {"7": "new"}


def test_signal_without_id_overwrites_none_that_has_one() -> None:
    assert list(signalled({"id": "2", "data": "mine"}, {})) == ["2", "3"]


def test_metadata_of_the_template_stays_and_is_no_signal() -> None:
    stored = signalled({}, metadata={"role": "web", "1": "one"})
    assert list(stored) == ["role", "1", "2"]
    assert list(signals(stored)) == ["2"]


@pytest.mark.parametrize(
    ("signal", "message"),
    [
        ({"state": "SUCCESS"}, r"no key 'state' \(did you mean 'status'\?\)"),
        ({"xyz": 1}, r"no key 'xyz' \(there are: status, reason, data, id\)"),
        ({"status": "success"}, "SUCCESS or FAILURE, not 'success'"),
        ({"status": None}, "SUCCESS or FAILURE, not null"),
        ({"status": ["SUCCESS"]}, "SUCCESS or FAILURE, not a list"),
        ({"id": {}}, "the id of a signal is a text, not a map"),
        ({"reason": []}, "the reason of a signal is a text, not a list"),
    ],
)
def test_malformed_signal_is_refused_and_nothing_stored(signal: Signal, message: str) -> None:
    handle = make(WaitConditionHandle)
    with pytest.raises(ResourceFailure, match=message):
        handle.handle_signal(signal)
    assert handle.state.metadata == {}


def test_signal_taken_twice_from_the_same_metadata_is_stored_once() -> None:
    before = signalled({}, {"id": "a"})
    kept = json.loads(json.dumps(before))
    assert signalled({"data": 1}, metadata=before) == signalled({"data": 1}, metadata=before)
    assert before == kept


def test_event_says_status_and_reason() -> None:
    assert make(WaitConditionHandle).handle_signal({"status": "FAILURE", "reason": "no"}) == "FAILURE: no"


def test_condition_waits_as_long_as_is_left() -> None:
    assert condition().check_create_complete(None) == Wait(60.0)
    assert condition(now=STARTED + 59.5).check_update_complete(None) == Wait(0.5)


def test_enough_signals_complete_it() -> None:
    assert condition({}, count=2).check_create_complete(None) == Wait(60.0)
    assert condition({}, {}, count=2).check_create_complete(None) is True
    assert condition({}, {}, {}, count=2).check_update_complete(None) is True


def test_enough_signals_complete_it_even_when_looked_at_late() -> None:
    assert condition({}, now=STARTED + 1000).check_create_complete(None) is True


def test_failures_fail_it_with_their_reasons() -> None:
    failures = [{"status": "FAILURE", "reason": reason} for reason in ("disk full", "no network")]
    with pytest.raises(ResourceFailure, match=r"^disk full; no network$"):
        condition(failures[0], {}, failures[1], count=1).check_create_complete(None)


def test_time_out_says_how_many_came() -> None:
    late = condition({}, {}, count=5, now=STARTED + 60)
    with pytest.raises(ResourceFailure, match="timed out after 60 seconds: 2 of 5 signals received"):
        late.check_create_complete(None)


def test_data_is_json_by_id() -> None:
    resource = condition({"id": "web", "data": [1]}, {})
    assert json.loads(resource.attribute("data")) == {"web": [1], "2": None}
    assert resource.attribute("other") is None
    assert make(WaitCondition, {"handle": UUID, "timeout": 1}).attribute("data") == "{}"


def test_limits_of_the_schema() -> None:
    assert errors(WaitCondition, {"timeout": 43201, "count": 0}) == [
        "handle: a value is required: expected a text, found nothing",
        "timeout: 43201 is out of range; it must be from 1 to 43200",
        "count: 0 is out of range; it must be at least 1",
    ]


def test_a_handle_tells_the_command_that_signals_it() -> None:
    handle = make(WaitConditionHandle)
    assert handle.attribute("curl_cli") == "isotherm stack resource signal 1 it"
    assert handle.attribute("token") is None
    assert handle.attribute("endpoint") is None


def test_handle_and_condition_have_the_uuid_as_id() -> None:
    for resource in (make(WaitConditionHandle), condition()):
        resource.handle_create()
        assert resource.reference_id() == UUID


def test_a_handle_that_updates_renew_is_signalled_like_any_other() -> None:
    handle = make(UpdateWaitConditionHandle)
    handle.handle_signal({})
    assert list(signals(handle.state.metadata)) == ["1"]
    assert UpdateWaitConditionHandle.renewed_by_updates
    assert not WaitConditionHandle.renewed_by_updates


SIGNALS = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["SUCCESS", "FAILURE"]),
        "id": st.integers(1, 4) | st.sampled_from(["a", "1"]),
        "data": st.integers(),
    },
)


@given(details=st.lists(SIGNALS, max_size=6), count=st.integers(1, 4), late=st.booleans())
def test_answer_follows_from_the_signals_alone(details: list[Signal], count: int, *, late: bool) -> None:
    stored = signals(signalled(*details))
    failed = any(entry["status"] == "FAILURE" for entry in stored.values())
    resource = condition(*details, count=count, now=STARTED + 60 * late)
    if failed or (late and len(stored) < count):
        with pytest.raises(ResourceFailure):
            resource.check_create_complete(None)
    else:
        assert resource.check_create_complete(None) == (True if len(stored) >= count else Wait(60.0))


def test_handle_of_cloudformation_takes_signals_in_its_words_and_in_ours() -> None:
    handle = make(CfnWaitConditionHandle, state=ResourceState(uuid=UUID, physical_id=UUID))
    handle.handle_signal({"Status": "FAILURE", "Reason": "full", "Data": 1, "UniqueId": "a"})
    handle.handle_signal({"status": "SUCCESS", "id": "b"})
    assert {key: entry["status"] for key, entry in signals(handle.state.metadata).items()} == {
        "a": "FAILURE",
        "b": "SUCCESS",
    }
    assert handle.reference_id() == UUID, "there is no API, and so no address"
    assert collector_of(handle) is None
