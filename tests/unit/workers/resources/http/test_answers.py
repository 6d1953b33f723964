"""What answers mean: ids, states, and whether an object is as it was sent."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plugins.steps import ResourceFailure
from workers.resources.http.answers import (
    Phase,
    as_id,
    as_seen,
    fault_of_expression,
    found_at,
    id_in_header,
    overlapping,
    phase_of,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("id", 7),
        ("items[0].id", "a"),
        ("items[?name=='b'].id | [0]", "b"),
        ('"odd key".x', 1),
        ("none", None),
        ("id.none", None),
    ],
)
def test_expressions_find_what_is_there(expression: str, found: Any) -> None:
    document = {"id": 7, "items": [{"id": "a"}, {"id": "b", "name": "b"}], "odd key": {"x": 1}}
    assert fault_of_expression(expression) == ""
    assert found_at(expression, document) == found


def test_what_is_no_expression_is_refused_and_what_does_not_fit_is_told() -> None:
    assert fault_of_expression("a b").startswith("it is no JMESPath expression")
    assert fault_of_expression("nothing(a)") == ""
    with pytest.raises(ResourceFailure, match=r"'length\(id\)' cannot be applied to what the API answered"):
        found_at("length(id)", {"id": 7})


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("a", "a"),
        (7, "7"),
        (0, "0"),
        ("", None),
        (True, None),
        (None, None),
        (1.5, None),
        ({}, None),
        ([1], None),
    ],
)
def test_only_texts_and_whole_numbers_are_ids(value: Any, found: str | None) -> None:
    assert as_id(value) == found


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("/networks/7", "7"),
        ("https://api.example/v2/networks/a%2Fb/?x=1#y", "a/b"),
        ("7", "7"),
        (" /networks/7 ", "7"),
        ("", None),
        ("/", None),
    ],
)
def test_the_last_part_of_a_header_is_the_id(value: str, found: str | None) -> None:
    assert id_in_header(value) == found


def test_states_mean_what_the_template_says() -> None:
    status: Any = {"ready": ["up", 1], "failed": ["down"], "gone": None}
    assert [phase_of(value, status) for value in ("up", 1, "down", "starting", None, True, "1")] == [
        Phase.READY,
        Phase.READY,
        Phase.FAILED,
        *[Phase.BETWEEN] * 4,
    ]
    assert phase_of("x", {"ready": ["x"], "failed": ["x"], "gone": []}) is Phase.FAILED
    assert phase_of("x", {"ready": ["y"], "failed": [], "gone": ["x"]}) is Phase.GONE


@given(sent=JSON)
def test_what_was_sent_is_itself(sent: Any) -> None:
    assert overlapping(sent, sent) == sent


@given(sent=st.dictionaries(st.text(max_size=3), JSON, max_size=3), there=JSON)
def test_what_an_api_adds_is_no_difference(sent: dict[str, Any], there: Any) -> None:
    assert overlapping(sent, {**sent, "added by the API": there}) == sent
    assert overlapping([sent], [{**sent, "added by the API": there}]) == [sent]


@given(sent=JSON, there=JSON)
def test_what_overlaps_is_equal_only_if_all_of_it_is_there(sent: Any, there: Any) -> None:
    def holds(sent: Any, there: Any) -> bool:
        if isinstance(sent, dict) and isinstance(there, dict):
            return all(key in there and holds(value, there[key]) for key, value in sent.items())
        if isinstance(sent, list) and isinstance(there, list) and len(sent) == len(there):
            return all(map(holds, sent, there))
        return bool(sent == there)

    assert (overlapping(sent, there) == sent) == holds(sent, there)


def test_a_body_is_seen_as_far_as_somebody_says_where() -> None:
    body = {"name": "a", "size": 1, "password": "p"}
    document = {"data": {"name": "b"}}
    assert as_seen(body, {"name": "data.name", "size": "data.size"}, document) == {
        **body,
        "name": "b",
        "size": None,
    }
    assert as_seen(body, {}, document) == body
