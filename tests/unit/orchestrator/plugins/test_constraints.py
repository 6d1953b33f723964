"""Constraints: what they refuse, and in which words."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plugins.constraints import (
    AllowedPattern,
    AllowedValues,
    CannotEvaluate,
    Constraint,
    Length,
    Modulo,
    Range,
    is_plain,
    shown,
)


@pytest.mark.parametrize(
    ("constraint", "value", "sentence"),
    [
        (Range(1, 512), 0, "0 is out of range; it must be from 1 to 512"),
        (Range(min=1), -2.5, "-2.5 is out of range; it must be at least 1"),
        (Range(max=3), 4, "4 is out of range; it must be at most 3"),
        (Range(1, 3), float("nan"), "nan is out of range; it must be from 1 to 3"),
        (Range(1, 3), True, "true is not a number; it must be from 1 to 3"),
        (Length(8), "secret", "the length is 6; it must be at least 8"),
        (Length(2, 2), [1], "the length is 1; it must be exactly 2"),
        (Length(max=0), {"a": 1}, "the length is 1; it must be at most 0"),
        (Length(1), 5, "5 has no length; it must be at least 1"),
        (Modulo(4, 2), 4, "4 does not fit; it must be a multiple of 4 plus 2"),
        (Modulo(2, 0), "2", "'2' is not a number; it must be a multiple of 2"),
        (AllowedValues((1, 2)), True, "true is not allowed; it must be one of 1, 2"),
        (AllowedValues(("a",)), ["a", "b"], "'b' is not allowed; it must be one of 'a'"),
        (AllowedPattern("a|ab"), "abc", "'abc' does not match; it must match the pattern 'a|ab' as a whole"),
        (AllowedPattern("a"), None, "null is not a text; it must match the pattern 'a' as a whole"),
    ],
)
def test_refusal_says_what_was_found_and_what_must_be(
    constraint: Constraint, value: Any, sentence: str
) -> None:
    assert constraint.check(value) == sentence


@pytest.mark.parametrize(
    ("constraint", "value"),
    [
        (Range(1, 512), 1),
        (Range(1, 512), 512),
        (Length(3, 3), "abc"),
        (Length(max=2), {}),
        (Modulo(4, 2), 6),
        (Modulo(-3, -1), -4),
        (AllowedValues(("a", "b")), ["b", "a", "b"]),
        (AllowedValues((1.0,)), 1),
        (AllowedPattern("a|ab"), "ab"),
    ],
)
def test_what_holds_has_nothing_said_about_it(constraint: Constraint, value: Any) -> None:
    assert constraint.check(value) is None


def test_nearest_allowed_value_is_named() -> None:
    sentence = AllowedValues(("SUCCESS", "FAILURE")).check("SUCESS")
    assert sentence is not None
    assert "did you mean 'SUCCESS'?" in sentence


def test_long_list_of_allowed_values_is_cut() -> None:
    rule = AllowedValues(tuple(range(25))).describe()
    assert rule.endswith("18, 19 or 5 more")


def test_description_replaces_the_sentence() -> None:
    constraint = Length(8, description="choose a longer password")
    assert constraint.check("short") == "choose a longer password"
    assert constraint.describe() == "choose a longer password"
    assert constraint.check("long enough") is None


@pytest.mark.parametrize(
    ("constraint", "sentence"),
    [
        (AllowedPattern("[a-z]+"), "must match the pattern '[a-z]+' as a whole"),
        (AllowedValues(("a", "b")), "must be one of 'a', 'b'"),
        (Range(1, 2), "must be from 1 to 2"),
        (Length(9, description="choose a longer password"), "choose a longer password"),
    ],
)
def test_of_a_secret_only_the_rule_is_said(constraint: Constraint, sentence: str) -> None:
    assert constraint.check("73519", secret=True) == sentence


class Closed(Constraint):
    """Cannot be asked."""

    def rule(self) -> str:
        return "must be in the archive"

    def fault(self, value: Any) -> str | None:
        raise CannotEvaluate("the archive is closed")


@pytest.mark.parametrize("constraint", [Closed(), Closed(description="look in the archive first")])
@pytest.mark.parametrize("secret", [False, True])
def test_what_cannot_be_asked_says_why_and_nothing_of_the_rule(constraint: Constraint, secret: bool) -> None:
    assert constraint.check("73519", secret=secret) == "the archive is closed"


def test_own_constraints_can_be_asked_anywhere() -> None:
    assert Length(1).is_available


def test_length_never_says_the_text() -> None:
    assert "hunter2" not in str(Length(20).check("hunter2"))


def test_long_values_are_cut_in_sentences() -> None:
    assert shown("x" * 1000) == "'" + "x" * 55 + "...'"
    assert shown({"a": 1}) == "a map"
    assert shown([1]) == "a list"


@pytest.mark.parametrize(
    "build",
    [
        Range,
        lambda: Range(2, 1),
        Length,
        lambda: Length(-1),
        lambda: Modulo(0, 0),
        lambda: Modulo(2, 2),
        lambda: Modulo(3, -1),
        lambda: AllowedValues(()),
        lambda: AllowedPattern("("),
    ],
)
def test_senseless_constraint_is_refused(build: Any) -> None:
    with pytest.raises(ValueError):
        build()


@given(low=st.integers(-50, 50), size=st.integers(0, 50), value=st.integers(-120, 120))
def test_range_agrees_with_python(low: int, size: int, value: int) -> None:
    assert (Range(low, low + size).check(value) is None) == (value in range(low, low + size + 1))


@given(text=st.text())
def test_pattern_of_a_text_itself_matches_it_alone(text: str) -> None:
    constraint = AllowedPattern(re.escape(text))
    assert constraint.check(text) is None
    assert constraint.check(text + "x") is not None


@pytest.mark.parametrize(
    ("constraint", "rule"),
    [
        (Length(1), "must have a length of at least 1"),
        (Length(2, 2), "must have a length of exactly 2"),
        (Length(1, 9), "must have a length from 1 to 9"),
        (Range(1), "must be at least 1"),
        (AllowedPattern("[a-z]+"), "must match the pattern '[a-z]+' as a whole"),
        (Length(1, description="say something"), "say something"),
    ],
)
def test_a_rule_is_understood_without_a_value(constraint: Constraint, rule: str) -> None:
    assert constraint.describe() == rule


@pytest.mark.parametrize(
    "pattern", ["0[0-7]{3}", "[^\\x00-\\x1f]*", r"[]a(|)]+", r"\(\|\)*", "abc", "a?", r"\[x*\]"]
)
def test_what_cannot_take_long_is_matched_at_once(pattern: str) -> None:
    assert is_plain(pattern)


@pytest.mark.parametrize("pattern", ["(a+)+$", "a*a*", "a|b", "(a)", "[a-z]+x?", "(?i)a", "(?=a)"])
def test_of_other_patterns_nobody_knows(pattern: str) -> None:
    assert not is_plain(pattern)


def test_a_careless_pattern_cannot_hang_a_process() -> None:
    pattern = AllowedPattern("(a+)+$")
    assert pattern.check("aaaa") is None
    assert pattern.check("a" * 60 + "b") == "the pattern '(a+)+$' took longer than 1 s"
    assert pattern.check("b") == "'b' does not match; it must match the pattern '(a+)+$' as a whole"
    assert pattern.check("a\ud800") == "the pattern '(a+)+$' could not be matched"
