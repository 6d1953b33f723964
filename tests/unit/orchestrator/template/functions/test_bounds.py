"""How large a value functions may make."""

from typing import Any

import pytest

from orchestrator.template.functions.base import LONGEST_TEXT, FunctionError
from orchestrator.template.functions.bounds import MOST_PARTS, Extent, check_length, check_parts
from orchestrator.template.functions.numbers import as_whole


@pytest.mark.parametrize(
    ("value", "parts", "characters"),
    [
        (None, 1, 0),
        (7, 1, 0),
        ("abc", 1, 3),
        ([], 1, 0),
        (["a", ["bc"], None], 5, 3),
        ({}, 1, 0),
        ({"ab": {"c": "d"}, "e": 1}, 4, 5),
    ],
)
def test_the_extent_of_a_value(value: Any, parts: int, characters: int) -> None:
    assert Extent.of(value) == Extent(parts, characters)


def test_extents_add_up() -> None:
    assert Extent(1, 2) + Extent(3, 4) * 2 == Extent(7, 10)


def test_at_the_bounds_all_is_well() -> None:
    Extent(MOST_PARTS, LONGEST_TEXT).check()
    check_length(LONGEST_TEXT)
    check_parts(MOST_PARTS, "items")


def test_beyond_the_bounds_it_is_said_what_is_too_much() -> None:
    with pytest.raises(FunctionError, match=f"{MOST_PARTS + 1} items and entries; at most {MOST_PARTS}"):
        Extent(MOST_PARTS + 1, 0).check()
    with pytest.raises(FunctionError, match=f"{LONGEST_TEXT + 1} characters; at most {LONGEST_TEXT}"):
        Extent(1, LONGEST_TEXT + 1).check()
    with pytest.raises(FunctionError, match=f"{LONGEST_TEXT + 1} characters; at most {LONGEST_TEXT}"):
        check_length(LONGEST_TEXT + 1)
    with pytest.raises(FunctionError, match=f"{MOST_PARTS + 1} things; at most {MOST_PARTS}"):
        check_parts(MOST_PARTS + 1, "things")


@pytest.mark.parametrize(
    ("value", "whole"),
    [
        (7, 7),
        (-7, -7),
        (7.0, 7),
        ("7", 7),
        ("-7", -7),
        ("+7", 7),
        (" 007 ", 7),
        ("9" * 18, 10**18 - 1),
        ("9" * 19, None),
        ("", None),
        ("7.0", None),
        ("7_0", None),
        ("\u0667", None),
        ("- 7", None),
        (7.5, None),
        (float("inf"), None),
        (float("nan"), None),
        (True, None),
        (None, None),
        ([7], None),
    ],
)
def test_whole_numbers(value: Any, whole: int | None) -> None:
    found = as_whole(value)
    assert found == whole
    assert found is None or type(found) is int
