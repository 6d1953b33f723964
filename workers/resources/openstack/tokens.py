"""The token in a description, by which the object of an interrupted create is found, and names for those without one.

The token is the id of the resource's row. A description is what all services have, store with the object in the request
that creates it, and show: a user's own text stays in front of the token.
"""

import re
from typing import Final

_TOKEN: Final = re.compile(r" ?\[isotherm:([0-9a-f-]{36})\]\Z")
#: Letters and digits of the row's id that make a name unique.
_SHORT: Final = 12
_LONGEST_NAME: Final = 255
#: Of most services, which refuse longer ones.
_LONGEST_DESCRIPTION: Final = 255


def with_token(description: str | None, uuid: str) -> str:
    """Return a description with the token at its end; what no service would store of it is cut off before that."""
    token = f"[isotherm:{uuid}]"
    kept = (description or "")[: _LONGEST_DESCRIPTION - len(token) - 1].rstrip()
    return f"{kept} {token}" if kept else token


def token_of(description: object) -> str | None:
    """Return the token in a description; None if it has none."""
    found = _TOKEN.search(description) if isinstance(description, str) else None
    return found[1] if found else None


def without_token(description: object) -> str:
    """Return a description as its user wrote it."""
    return _TOKEN.sub("", description) if isinstance(description, str) else ""


def physical_name(stack: str, resource: str, uuid: str, *, longest: int = _LONGEST_NAME) -> str:
    """Return a unique name, ``STACK-RESOURCE-ID``, shortened in the middle as Heat does it."""
    name = f"{stack}-{resource}-{uuid.replace('-', '')[:_SHORT]}"
    return name if len(name) <= longest else f"{name[:2]}-{name[3 - longest :]}"
