"""What hooks say can be kept and shown, whatever they say."""

import pytest
from pydantic import SecretStr

from hooks.options import HookOptions
from hooks.values.texts import MOST_CHARACTERS, tellable
from hooks.values.words import words_of


class Speechless(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class Options(HookOptions):
    token: SecretStr = SecretStr("s3cr3t")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("no room"), "no room"),
        (ValueError(), "ValueError"),
        (Speechless(), "Speechless, whose words cannot be told: ValueError"),
        (ValueError("a\0b"), "a\ufffdb"),
        (ValueError("a\ud800b"), "a?b"),
        (ValueError("said s3cr3t to http://me:it@there/"), "said ****** to http://******@there/"),
    ],
)
def test_words_can_be_kept(error: Exception, told: str) -> None:
    assert words_of(error, Options()) == told


def test_a_text_is_bounded() -> None:
    assert tellable("x" * MOST_CHARACTERS) == "x" * MOST_CHARACTERS
    assert len(tellable("x" * 10_000_000)) == MOST_CHARACTERS
