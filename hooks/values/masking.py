"""Sentences about the options of hooks, without their values: any may be a secret."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel, SecretBytes, SecretStr
from pydantic_core import ErrorDetails

#: What stands for a value that is not shown.
MASK: Final = "******"

_FOUND: Final = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    dict: "a table",
    list: "a list",
}

#: Pydantic's words for the same.
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
    """Return in words what is wrong with an option: what was expected, and of which kind what was found is."""
    if fault["type"] == "missing":
        return "it must be given"
    said = in_plain_words(fault["msg"])
    found = _FOUND.get(type(fault["input"]))
    if found and fault["type"].rpartition("_")[2] in ("type", "parsing"):
        return f"{said.partition(',')[0]}, found {found}"
    return said


def in_plain_words(message: str) -> str:
    """Return what pydantic says without its Python."""
    said = message.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    said = f"{said[:1].lower()}{said[1:]}".replace("input should be", "expected", 1)
    for pythonic, word in _EXPECTED.items():
        said = said.replace(f"expected a valid {pythonic}", f"expected {word}")
    return said


def without_secrets(text: str, options: BaseModel) -> str:
    """Return a text without the secrets among the options that it quotes."""
    for secret in sorted(_secrets(options), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _secrets(value: Any) -> Iterator[str]:
    if isinstance(value, SecretStr):
        yield from filter(None, [value.get_secret_value()])
    elif isinstance(value, SecretBytes):
        yield from filter(None, [value.get_secret_value().decode(errors="replace")])
    elif isinstance(value, BaseModel):
        yield from (secret for _, each in value for secret in _secrets(each))
    elif isinstance(value, Mapping):
        yield from (secret for each in value.values() for secret in _secrets(each))
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from (secret for each in value for secret in _secrets(each))
