"""Which address is answered by what."""

from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from tornado.web import HTTPError, StaticFileHandler, url

from orchestrator.dashboard.handlers import (
    actions,
    fleet,
    graphs,
    stack,
    stack_data,
    stacks,
    streams,
)
from orchestrator.dashboard.handlers.base import PageHandler, without_nul

STATIC: Final = Path(__file__).parent / "static"


class Nowhere(PageHandler):
    """An address below ours that there is no page of."""

    async def get(self) -> None:
        """Say so."""
        raise HTTPError(HTTPStatus.NOT_FOUND, "%s", "there is no page at this address")


class StaticHandler(StaticFileHandler):
    """Our scripts and styles. A browser asks each time whether its copy is still the one there is.

    Modules name each other without a version: otherwise some would be those of the last version for a while.
    """

    def parse_url_path(self, url_path: str) -> str:
        """Return where a file is, as the system writes it."""
        return super().parse_url_path(without_nul(url_path))

    def set_extra_headers(self, path: str) -> None:  # noqa: ARG002  # as in Tornado
        """Let a browser keep them, and ask."""
        self.set_header("Cache-Control", "no-cache")
        self.set_header("X-Content-Type-Options", "nosniff")


def routes() -> list[Any]:
    """Return our addresses; ``url`` objects, for Flower drops the arguments of tuples under a prefix.

    A stack's pages are under ``/stack/NAME``; what is not about one stack is under ``/stacks``.
    """
    return [
        url(r"/stacks/static/(.*)", StaticHandler, {"path": str(STATIC)}, name="stacks_static"),
        *stacks.ROUTES,
        *fleet.ROUTES,
        *streams.ROUTES,
        *stack.ROUTES,
        *graphs.ROUTES,
        *actions.ROUTES,
        *stack_data.ROUTES,
        # Last: what is below our addresses, and none of them.
        url(r"/stacks?/.*", Nowhere, name="nowhere"),
    ]
