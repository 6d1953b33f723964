"""Links from resources to the consoles of other systems: patterns of addresses by resource type, as a setting."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from string import Formatter
from typing import Final
from urllib.parse import quote

from hooks.values.nearest import nearest

#: The names that a pattern may have in braces.
PLACES: Final = ("physical_id", "resource", "stack", "stack_id", "project")
#: Scheme and host are fixed: what comes from a resource is a part of the path, the query or the fragment.
_FIXED: Final = r"https?://[^\s/?#@{}\\]+([/?#][^\s\\]*)?"


def require_links(patterns: Mapping[str, str]) -> None:
    """Require patterns of addresses.

    Raises:
        ValueError: one is no http or https address, or has a name in braces that is none of :data:`PLACES`.
    """
    for kind, pattern in patterns.items():
        try:
            parts = list(Formatter().parse(pattern))
        except ValueError as error:
            raise ValueError(f"{kind}: {error}") from error
        for _, place, form, conversion in parts:
            if place is None:
                continue
            if place not in PLACES:
                raise ValueError(f"{kind}: there is no {{{place}}}; {nearest(place, PLACES)}")
            if form or conversion:
                raise ValueError(f"{kind}: expected {{{place}}} without a format")
        if not re.fullmatch(_FIXED, pattern):
            raise ValueError(
                f"{kind}: expected an address that begins with http:// or https:// and a host, without a user, blanks "
                "and backslashes; names in braces may stand behind the host"
            )


CONSOLE_LINKS: Final = (
    "Where the objects of resources are shown in another system, by resource type: "
    '`{"OS::Nova::Server" = "https://horizon.example.org/project/instances/{physical_id}/"}`. The page of a '
    "resource links there. In a type `*` stands for any characters; a type by its full name comes first, then "
    "those with `*` in their order. In braces may stand `physical_id`, `resource`, `stack`, `stack_id` and "
    "`project`, behind the host."
)


def console_link(patterns: Mapping[str, str], kind: str, places: Mapping[str, str]) -> str:
    """Return the address for a resource of the type ``kind``; empty if no pattern is for its type.

    ``places`` are the values of :data:`PLACES`; each is quoted, so that it stays one part of the address.
    """
    pattern = patterns.get(kind) or next(
        (each for name, each in patterns.items() if fnmatchcase(kind, name)), ""
    )
    return pattern.format(**{name: quote(value, safe="") for name, value in places.items()})
