"""Properties groups: what an expression means for what is given, and what people are told."""

from typing import Any

import pytest

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.group_declarations import parse_groups
from orchestrator.plugins.group_tables import columns, rows
from orchestrator.plugins.groups import AND, AT_MOST_ONE, OR, XOR, group_errors, in_words

#: Either a text, or where it comes from.
SOURCE = {XOR: [["content"], {AND: [["source"], ["url"]]}]}


def told(declared: Any, given: dict[str, Any]) -> list[str]:
    """Return what people are told of what is given."""
    return [str(error) for error in group_errors(parse_groups([declared]), given)]


def test_a_group_says_what_it_expects_and_what_was_found() -> None:
    assert told(SOURCE, {"content": "x", "source": "y", "url": "z"}) == [
        "expected exactly one of content and (both source and url), found content, source and url"
    ]
    assert told(SOURCE, {}) == [
        "expected exactly one of content and (both source and url), found none of them"
    ]
    assert told(SOURCE, {"content": "x"}) == []
    assert told(SOURCE, {"source": "y", "url": "z"}) == []


def test_half_of_another_alternative_is_no_alternative() -> None:
    [sentence] = told(SOURCE, {"content": "x", "source": "y"})
    assert sentence == (
        "source: expected exactly one of content and (both source and url), found content and source "
        "(source may be given only as both source and url)"
    )


@pytest.mark.parametrize("empty", ["", 0, False, [], {}], ids=repr)
def test_null_is_not_given_and_an_empty_value_is(empty: Any) -> None:
    either = {XOR: [["a"], ["b"]]}
    assert told(either, {"a": None, "b": "x"}) == []
    assert told(either, {"a": empty}) == []


def test_what_is_inside_a_value_that_is_not_known_yet_is_not_judged() -> None:
    either = {XOR: [["ready", "tcp"], ["ready", "http"]]}
    assert told(either, {"ready": UNKNOWN}) == []
    assert told(either, {"ready": {"tcp": UNKNOWN, "http": UNKNOWN}}) == [
        "ready: expected exactly one of ready.tcp and ready.http, found ready.tcp and ready.http"
    ]


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (SOURCE, "exactly one of content and (both source and url) must be given"),
        ({AND: [["a"], ["b"], ["c", "d"]]}, "all of a, b and c.d must be given"),
        (
            {OR: [["a"], {XOR: [["b"], ["c"]]}]},
            "at least one of a and (exactly one of b and c) must be given",
        ),
        ({AT_MOST_ONE: [["a"], ["b"]]}, "at most one of a and b may be given"),
        ({AT_MOST_ONE: [{AND: [["a"], ["b"]]}]}, "all or none of a and b may be given"),
    ],
)
def test_every_group_can_be_said(declared: Any, words: str) -> None:
    [group] = parse_groups([declared])
    assert in_words(group) == words


def test_a_table_has_a_line_for_each_combination() -> None:
    [group] = parse_groups([{AT_MOST_ONE: [["a"], ["b"]]}])
    assert columns(group) == ("a", "b", "allowed")
    assert rows(group) == (
        ("", "", "yes"),
        ("", "given", "yes"),
        ("given", "", "yes"),
        ("given", "given", "no"),
    )
