"""Under which routing key an event is published."""

import re
from typing import Final

from hooks.events import Event

#: Of the names of projects and stacks so many characters go into a routing key, which AMQP ends at 255 bytes.
MAX_WORD: Final = 100

_ODD: Final = re.compile(r"[^A-Za-z0-9_-]")


def routing_key(event: Event) -> str:
    """Return ``PROJECT.STACK.stack|resource.ACTION.STATUS``, each of them one word."""
    kind = "resource" if event.resource else "stack"
    return ".".join(
        (word(event.project), word(event.stack_name), kind, word(event.action), word(event.status))
    )


def word(name: str) -> str:
    """Return a name as it stands in routing keys.

    Dots part words, and bindings give ``*`` and ``#`` a meaning: whatever is no letter or digit of ASCII, ``_`` or
    ``-`` becomes ``_``. Two names may share a word, so who must know for sure looks into the message.
    """
    return _ODD.sub("_", name[:MAX_WORD]) or "_"
