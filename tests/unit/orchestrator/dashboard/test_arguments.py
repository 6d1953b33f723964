"""What an address asks for, as it is read."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.dashboard.arguments import event_filter, operation_filter, stack_query, whole
from orchestrator.errors import InvalidInput
from orchestrator.model.event_filter import ALL_EVENTS
from orchestrator.model.operation_filter import ALL_OPERATIONS, OperationFilter
from orchestrator.queries.observer import StackQuery


def test_who_asks_for_nothing_gets_the_usual() -> None:
    assert stack_query({}) == StackQuery()
    assert event_filter({}) == ALL_EVENTS


def test_states_have_commas_between_them() -> None:
    query = stack_query({"states": "CREATE_FAILED,,UPDATE_FAILED", "descending": "0", "deleted": "1"})
    assert query.states == ("CREATE_FAILED", "UPDATE_FAILED")
    assert (query.descending, query.deleted, query.nested) == (False, True, False)
    assert (query.partial, stack_query({"partial": "1"}).partial) == (False, True)


def test_a_part_of_a_name_finds_it_and_a_pattern_is_one() -> None:
    assert event_filter({"resource": " web "}).resources == ("*web*",)
    assert event_filter({"resource": "web_?"}).resources == ("web_?",)
    assert event_filter({"resource": "  "}).resources == ()


def test_a_list_is_filtered_by_name_tags_and_age() -> None:
    query = stack_query(
        {"name": " web-* ", "tags": "prod, eu,prod", "moment": "updated", "over": "2d", "within": "1.5 w"}
    )
    assert (query.name, query.tags, query.moment) == ("web-*", ("prod", "eu"), "updated")
    assert (query.over_seconds, query.within_seconds) == (2 * 86400, 1.5 * 7 * 86400)


@pytest.mark.parametrize(
    ("name", "sent", "sentence"),
    [
        ("over", "7x", "over: expected a duration such as 90s, 15m, 12h, 30d or 2w, found '7x'"),
        ("within", "99999999w", "within: expected a duration"),
        ("moment", "change", "moment: expected one of created, begun, updated, found 'change'"),
        ("tags", "a,,b", "tags: expected a text of 1 to 80 characters"),
        ("name", "x" * 300, "name: expected at most 255 characters, found 300"),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(name: str, sent: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        stack_query({name: sent})


def test_a_history_is_filtered_by_action_status_and_user() -> None:
    assert operation_filter({}) == ALL_OPERATIONS
    sent = {"action": "CREATE,UPDATE", "status": "FAILED", "user": " ann "}
    expected = OperationFilter(actions=("CREATE", "UPDATE"), statuses=("FAILED",), user="ann")
    assert operation_filter(sent) == expected
    with pytest.raises(InvalidInput, match=r"status: expected one of .*did you mean 'FAILED'"):
        operation_filter({"status": "COMPLETE,FAILD"})


@given(sent=st.text(max_size=30))
def test_a_number_is_one_within_its_bounds_or_is_refused(sent: str) -> None:
    try:
        found = whole({"limit": sent}, "limit", 7, least=1, most=500)
    except InvalidInput as error:
        assert str(error).startswith("limit: expected a whole number from 1 to 500, found ")  # noqa: PT017
        assert not (sent.isascii() and sent.isdigit() and 1 <= int(sent) <= 500)
    else:
        assert found == (int(sent) if sent else 7)


@pytest.mark.parametrize("sent", ["501", "0", "+3", "٣", "1e2", "9" * 400])
def test_a_number_that_looks_like_one_is_refused_all_the_same(sent: str) -> None:
    with pytest.raises(InvalidInput, match="limit: expected a whole number"):
        whole({"limit": sent}, "limit", 7, least=1, most=500)


def test_the_largest_number_is_within_its_bounds() -> None:
    assert whole({"before": str(2**53)}, "before", 0) == 2**53
    with pytest.raises(InvalidInput):
        whole({"before": str(2**53 + 1)}, "before", 0)
