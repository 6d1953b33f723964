"""The constraint of texts that hold JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.constraints.json_string import JsonString

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(values)
def test_every_value_that_is_written_as_json_is_json(value: Any) -> None:
    assert JsonString().fault(json.dumps(value)) is None
    assert JsonString().fault(json.dumps(value, ensure_ascii=False, indent=1)) is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "Expecting value at line 1, column 1"),
        ("{'a': 1}", "Expecting property name enclosed in double quotes at line 1, column 2"),
        ("[1,\n 2", "Expecting ',' delimiter at line 2, column 3"),
        ("[NaN]", "NaN is no number of JSON"),
        ("-Infinity", "-Infinity is no number of JSON"),
        ("[" * 100_000, "it is nested too deep"),
        ("\ud800", "Expecting value at line 1, column 1"),
        (None, "it is no text"),
        (7, "it is no text"),
        ({}, "it is no text"),
    ],
    ids=[f"case{number}" for number in range(10)],
)
def test_what_is_no_json_is_told_why(value: Any, reason: str) -> None:
    fault = JsonString().fault(value)
    assert fault is not None
    assert fault.endswith(f" is no JSON: {reason}")


def test_long_numbers_cost_nothing() -> None:
    assert JsonString().fault("9" * 1_000_000) is None
