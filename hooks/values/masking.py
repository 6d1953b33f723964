"""Messages about the options of hooks, without their values: any may be a secret."""

from collections.abc import Iterable, Iterator
from typing import Final

from pydantic import SecretBytes, SecretStr
from pydantic_core import ErrorDetails

from hooks.values.leaves import leaves_in
from hooks.values.secret_texts import MASK as MASK  # noqa: PLC0414  # where hooks find it
from hooks.values.secret_texts import masked
from hooks.values.type_words import type_word

#: Words for types, by pydantic's terms.
_EXPECTED: Final = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "dictionary": "a table",
    "list": "a list",
    "tuple": "a list",
}


def sentence_of(fault: ErrorDetails) -> str:
    """Return the fault of an option as text: what was expected, and the type of what was found."""
    if fault["type"] == "missing":
        return "it must be given"
    message = in_plain_words(fault["msg"])
    found = type_word(fault["input"])
    if found and fault["type"].rpartition("_")[2] in ("type", "parsing"):
        return f"{message.partition(',')[0]}, found {found}"
    return message


def in_plain_words(message: str) -> str:
    """Return pydantic's message without its Python terms."""
    message = message.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    message = f"{message[:1].lower()}{message[1:]}".replace("input should be", "expected", 1)
    for pythonic, word in _EXPECTED.items():
        message = message.replace(f"expected a valid {pythonic}", f"expected {word}")
    return message


def without_secrets(text: str, options: object) -> str:
    """Return a text without those secrets among the options that it quotes."""
    return without(text, _secrets(options))


def without(text: str, secrets: Iterable[str]) -> str:
    """Return a text in which each of the secrets is masked, however short."""
    return masked(text, tuple(secrets), fewest=1)


def _secrets(value: object) -> Iterator[str]:
    for leaf in leaves_in(value):
        if isinstance(leaf, SecretStr):
            yield from filter(None, [leaf.get_secret_value()])
        elif isinstance(leaf, SecretBytes):
            yield from filter(None, [leaf.get_secret_value().decode(errors="replace")])
