"""Pictures of an operation as a test wants them, and a stand-in that hands them out."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

from orchestrator.errors import NotFound
from orchestrator.views.operations import (
    Bar,
    FailedView,
    FailureView,
    GraphPicture,
    OperationView,
    Span,
    Timeline,
    Vertex,
)
from orchestrator.views.vertex_states import STATES
from tests.unit.orchestrator.cli.fake_service import NOON

if TYPE_CHECKING:
    from orchestrator.queries.observer import Observer

Key = TypeVar("Key")
Value = TypeVar("Value")


def operation(status: str = "COMPLETE", **more: Any) -> OperationView:
    return OperationView(
        **{
            "stack": "web",
            "stack_id": "id-of-web",
            "project": "default",
            "traversal_id": "t1",
            "action": "CREATE",
            "status": status,
            "reason": "",
            "begun_at": NOON,
            "ended_at": None if status == "IN_PROGRESS" else NOON + 10,
            "deadline": None,
            "in_force": True,
            "stack_state": f"CREATE_{status}",
            **more,
        }
    )


def vertex(name: str, state: str, layer: int = 0, **more: Any) -> Vertex:
    given = {"type": "OS::Heat::TestResource", "phase": "converge", "action": "CREATE", "no": 0, **more}
    return Vertex(name=name, state=state, layer=layer, **given)


def graph_picture(*vertices: Vertex, **more: Any) -> GraphPicture:
    counts = Counter(each.state for each in vertices)
    given = {
        "operation": operation("IN_PROGRESS"),
        "part": "all",
        "cursor": 1,
        "as_of": NOON + 5,
        "total": len(vertices),
        "counts": {state: counts[state] for state in STATES},
        "vertices": vertices,
        **more,
    }
    return GraphPicture(**given)


def bar(name: str, state: str, *spans: tuple[Any, ...], **more: Any) -> Bar:
    """A bar; each span is its kind, when it begins and ends in seconds since noon, and maybe the attempt."""
    told = tuple(
        Span(
            kind=kind,
            start=NOON + start,
            end=None if end is None else NOON + end,
            attempt=attempt[0] if attempt else 0,
        )
        for kind, start, end, *attempt in spans
    )
    given = {
        "no": abs(hash(name)),
        "type": "T",
        "phase": "converge",
        "action": "CREATE",
        "attempts": 1,
        **more,
    }
    return Bar(name=name, state=state, spans=told, **given)


def timeline(*bars: Bar, **more: Any) -> Timeline:
    given = {"operation": operation(), "cursor": 1, "as_of": NOON + 10, "bars": bars, **more}
    return Timeline(**given)


def failed(name: str, reason: str = "no room", **more: Any) -> FailedView:
    given = {"no": 0, "type": "T", "action": "CREATE", "at": NOON + 3, "attempts": 1, **more}
    return FailedView(name=name, reason=reason, **given)


def failure(*roots: FailedView, **more: Any) -> FailureView:
    given = {
        "operation": operation("FAILED", reason="no room"),
        "cursor": 1,
        "as_of": NOON,
        "roots": roots,
        **more,
    }
    return FailureView(**given)


@dataclass
class FakePictures:
    """Hands out what a test put in, by stack and, of what is past, by traversal."""

    graphs: dict[str, GraphPicture] = field(default_factory=dict)
    timelines: dict[tuple[str, str | None], Timeline] = field(default_factory=dict)
    failures: dict[tuple[str, str | None], FailureView] = field(default_factory=dict)
    #: The stacks whose graphs were asked for, in that order.
    asked: list[str] = field(default_factory=list)

    @property
    def typed(self) -> "Observer":
        """Itself, for a type checker."""
        return cast("Observer", self)

    def graph(self, name: str, /) -> GraphPicture:
        self.asked.append(name)
        return _of(self.graphs, name)

    def timeline(self, name: str, /, *, traversal_id: str | None = None) -> Timeline:
        return _of(self.timelines, (name, traversal_id))

    def failure(self, name: str, /, *, traversal_id: str | None = None) -> FailureView:
        return _of(self.failures, (name, traversal_id))


def _of(held: dict[Key, Value], key: Key) -> Value:
    if key not in held:
        raise NotFound(f"there is no {key!r}")
    return held[key]


def plain(lines: Sequence[Any]) -> list[str]:
    """Return the text of lines, without colours."""
    return [line.plain for line in lines]
