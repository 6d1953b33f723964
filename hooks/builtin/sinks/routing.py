"""Routing keys of published events."""

import re
from typing import Final

from hooks.events import Event

#: The most characters of a project's or stack's name in a routing key, which AMQP limits to 255 bytes.
MAX_WORD: Final = 100

_ODD: Final = re.compile(r"[^A-Za-z0-9_-]")


def routing_key(event: Event) -> str:
    """Return ``PROJECT.STACK.stack|resource.ACTION.STATUS``, each part one word."""
    kind = "resource" if event.resource else "stack"
    return ".".join(
        (word(event.project), word(event.stack_name), kind, word(event.action), word(event.status))
    )


def word(name: str) -> str:
    """Return a name as a word of a routing key.

    Dots separate words, and bindings give ``*`` and ``#`` a meaning: all but letters and digits of ASCII, ``_`` and
    ``-`` becomes ``_``. Two names may share a word; the message itself has the full names.
    """
    return _ODD.sub("_", name[:MAX_WORD]) or "_"
