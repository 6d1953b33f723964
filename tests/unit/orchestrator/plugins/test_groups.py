"""Properties groups: what an expression means for what is given, and what people are told."""

from typing import Any

import pytest

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.group_declarations import parse_groups
from orchestrator.plugins.group_tables import columns, rows
from orchestrator.plugins.groups import (
    AND,
    API_VERSIONS,
    AT_MOST_ONE,
    CLIENT_PLUGIN,
    OR,
    PROPERTIES,
    VERSIONS,
    XOR,
    group_errors,
    in_words,
)

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


def test_a_long_table_shows_what_is_allowed_and_that_nothing_else_is() -> None:
    names = [["a"], ["b"], ["c"], ["d"], ["e"]]
    [exclusive, inclusive] = parse_groups([{AT_MOST_ONE: names}, {OR: names}])
    table = rows(exclusive)
    assert table[0] == ("", "", "", "", "", "yes")
    assert [line.count("given") for line in table[1:-1]] == [1] * 5
    assert table[-1] == (*["any other"] * 5, "no")
    # Of this one nearly everything is allowed: words are shorter.
    assert rows(inclusive) == ()
    [large] = parse_groups([{XOR: [[f"p{number}"] for number in range(30)]}])
    assert rows(large) == ()


def test_a_table_leaves_out_what_cannot_be_given_by_itself() -> None:
    [group] = parse_groups([{OR: [["ready"], {AND: [["ready", "tcp"], ["a"]]}]}])
    assert columns(group) == ("ready", "ready.tcp", "a", "allowed")
    assert ("", "given", "", "no") not in rows(group)
    assert len(rows(group)) == 6


def test_paths_are_written_as_whoever_asks_wants_them() -> None:
    [group, versions] = parse_groups(
        [
            {XOR: [["a"], ["b", "c"]]},
            {
                API_VERSIONS: {
                    CLIENT_PLUGIN: "cloud",
                    VERSIONS: ["2.1-2.3", ">=3"],
                    PROPERTIES: [["a"], ["b"]],
                }
            },
        ]
    )
    assert in_words(group, "<{}>".format) == "exactly one of <a> and <b.c> must be given"
    assert columns(group, "<{}>".format) == ("<a>", "<b.c>", "allowed")
    assert in_words(versions, "<{}>".format) == (
        "<a> and <b> may be given only with API versions 2.1 to 2.3 or >=3 of the client plugin 'cloud'"
    )
    assert columns(versions, "<{}>".format) == ("<a> and <b>", "API version of cloud", "allowed")
    assert rows(versions) == (
        ("not given", "any", "yes"),
        ("given", "2.1 to 2.3 or >=3", "yes"),
        ("given", "any other", "no"),
    )
