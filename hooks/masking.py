"""Sentences about hooks without the secrets of their options."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel, SecretBytes, SecretStr

#: What stands for a value that is not shown.
MASK: Final = "******"


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
