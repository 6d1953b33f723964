"""The data of the graph's page and of the failure's: a picture, the states in it, one resource, and what failed."""

from functools import partial
from http import HTTPStatus
from typing import Any, Final

from tornado.web import HTTPError, url

from orchestrator.dashboard.handlers.base import DataHandler
from orchestrator.views.operations import GraphPicture, Vertex

#: What changes of a vertex while its operation goes on; places, names and edges stay.
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
_FIELDS: Final = tuple(Vertex.__dataclass_fields__)


def whole(picture: GraphPicture) -> dict[str, Any]:
    """Return all of a picture as plain JSON types."""
    return _told(picture, _FIELDS, edges=picture.edges, group_edges=picture.group_edges)


def states(picture: GraphPicture) -> dict[str, Any]:
    """Return what changes of a picture while its operation goes on, as plain JSON types."""
    return _told(picture, CHANGING)


def _told(picture: GraphPicture, fields: tuple[str, ...], **more: Any) -> dict[str, Any]:
    # Not by ``to_dict``, which copies every value of thousands of vertices, and takes ten times as long.
    vertices = [{field: getattr(vertex, field) for field in fields} for vertex in picture.vertices]
    parts = {"vertices", "edges", "group_edges", "groups", "operation"}
    plain = {
        field: getattr(picture, field) for field in GraphPicture.__dataclass_fields__ if field not in parts
    }
    groups = [group.to_dict() for group in picture.groups]
    return {**plain, **more, "operation": picture.operation.to_dict(), "vertices": vertices, "groups": groups}


class GraphData(DataHandler):
    """An operation's graph with positions.

    ``part`` is ``all`` or ``groups``; ``focus`` a resource's name or a vertex' number, and ``depth`` how many edges
    away from it others may be; with ``states=1`` what changes is told alone.
    """

    async def get(self, name: str) -> None:
        """Send it."""
        tell = states if self.text("states") == "1" else whole
        question = partial(
            self.observer.graph,
            name,
            traversal_id=self.text("traversal") or None,
            part=self.text("part") or None,
            focus=self.text("focus") or None,
            depth=self.number("depth", 1),
        )
        # Thousands of vertices are made into plain types where the store is read, too: the loop goes on meanwhile.
        await self.reply(lambda: tell(question()))

    def number(self, name: str, default: int) -> int:
        """Return an argument that is a whole number, 0 or more.

        Raises:
            HTTPError: it is none.
        """
        said = self.text(name) or str(default)
        if not (said.isascii() and said.isdigit() and len(said) <= 9):
            raise HTTPError(
                HTTPStatus.BAD_REQUEST, "%s is to be a whole number, 0 or more; found %r", name, said[:40]
            )
        return int(said)


class VertexData(DataHandler):
    """All there is to say of one resource in an operation; the address names its vertex by its number."""

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
