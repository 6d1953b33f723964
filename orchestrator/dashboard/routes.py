"""Which address is answered by what."""

from pathlib import Path
from typing import Any, Final

from tornado.web import StaticFileHandler, url

from orchestrator.dashboard.handlers import stacks

STATIC: Final = Path(__file__).parent / "static"


def routes() -> list[Any]:
    """Return our addresses; ``url`` objects, for Flower drops the arguments of tuples under a prefix.

    A stack's pages are under ``/stack/NAME``; what is not about one stack is under ``/stacks``.
    """
    return [
        url(r"/stacks/static/(.*)", StaticFileHandler, {"path": str(STATIC)}, name="stacks_static"),
        *stacks.ROUTES,
    ]
