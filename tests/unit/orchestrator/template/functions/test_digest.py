"""digest, with every algorithm, and errors."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.definition import StackDefinition
from orchestrator.template.functions.digest import ALGORITHMS, Digest
from tests.unit.orchestrator.template.functions.conftest import Caller

Stack = Callable[..., StackDefinition]


@pytest.mark.parametrize("version", ["2015-04-30", "wallaby"])
@pytest.mark.parametrize(
    ("algorithm", "text", "result"),
    [
        ("md5", "", "d41d8cd98f00b204e9800998ecf8427e"),
        ("sha1", "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("sha256", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("SHA256", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("Sha3_224", "abc", "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf"),
        # In latin-1, one byte, and not two as in UTF-8.
        ("md5", "é", hashlib.md5(b"\xe9", usedforsecurity=False).hexdigest()),
    ],
)
def test_digest(call: Any, version: str, algorithm: str, text: str, result: str) -> None:
    assert call({"digest": [algorithm, text]}, version=version) == result


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_every_algorithm_it_names_works(call: Any, algorithm: str) -> None:
    found = call({"digest": [algorithm, "abc"]})
    assert found == hashlib.new(algorithm, b"abc", usedforsecurity=False).hexdigest()
    assert algorithm in (Digest.__doc__ or "")


@pytest.mark.parametrize(
    ("arguments", "path", "message"),
    [
        ("text", "", "expected a list of an algorithm and a text, found text"),
        (None, "", "expected a list of an algorithm and a text, found null"),
        ({"a": 1, "b": 2}, "", "expected a list of an algorithm and a text, found a map"),
        (["md5"], "", "expected an algorithm and a text, found 1 items"),
        (["md5", "a", "b"], "", "expected an algorithm and a text, found 3 items"),
        ([None, "a"], "[0]", "expected the algorithm's name, found null"),
        ([5, "a"], "[0]", "expected the algorithm's name, found a number"),
        (["md5", None], "[1]", "expected text, found null"),
        (["md5", 7], "[1]", "expected text, found a number"),
        (["md5", ["a"]], "[1]", "expected text, found a list"),
        (["", "a"], "[0]", "there is no algorithm of this name"),
        (["crc32", "a"], "[0]", "there is no algorithm of this name"),
        (["sha512_256", "a"], "[0]", "there is no algorithm of this name"),
        (["shake_128", "a"], "[0]", "digests by shake_128 and shake_256 have no fixed length"),
        (["SHAKE_256", "a"], "[0]", "digests by shake_128 and shake_256 have no fixed length"),
        (["md5", "aĀ"], "[1]", "only characters up to U+00FF can be digested, but character 2 is beyond it"),
    ],
)
def test_digest_refuses_other_shapes(call: Any, arguments: Any, path: str, message: str) -> None:
    problem = call.refused({"digest": arguments})
    assert problem.path == f"resources.r.properties.p.digest{path}"
    assert problem.message == message
    assert problem.position is not None


def test_a_misspelt_algorithm_is_told_the_nearest(call: Any) -> None:
    assert call.refused({"digest": ["sha-256", ""]}).hint == "did you mean 'sha256'?"
    assert "blake2b, blake2s, md5" in call.refused({"digest": ["crc", ""]}).hint


def test_digest_takes_calls_everywhere(call: Any, stack: Stack) -> None:
    value = {"digest": [{"get_param": "a"}, {"get_param": "t"}]}
    assert call(value, stack({"a": "md5", "t": ""})) == "d41d8cd98f00b204e9800998ecf8427e"
    assert "secret" not in str(call.fails(value, stack({"a": "secret", "t": ""})))
    assert "secret" not in str(call.fails(value, stack({"a": "md5", "t": "secret Ā"})))
    whole = {"digest": {"get_param": "l"}}
    assert call(whole, stack({"l": ["md5", ""]})) == "d41d8cd98f00b204e9800998ecf8427e"
    assert "found text" in call.fails(whole, stack({"l": "md5"})).message


@given(st.text(st.characters(max_codepoint=0xFF), max_size=8))
def test_the_digest_is_that_of_the_text_in_latin_1(text: str) -> None:
    assert Caller()({"digest": ["sha256", text]}) == hashlib.sha256(text.encode("latin-1")).hexdigest()
