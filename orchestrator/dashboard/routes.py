"""Routes of the dashboard's pages, data, streams and static files."""

from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from tornado.web import HTTPError, StaticFileHandler, url

from orchestrator.dashboard.handlers import (
    actions,
    attention,
    editing,
    fleet,
    graphs,
    resource,
    resource_types,
    runs,
    stack,
    stack_data,
    stacks,
    streams,
)
from orchestrator.dashboard.handlers.base import PageHandler, without_nul

STATIC: Final = Path(__file__).parent / "static"


class Nowhere(PageHandler):
    """An unknown address below ours."""

    async def get(self) -> None:
        """Answer with 404.

        Raises:
            HTTPError: always.
        """
        raise HTTPError(HTTPStatus.NOT_FOUND, "%s", "there is no page at this address")


class StaticHandler(StaticFileHandler):
    """Our scripts and styles, which browsers revalidate at each use.

    Modules import each other without a version: with caching, modules of two versions would be mixed after an upgrade.
    """

    def parse_url_path(self, url_path: str) -> str:
        """Return the path of a file in the system's notation.

        Raises:
            HTTPError: the address has a NUL.
        """
        return super().parse_url_path(without_nul(url_path))

    def set_extra_headers(self, path: str) -> None:  # noqa: ARG002  # as in Tornado
        """Allow caching with revalidation."""
        self.set_header("Cache-Control", "no-cache")


def routes() -> list[Any]:
    """Return our routes; ``url`` objects, because Flower drops the arguments of tuples under a prefix.

    A stack's pages are under ``/stack/NAME``; all others are under ``/stacks``.
    """
    return [
        url(r"/stacks/static/(.*)", StaticHandler, {"path": str(STATIC)}, name="stacks_static"),
        *stacks.ROUTES,
        *attention.ROUTES,
        *fleet.ROUTES,
        *resource_types.ROUTES,
        *streams.ROUTES,
        *stack.ROUTES,
        *graphs.ROUTES,
        *runs.ROUTES,
        *resource.ROUTES,
        *actions.ROUTES,
        *editing.ROUTES,
        *stack_data.ROUTES,
        # Last: all other addresses below ours.
        url(r"/stacks?/.*", Nowhere, name="nowhere"),
    ]
