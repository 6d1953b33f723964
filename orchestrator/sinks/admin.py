"""Administration of event sinks: list their positions and backlogs, and forget removed ones."""

from collections.abc import Collection

from hooks.values.nearest import Nearest
from orchestrator.config.hooks import find_sinks
from orchestrator.config.settings import Settings
from orchestrator.errors import Conflict, NotFound
from orchestrator.store.installation.sink_cursors import CursorRow, SinkCursors
from orchestrator.views.sinks import SinkView


def sink_views(cursors: SinkCursors, settings: Settings) -> list[SinkView]:
    """Return all sinks that are enabled or have a cursor: those of the settings first, by name."""
    enabled = _enabled(settings)
    rows = cursors.all()
    known = {row.name for row in rows}
    new = [SinkView(name=name, type=name, enabled=True) for name in enabled if name not in known]
    of_settings = [_view(row, enabled=row.name in enabled) for row in rows if row.stack_id is None]
    allowed = settings.environment_event_sinks
    of_stacks = [_view(row, enabled=row.type in allowed) for row in rows if row.stack_id is not None]
    return [*sorted([*of_settings, *new], key=lambda view: view.name), *of_stacks]


def forget_sink(cursors: SinkCursors, settings: Settings, name: str) -> None:
    """Remove a sink's cursor, so that no events are kept for it.

    Raises:
        NotFound: there is no such sink.
        Conflict: it is enabled here, and would get a new cursor.
    """
    known = [row.name for row in cursors.all()]
    if name in _enabled(settings):
        raise Conflict(
            f"event sink {name!r} is enabled: say settings.event_sinks.{name}.enabled = false first, or remove its "
            "package; then end the coordinators that still know it"
        )
    if not cursors.forget(name):
        others = f"there are: {', '.join(known)}" if known else "there is none"
        raise NotFound(f"no event sink {name!r} is known; {Nearest().hint(name, known, others)}")


def _enabled(settings: Settings) -> Collection[str]:
    return {each.name for each in find_sinks(settings).hooks if each.enabled}


def _view(row: CursorRow, *, enabled: bool) -> SinkView:
    return SinkView.of(
        row,
        stack=row.stack_name or "",
        stack_id=row.stack_id or "",
        enabled=enabled,
        behind_seconds=_since(row, row.waiting_since),
        failing_seconds=_since(row, row.failing_since),
        owner=row.owner or "",
    )


def _since(row: CursorRow, at: float | None) -> float:
    return 0.0 if at is None else max(0.0, row.now - at)
