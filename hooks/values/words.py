"""What hooks say in words, as it can be kept and shown: whatever an author or a server made of it."""

import re
import traceback
from typing import Any, Final

from pydantic import BaseModel

from hooks.errors import HookError, ReadOnly
from hooks.values.masking import MASK, without_secrets

#: What a hook says in one go is told up to here.
MOST_CHARACTERS: Final = 2000
_IN_URL: Final = re.compile(r"(\w+://)[^/@\s]*@")


def words_of(error: BaseException, options: Any = None) -> str:
    """Return what an error of a hook says; its type if it says nothing, or cannot even be asked.

    Without the secrets among the hook's ``options``, and without what stands before an @ in a URL: it may be one.
    """
    try:
        said = str(error)
    except Exception as fault:  # noqa: BLE001  # an author's own method
        return f"{type(error).__name__}, whose words cannot be told: {type(fault).__name__}"
    return tellable(_masked(said, options)) or type(error).__name__


def is_on_purpose(error: BaseException) -> bool:
    """Tell whether an error is a sentence for people; that a hook tried to change something is a bug of it."""
    return isinstance(error, HookError) and not isinstance(error, ReadOnly)


def fault_of(error: BaseException, options: Any = None) -> str:
    """Return the same as :func:`words_of`, after the error's type where it was not raised on purpose."""
    said = words_of(error, options)
    return said if is_on_purpose(error) else tellable(f"{type(error).__name__}: {said}")


def trace_of(error: BaseException, options: Any = None) -> str:
    """Return an error of a hook with the frames that it came through, for the log, without the same."""
    return _masked("".join(traceback.format_exception(error)), options)


def _masked(said: str, options: Any) -> str:
    if isinstance(options, BaseModel):
        said = without_secrets(said, options)
    return _IN_URL.sub(rf"\1{MASK}@", said)


def tellable(text: str, *, most: int = MOST_CHARACTERS) -> str:
    """Return a text that every database and every log takes: bounded, and with nothing in it that UTF-8 does not know.

    PostgreSQL keeps no character zero.
    """
    if len(text) > most:
        text = f"{text[: most - 1]}…"
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()
