"""Messages of hooks in a form that can be stored and shown, whatever their authors or servers sent."""

import re
import traceback
from typing import Final

from hooks.errors import HookError, ReadOnly
from hooks.values.secret_texts import MASK
from hooks.values.texts import tellable

_IN_URL: Final = r"(\w+://)[^/@\s]*@"


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
    if options is not None:
        # It imports pydantic, which a process needs that has a hook with options.
        from hooks.values.masking import without_secrets

        text = without_secrets(text, options)
    return re.sub(_IN_URL, rf"\1{MASK}@", text)
