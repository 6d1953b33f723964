"""Patterns of templates: the same as Python's, but a hostile one ends."""

import re
from copy import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.limits import Limits
from orchestrator.plugins.constraints import AllowedPattern, CannotEvaluate
from orchestrator.sandbox.child import Fault
from orchestrator.sandbox.process import DIED
from orchestrator.template import patterns
from orchestrator.template.patterns import BoundedPattern
from tests.waiting import PATIENCE_SECONDS

LIMITS = Limits(pattern_seconds=PATIENCE_SECONDS)
IMPATIENT = Limits(pattern_seconds=0.3)


def hurried(constraint: BoundedPattern) -> BoundedPattern:
    """Return a pattern that has less time to match than it had to compile."""
    hasty = copy(constraint)
    object.__setattr__(hasty, "limits", IMPATIENT)
    return hasty


@pytest.mark.filterwarnings("ignore:Possible")
@given(
    st.one_of(
        st.text(),
        st.text(alphabet="ab(|)*+?[]^-.{}1,\\wd$:=!<P>", max_size=12),
    ),
    st.text(alphabet="ab1\n[]:{}", max_size=8),
)
def test_a_pattern_says_what_python_says(pattern: str, text: str) -> None:
    try:
        expected: AllowedPattern = AllowedPattern(pattern)
    except (ValueError, OverflowError):
        with pytest.raises(ValueError, match=r"is no regular expression|could not be matched"):
            BoundedPattern(pattern, LIMITS)
    else:
        assert BoundedPattern(pattern, LIMITS).check(text) == expected.check(text)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("a|ab", "ab", True),
        ("a+?", "aaa", True),
        ("^a$", "a\n", False),
        ("a", "ba", False),
        (r"\w+", "größe", True),
        ("[[:alpha:]]", ":]", True),
        ("(?:cat){e}", "cat{e}", True),
        ("", "", True),
    ],
)
@pytest.mark.filterwarnings("ignore:Possible")
def test_the_whole_text_matches_or_none(pattern: str, text: str, matches: bool) -> None:
    assert BoundedPattern(pattern, LIMITS).matches(text) is matches


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 60 + "!"),
        ("(a|a)*b", "a" * 60),
        ("(a|aa)+$", "a" * 90 + "!"),
        ("(.*.*.*.*.*)x", "a" * 5_000),
        (r"(\w+\s?)*:", "word " * 40),
    ],
)
def test_a_pattern_that_never_ends_refuses_the_value(pattern: str, text: str) -> None:
    constraint = hurried(BoundedPattern(pattern, LIMITS, description="never said"))
    sentence = f"the pattern {pattern!r} took longer than 0.3 seconds (setting pattern_seconds)"
    assert constraint.check(text) == sentence
    assert constraint.check(text, secret=True) == sentence
    with pytest.raises(CannotEvaluate):
        constraint.fault(text)


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("(", "is no regular expression: missing ), unterminated subpattern at position 0"),
        ("a{99999999999}", "is no regular expression: the repetition number is too large"),
        ("(" * 20_000 + ")" * 20_000, "is nested too deep"),
        ("(?i)" + "[\x00-\uffff]" * 50_000, "took longer than 0.3 seconds"),
        ("x" * 20_000_000, "could not be matched"),
        ("\ud800", "could not be matched"),
    ],
    ids=["open", "many", "deep", "sets", "long", "surrogate"],
)
def test_a_pattern_that_cannot_be_compiled_is_refused(pattern: str, sentence: str) -> None:
    limits = IMPATIENT if "longer" in sentence else LIMITS
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        BoundedPattern(pattern, limits)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("count", [1000, 65_000])
def test_nested_counts_cost_nothing_to_compile(count: int) -> None:
    pattern = f"(((a{{1,{count}}}){{1,{count}}}){{1,{count}}}){{1,{count}}}"
    assert BoundedPattern(pattern, LIMITS).matches("aaa")
    fixed = "(?:" * 14 + "a" + "{3})" * 14
    assert not BoundedPattern(fixed, LIMITS).matches("aaa")


def test_a_pattern_that_needs_too_much_memory_refuses_the_value() -> None:
    limits = Limits(pattern_seconds=PATIENCE_SECONDS, yaql_memory_mib=64)
    constraint = BoundedPattern("(?:(a)|(b))*c", limits)
    sentence = "the pattern '(?:(a)|(b))*c' needs more than 64 MiB of memory (setting yaql_memory_mib)"
    assert constraint.check("ab" * 3_000_000) == sentence


def test_a_process_that_breaks_down_refuses_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dying:
        def ask(self, *_: object, **__: object) -> None:
            raise Fault(DIED)

    constraint = BoundedPattern("a", LIMITS)
    monkeypatch.setattr(patterns, "_SANDBOX", Dying())
    assert constraint.check("a") == "the pattern 'a' could not be matched"


def test_what_is_no_text_is_not_asked_about() -> None:
    assert BoundedPattern("a", LIMITS).check(7) == "7 is not a text; it must match the pattern 'a' as a whole"


def test_patterns_are_equal_by_what_they_demand() -> None:
    assert BoundedPattern("a", LIMITS) == BoundedPattern("a", LIMITS)
    assert hash(BoundedPattern("a", LIMITS)) == hash(BoundedPattern("a", LIMITS))
    assert BoundedPattern("a", LIMITS) != BoundedPattern("b", LIMITS)
