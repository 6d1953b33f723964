"""Handlers of the data of graphs and failures: a picture, its states, one resource, and the failed resources."""

from functools import partial
from http import HTTPStatus
from typing import Any, Final

from tornado.web import HTTPError, url

from orchestrator.dashboard.handlers.base import DataHandler
from orchestrator.views.operations import GraphPicture, Vertex
from orchestrator.views.times import with_iso_times

#: The fields of a vertex that change during its operation; names and edges do not.
CHANGING: Final = (
    "no",
    "state",
    "resource_id",
    "attempt",
    "retries",
    "worker",
    "reason",
    "hook",
    "physical_id",
    "nested_stack_id",
)
#: The page opens a graph of more resources in groups: no more boxes can be told apart on a screen.
OPENED_WHOLE: Final = 300
_FIELDS: Final = tuple(Vertex.__dataclass_fields__)


def whole(picture: GraphPicture) -> dict[str, Any]:
    """Return all of a picture as plain JSON types."""
    return _plain(picture, _FIELDS, edges=picture.edges, group_edges=picture.group_edges)


def states(picture: GraphPicture) -> dict[str, Any]:
    """Return the changing fields of a picture as plain JSON types."""
    return _plain(picture, CHANGING)


def _plain(picture: GraphPicture, fields: tuple[str, ...], **more: Any) -> dict[str, Any]:
    # Not by ``to_dict``, which copies every value of thousands of vertices and takes ten times as long.
    vertices = [{field: getattr(vertex, field) for field in fields} for vertex in picture.vertices]
    parts = {"vertices", "edges", "group_edges", "groups", "operation"}
    plain = {
        field: getattr(picture, field) for field in GraphPicture.__dataclass_fields__ if field not in parts
    }
    groups = [group.to_dict() for group in picture.groups]
    return {
        **with_iso_times(plain),
        **more,
        "operation": picture.operation.to_dict(),
        "vertices": vertices,
        "groups": groups,
    }


class GraphData(DataHandler):
    """An operation's graph.

    ``part`` is ``all`` or ``groups``; ``focus`` a resource's name or a vertex' number, and ``depth`` the greatest
    number of edges from it; with ``states=1`` only the changing fields are sent.
    """

    async def get(self, name: str) -> None:
        """Send it."""
        encode = states if self.text("states") == "1" else whole
        question = partial(
            self.observer.graph,
            name,
            traversal_id=self.text("traversal") or None,
            part=self.text("part") or None,
            focus=self.text("focus") or None,
            depth=self.number("depth", 1),
            most=OPENED_WHOLE,
        )
        # Thousands of vertices are converted in the reading thread, so that the loop is not blocked.
        await self.reply(lambda: encode(question()))

    def number(self, name: str, default: int) -> int:
        """Return an argument that is a whole number, 0 or more.

        Raises:
            HTTPError: it is not.
        """
        sent = self.text(name) or str(default)
        if not (sent.isascii() and sent.isdigit() and len(sent) <= 9):
            raise HTTPError(
                HTTPStatus.BAD_REQUEST, "%s is to be a whole number, 0 or more; found %r", name, sent[:40]
            )
        return int(sent)


class VertexData(DataHandler):
    """The details of one resource in an operation; the address has the number of its vertex."""

    async def get(self, name: str, no: str) -> None:
        """Send it."""
        question = partial(self.observer.details, name, int(no), traversal_id=self.text("traversal") or None)
        await self.reply(lambda: question().to_dict())


class FailureData(DataHandler):
    """Why an operation failed."""

    async def get(self, name: str) -> None:
        """Send it."""
        question = partial(self.observer.failure, name, traversal_id=self.text("traversal") or None)
        await self.reply(lambda: question().to_dict())


ROUTES: Final[list[Any]] = [
    url(r"/stack/([^/]+)/graph\.json", GraphData, name="stack_graph_data"),
    url(r"/stack/([^/]+)/vertex/(\d{1,9})\.json", VertexData, name="stack_vertex_data"),
    url(r"/stack/([^/]+)/failure\.json", FailureData, name="stack_failure_data"),
]
