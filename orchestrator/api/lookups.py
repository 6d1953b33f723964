"""Lookups: a stack by its name or id alone is redirected to its canonical address."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

import falcon

from orchestrator.api.described import described
from orchestrator.api.door import Door

#: What may be behind the name of a stack and is redirected with it, by method. The rest needs the canonical address.
REDIRECTED: Final = {
    "": ("GET", "POST", "PUT", "PATCH", "DELETE"),
    "resources": ("GET", "POST"),
    "events": ("GET", "POST"),
    "template": ("GET", "POST"),
    "actions": ("GET", "POST"),
    "environment": ("GET",),
    "files": ("GET",),
}


class Lookup:
    """The address of a stack by its name or id, or of a part of it."""

    def __init__(self, door: Door, part: str) -> None:
        self._door = door
        self._path = f"/{part}" if part else ""
        redirect: Callable[..., Any] = self._redirect
        for method in REDIRECTED[part]:
            setattr(self, f"on_{method.lower()}", redirect)

    @described("stacks:lookup", status=HTTPStatus.FOUND)
    def _redirect(self, request: falcon.Request, response: falcon.Response, name: str, **_: str) -> None:
        """Redirect to the canonical address, with the query."""
        # Clients repeat the method and the body there, but not the query.
        found = self._door.service(request, "stack.read").head(name)
        address = self._door.addresses(request).stack(found.name, found.id, self._path)
        response.status = falcon.HTTP_FOUND
        response.location = f"{address}?{request.query_string}" if request.query_string else address
