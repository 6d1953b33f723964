"""Messages of hooks in a form that can be stored and shown, whatever their authors or servers sent."""

import re
import traceback
from typing import Final

from pydantic import BaseModel

from hooks.errors import HookError, ReadOnly
from hooks.values.masking import MASK, without_secrets

#: The length limit of a message.
MOST_CHARACTERS: Final = 2000
_IN_URL: Final = re.compile(r"(\w+://)[^/@\s]*@")
#: Characters that no database stores in a text: NUL, which PostgreSQL refuses, and halves of surrogate pairs.
_NO_CHARACTERS: Final = re.compile("[\x00\ud800-\udfff]")


def words_of(error: BaseException, options: object = None) -> str:
    """Return the message of a hook's error; its type if it has none, or raises when converted to text.

    Secrets among the hook's ``options`` are removed, and what precedes an @ in a URL, which may be one.
    """
    try:
        text = str(error)
    except Exception as fault:  # noqa: BLE001  # an author's own method
        return f"{type(error).__name__}, whose words cannot be told: {type(fault).__name__}"
    return tellable(_masked(text, options)) or type(error).__name__


def is_on_purpose(error: BaseException) -> bool:
    """Return whether an error is a message for users; a write to a frozen value is a bug of the hook."""
    return isinstance(error, HookError) and not isinstance(error, ReadOnly)


def fault_of(error: BaseException, options: object = None) -> str:
    """Return the same as :func:`words_of`, after the error's type where it is no message for users."""
    text = words_of(error, options)
    kind = type(error).__name__
    # The messages of some libraries begin with the type.
    return text if is_on_purpose(error) or re.match(rf"{kind}\b", text) else tellable(f"{kind}: {text}")


def trace_of(error: BaseException, options: object = None) -> str:
    """Return a hook's error with its traceback, for the log, without secrets."""
    return _masked("".join(traceback.format_exception(error)), options)


def _masked(text: str, options: object) -> str:
    if isinstance(options, BaseModel):
        text = without_secrets(text, options)
    return _IN_URL.sub(rf"\1{MASK}@", text)


def tellable(text: str, *, most: int = MOST_CHARACTERS) -> str:
    """Return a text that every database and log accepts: bounded, with a mark in place of what is no character."""
    return _NO_CHARACTERS.sub(lambda found: "\ufffd" if found.group() == "\0" else "?", _bounded(text, most))


def storable(text: str, *, most: int | None = None) -> str:
    """Return a text that every database accepts, with escapes in place of what is no character.

    Different texts stay different, as ids must. ``most`` bounds the characters.
    """
    escaped = _NO_CHARACTERS.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
    return escaped if most is None else _bounded(escaped, most)


def _bounded(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
