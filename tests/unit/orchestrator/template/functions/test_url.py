"""make_url, part by part, with encoding and errors."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.definition import UNKNOWN, ResourceProxy, StackDefinition
from tests.unit.orchestrator.template.functions.conftest import Caller

Stack = Callable[..., StackDefinition]


@pytest.mark.parametrize("version", ["pike", "wallaby"])
@pytest.mark.parametrize(
    ("parts", "result"),
    [
        ({}, ""),
        ({"scheme": "http", "host": "example.com", "path": "/foo/bar"}, "http://example.com/foo/bar"),
        ({"scheme": "http", "host": "h", "path": "a"}, "http://h/a"),
        ({"scheme": "http", "host": "h"}, "http://h"),
        ({"host": "h", "path": "/a"}, "//h/a"),
        ({"path": "/a"}, "/a"),
        ({"path": "a"}, "a"),
        ({"scheme": "", "host": "", "path": "", "query": {}, "fragment": ""}, ""),
        # Users: everything is encoded.
        ({"scheme": "ftp", "username": "u", "host": "h"}, "ftp://u@h"),
        ({"scheme": "ftp", "username": "u", "password": "p", "host": "h"}, "ftp://u:p@h"),
        (
            {"username": "a/b:c@d", "password": "e f/?#é", "host": "h"},
            "//a%2Fb%3Ac%40d:e%20f%2F%3F%23%C3%A9@h",
        ),
        ({"password": "p", "host": "h"}, "//:p@h"),
        ({"username": "", "password": "", "host": "h"}, "//h"),
        # Hosts: addresses in brackets or without.
        ({"host": "::1"}, "//[::1]"),
        ({"host": "[::1]", "port": 80}, "//[::1]:80"),
        ({"host": "fe80::1%eth0"}, "//[fe80::1%25eth0]"),
        ({"host": "10.0.0.1"}, "//10.0.0.1"),
        ({"host": "a/b@c"}, "//a%2Fb%40c"),
        # Ports.
        ({"host": "h", "port": 1}, "//h:1"),
        ({"host": "h", "port": "65535"}, "//h:65535"),
        ({"host": "h", "port": " 080 "}, "//h:80"),
        ({"host": "h", "port": 80.0}, "//h:80"),
        # Paths, queries, fragments.
        ({"path": "/a b/c?d#e%f"}, "/a%20b/c%3Fd%23e%25f"),
        ({"query": {"a": "1", "b c": "d/e f&=?"}}, "?a=1&b+c=d/e+f%26%3D%3F"),
        ({"query": {"n": 1, "f": 1.5, "t": True, "x": None, "": ""}}, "?n=1&f=1.5&t=True&x=&="),
        ({"query": {"a": "%2F"}}, "?a=%252F"),
        ({"fragment": "a/b c#"}, "#a/b%20c%23"),
        (
            {
                "scheme": "https",
                "username": "u",
                "password": "p",
                "host": "h",
                "port": 8443,
                "path": "a/b",
                "query": {"k": "v"},
                "fragment": "f",
            },
            "https://u:p@h:8443/a/b?k=v#f",
        ),
    ],
)
def test_make_url(call: Any, version: str, parts: dict[str, Any], result: str) -> None:
    assert call({"make_url": parts}, version=version) == result


@pytest.mark.parametrize(
    ("parts", "path", "message"),
    [
        ("http://h", "", "expected a map of a URL's parts, found text"),
        (["h"], "", "expected a map of a URL's parts, found a list"),
        (None, "", "expected a map of a URL's parts, found null"),
        ({"get_param": "p"}, "", "expected a map of a URL's parts, found a call of get_param"),
        ({"hosts": "h"}, ".hosts", "a URL has no part 'hosts'"),
        ({"scheme": "http:"}, ".scheme", "a scheme cannot have a ':'"),
        ({"scheme": None}, ".scheme", "expected text, found null"),
        ({"username": 7}, ".username", "expected text, found a number"),
        ({"password": ["a"]}, ".password", "expected text, found a list"),
        ({"host": None}, ".host", "expected text, found null"),
        ({"path": True}, ".path", "expected text, found a boolean"),
        ({"fragment": 7}, ".fragment", "expected text, found a number"),
        # Whatever stands before it.
        ({"query": {}, "fragment": 7}, ".fragment", "expected text, found a number"),
        ({"query": "a=b"}, ".query", "expected a map, found text"),
        ({"query": None}, ".query", "expected a map, found null"),
        ({"query": {"a": ["b"]}}, ".query.a", "expected text or a number, found a list"),
        ({"query": {"a": {}}}, ".query.a", "expected text or a number, found a map"),
        ({"port": None}, ".port", "expected a port's number, found null"),
        ({"port": ""}, ".port", "expected a port's number, found text"),
        ({"port": "http"}, ".port", "expected a port's number, found text"),
        ({"port": "8_0"}, ".port", "expected a port's number, found text"),
        ({"port": True}, ".port", "expected a port's number, found a boolean"),
        ({"port": 80.5}, ".port", "expected a port's number, found a number"),
        ({"port": 0}, ".port", "a port's number is between 1 and 65535"),
        ({"port": "65536"}, ".port", "a port's number is between 1 and 65535"),
        ({"port": -80}, ".port", "a port's number is between 1 and 65535"),
    ],
)
def test_make_url_refuses_other_shapes(call: Any, parts: Any, path: str, message: str) -> None:
    problem = call.refused({"make_url": parts})
    assert problem.path == f"resources.r.properties.p.make_url{path}"
    assert problem.message == message
    assert problem.position is not None


def test_a_misspelt_part_is_told_the_right_name(call: Any) -> None:
    assert call.refused({"make_url": {"hosts": "h"}}).hint == "did you mean 'host'?"
    assert "expected one of: scheme, username" in call.refused({"make_url": {"x": "h"}}).hint


def test_make_url_takes_calls_in_its_map(call: Any, stack: Stack) -> None:
    value = {
        "make_url": {"host": {"get_param": "h"}, "port": {"get_param": "p"}, "query": {"get_param": "q"}}
    }
    assert call(value, stack({"h": "a", "p": "80", "q": {"x": 1}})) == "//a:80?x=1"
    assert call.fails(value, stack({"h": None, "p": 80, "q": {}})).path.endswith("make_url.host")
    assert call.fails(value, stack({"h": "a", "p": "secret", "q": {}})).path.endswith("make_url.port")
    assert call.fails(value, stack({"h": "a", "p": 80, "q": []})).path.endswith("make_url.query")
    to_be_made = stack(resources={"other": ResourceProxy(name="other")})
    assert call({"make_url": {"query": {"a": {"get_resource": "other"}}}}, to_be_made) is UNKNOWN


def test_a_mistake_shows_although_other_parts_come_later(call: Any) -> None:
    problem = call.refused({"make_url": {"host": {"get_param": "h"}, "port": 0}})
    assert problem.path == "resources.r.properties.p.make_url.port"


def test_make_url_cannot_fill_the_memory(call: Any, stack: Stack) -> None:
    value = {"make_url": {"path": {"get_param": "t"}, "fragment": {"get_param": "t"}}}
    assert "at most" in call.fails(value, stack({"t": "a" * 3_000_000})).message
    assert "at most" in call.fails(value, stack({"t": "é" * 1_000_000})).message
    assert (
        "at most"
        in call.fails(
            {"make_url": {"query": {"get_param": "q"}}}, stack({"q": {"a": "b" * 5_000_000}})
        ).message
    )


def test_what_is_no_character_is_refused(call: Any, stack: Stack) -> None:
    value = {"make_url": {"path": {"get_param": "t"}}}
    assert "surrogate" in call.fails(value, stack({"t": "\ud800"})).message


@given(
    st.dictionaries(
        st.sampled_from(["username", "password", "path", "fragment"]), st.text(min_size=1, max_size=6)
    ),
    # A map with one key may be a call of a function.
    st.dictionaries(st.text(max_size=4).map("q".__add__), st.text(min_size=1, max_size=4), max_size=3),
)
def test_a_url_can_be_taken_apart_again(texts: dict[str, str], query: dict[str, str]) -> None:
    texts = {**texts, "path": "/" + texts.get("path", "")}
    found = urlsplit(
        Caller()({"make_url": {"scheme": "http", "host": "h", "port": 80, "query": query, **texts}})
    )
    assert (found.scheme, found.hostname, found.port) == ("http", "h", 80)
    assert unquote(found.path) == texts["path"]
    assert unquote(found.fragment) == texts.get("fragment", "")
    assert unquote(found.username or "") == texts.get("username", "")
    assert unquote(found.password or "") == texts.get("password", "")
    assert dict(parse_qsl(found.query, keep_blank_values=True)) == query
