"""Sentences in the database: encrypted with the first key, readable with any, and as before without one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model.sentences import UNREADABLE, SentenceSeal

OLD, NEW = "Y1bBqCh5B1mYV0gxbQ7rVbW6Tq7l4V3m1t5i0y3r2nA=", "bXktb3RoZXIta2V5LW9mLTMyLWJ5dGVzLWhlcmUhISE="


@given(st.text())
def test_a_sentence_is_read_as_it_was_written(text: str) -> None:
    seal = SentenceSeal([OLD])
    assert seal.opened(seal.sealed(text)) == text


def test_equal_sentences_stay_equal_and_others_differ() -> None:
    seal = SentenceSeal([OLD])
    assert seal.sealed("why") == seal.sealed("why") != seal.sealed("why not")
    assert "why" not in seal.sealed("why")


def test_no_reason_stays_none() -> None:
    assert SentenceSeal([OLD]).sealed("") == ""


def test_keys_are_rotated_introduced_and_withdrawn() -> None:
    old, rotated, none = SentenceSeal([OLD]), SentenceSeal([NEW, OLD]), SentenceSeal()
    assert rotated.opened(old.sealed("why")) == "why"
    assert old.opened(rotated.sealed("why")) == UNREADABLE
    assert none.sealed("why") == "why"
    assert old.opened("why") == "why"
    assert none.opened(old.sealed("why")) == UNREADABLE


@pytest.mark.parametrize(
    "stored", ["\x01sealed:", "\x01sealed:é", "\x01sealed:AAAA", "\x01sealed:not base64"]
)
def test_what_is_broken_is_unreadable(stored: str) -> None:
    assert SentenceSeal([OLD]).opened(stored) == UNREADABLE
