"""Addresses of stacks and of their parts, as they are linked to."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

#: The ways to say where a stack is, in one word: ``arn:openstack:heat::PROJECT:stacks/NAME/ID``, with a path behind it.
_ARN: Final = re.compile(
    r"arn:openstack:heat::(?P<project>[^:/]+):stacks/(?P<name>[^/]+)/(?P<id>[^/]+)(?P<path>/.*)?"
)


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of one project, from ``http://host:port`` or a proxy's address on."""

    prefix: str
    project: str

    @property
    def base(self) -> str:
        """The address of the project."""
        return f"{self.prefix}/v1/{quote(self.project, safe='')}"

    def stack(self, name: str, stack_id: str, path: str = "") -> str:
        """Return the canonical address of a stack, or of a part of it."""
        return f"{self.base}/stacks/{quote(name, safe='')}/{quote(stack_id, safe='')}{path}"

    def resource(self, name: str, stack_id: str, resource: str, path: str = "") -> str:
        """Return the address of a resource."""
        return self.stack(name, stack_id, f"/resources/{quote(resource, safe='')}{path}")


def link(rel: str, href: str) -> dict[str, str]:
    """Return a link as answers have it."""
    return {"href": href, "rel": rel}


def path_of_arn(path: str) -> str | None:
    """Return the canonical path for one that names its stack by an ARN; None if it does not."""
    before, found, arn = path.partition("/stacks/arn:")
    if not found:
        return None
    match = _ARN.fullmatch(f"arn:{arn}")
    if match is None:
        return None
    stack = f"{quote(match['name'], safe='')}/{quote(match['id'], safe='')}"
    return f"{before}/stacks/{stack}{quote(match['path'] or '')}"
