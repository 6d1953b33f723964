"""What a rule speaks of is what a template says, however it is spelt; what is hidden cannot be told."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.builtin.policy.truth import Truth, every, opposite, some
from hooks.builtin.policy.values import as_number, as_text, in_words, same
from hooks.values.frozen import frozen
from hooks.values.unknown import UNKNOWN


@pytest.mark.parametrize(
    ("wanted", "found", "truth"),
    [
        ("a", "a", True),
        ("a", "A", False),
        (True, True, True),
        (True, "True", True),
        (True, "false", False),
        (True, "yes", False),
        ("true", True, True),
        (True, 1, False),
        (1, True, False),
        (80, "80", True),
        ("80", 80, True),
        (80, " 80 ", True),
        (80, 80.0, True),
        (80, "eighty", False),
        (0.5, "0.5", True),
        (0, "", False),
        ("a", "******", None),
        ("a", "a-******", None),
        (5, "******", None),
        (["a"], "******", None),
        ("a", UNKNOWN, None),
        ({"a": 1}, UNKNOWN, None),
        (["a", 1], ["a", "1"], True),
        (["a", 1], ["a"], False),
        (["a", 1], ["a", UNKNOWN], None),
        (["a", 1], ["b", UNKNOWN], False),
        ({"a": 1}, {"a": "1"}, True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1, "b": 2}, {"a": 1, "b": UNKNOWN}, None),
        ({"a": 1, "b": 2}, {"a": 2, "b": UNKNOWN}, False),
        ("a", ["a"], False),
        (["a"], "a", False),
        ({"a": 1}, ["a"], False),
        ("{}", {}, False),
    ],
)
def test_same_values_are_the_same_however_they_are_spelt(wanted: Any, found: Any, truth: Truth) -> None:
    assert same(wanted, frozen(found)) is truth


@pytest.mark.parametrize(
    ("value", "number"),
    [(5, 5), ("5", 5), ("5.5", 5.5), (True, None), ("true", None), (None, None), ("", None), ([5], None)],
)
def test_a_number_is_what_spells_one(value: Any, number: float | None) -> None:
    assert as_number(value) == number


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (5, "5"), (True, "true"), (False, "false"), ([], None), ({}, None), (None, None)],
)
def test_a_text_is_what_can_be_written_as_one(value: Any, text: str | None) -> None:
    assert as_text(value) == text


def test_values_are_told_as_rule_files_write_them() -> None:
    assert in_words({"a": [True, None, "x", 1.5]}) == "{a: [true, null, 'x', 1.5]}"


truths = st.lists(st.sampled_from([True, False, None]), max_size=5)


@given(truths)
def test_what_is_not_true_of_every_one_is_false_of_some(those: list[Truth]) -> None:
    assert opposite(every(those)) is some(map(opposite, those))


@given(truths)
def test_what_is_told_stays_so_whatever_comes_to_light(those: list[Truth]) -> None:
    for known in (True, False):
        revealed = [known if truth is None else truth for truth in those]
        for judge in (every, some):
            if judge(those) is not None:
                assert judge(revealed) is judge(those)
