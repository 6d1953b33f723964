"""Routes of the dashboard's pages, data, streams and static files."""

from http import HTTPStatus
from typing import Any

from tornado.web import HTTPError, url

from orchestrator.dashboard.handlers import (
    actions,
    attention,
    catalogue,
    editing,
    fleet,
    graphs,
    plans,
    resource,
    resource_types,
    runs,
    stack,
    stack_data,
    stacks,
    streams,
)
from orchestrator.dashboard.handlers.base import PageHandler
from orchestrator.dashboard.modules import STATIC
from orchestrator.dashboard.static_files import StaticHandler


class Nowhere(PageHandler):
    """An unknown address below ours."""

    async def get(self) -> None:
        """Answer with 404.

        Raises:
            HTTPError: always.
        """
        raise HTTPError(HTTPStatus.NOT_FOUND, "%s", "there is no page at this address")


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
        *catalogue.ROUTES,
        *streams.ROUTES,
        *stack.ROUTES,
        *graphs.ROUTES,
        *runs.ROUTES,
        *resource.ROUTES,
        *actions.ROUTES,
        *editing.ROUTES,
        *plans.ROUTES,
        *stack_data.ROUTES,
        # Last: all other addresses below ours.
        url(r"/stacks?/.*", Nowhere, name="nowhere"),
    ]
