"""Attempts at the actions of one resource, from its events.

An action begins with an event, and so does what follows a failed attempt or a lost worker; the beginning of the work of
a retry is not recorded.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from hooks.values.states import ASIDE
from orchestrator.model.actions import CHECK
from orchestrator.views.resource_page import AttemptView

if TYPE_CHECKING:
    from orchestrator.store.history.events import EventRow
    from orchestrator.store.history.past import TraversalRow


def attempts_of(
    events: "Iterable[EventRow]", operation: "Callable[[str], TraversalRow | None]"
) -> list[AttemptView]:
    """Return the attempts that events of one resource, oldest first, record: oldest first.

    ``operation`` finds a traversal by its id; None if it is purged.
    """
    builders: dict[tuple[str, str | None], _Attempts] = {}
    for event in events:
        # A row and the one that replaces it are worked on side by side.
        builder = builders.setdefault((event.traversal_id, event.resource_id), _Attempts())
        builder.add(event)
    found: list[AttemptView] = []
    for (traversal_id, _), builder in builders.items():
        row = operation(traversal_id)
        found.extend(
            attempt
            if row is None
            else replace(attempt, operation=f"{row.action}_{row.status}", user=row.user)
            for attempt in builder.until(None if row is None else row.ended_at)
        )
    return sorted(found, key=lambda attempt: attempt.begun_at or attempt.ended_at or 0.0)


@dataclass
class _Attempts:
    """The attempts of one row in one operation."""

    def __post_init__(self) -> None:
        self._over: list[AttemptView] = []
        self._now: AttemptView | None = None

    def add(self, event: "EventRow") -> None:
        """Add the next event."""
        if event.action in ASIDE or self._is_mark(event):
            return
        if event.action == "REPLACE":
            self._end(event, "replaced")
        elif event.status != "IN_PROGRESS":
            self._end(event, _OUTCOMES.get(event.status, event.status.lower()))
        elif event.cause:
            self._end(event, event.cause)
            self._begin(event, self._over[-1].number + 1)
        elif self._now is None or self._now.action != event.action:
            self._over = self.until(event.at)
            self._begin(event, 1)

    def _is_mark(self, event: "EventRow") -> bool:
        """Return whether an operator marked the resource's health: a check that nothing began."""
        is_end = event.action == CHECK and event.status != "IN_PROGRESS"
        return is_end and not event.worker and self._now is None

    def _begin(self, event: "EventRow", number: int) -> None:
        # Of a retry the next worker is not known yet.
        worker = "" if event.cause else event.worker
        self._now = AttemptView(
            traversal_id=event.traversal_id,
            action=event.action,
            number=number,
            worker=worker,
            begun_at=event.at,
            ended_at=None,
        )

    def _end(self, event: "EventRow", outcome: str) -> None:
        now = self._now
        if now is None or event.action not in (now.action, "REPLACE"):
            # The event of its begin is purged, or the action was begun by another operation.
            now = AttemptView(
                traversal_id=event.traversal_id,
                action=event.action,
                number=1,
                begun_at=None,
                ended_at=None,
            )
        worker = event.worker or now.worker
        ended = replace(now, ended_at=event.at, outcome=outcome, reason=event.reason, worker=worker)
        self._over.append(ended)
        self._now = None

    def until(self, ended_at: float | None) -> list[AttemptView]:
        """Return the attempts; one that the end of the operation left is over."""
        if self._now is None or ended_at is None:
            return [*self._over, *self._present()]
        left = replace(self._now, ended_at=max(ended_at, self._now.begun_at or 0.0), outcome="left")
        return [*self._over, left]

    def _present(self) -> list[AttemptView]:
        return [] if self._now is None else [self._now]


_OUTCOMES: Final[Mapping[str, str]] = {"COMPLETE": "complete", "FAILED": "failed"}
