"""Doctor checks of event sinks: the backlog of each, and its last error."""

from collections.abc import Iterator, Sequence

from orchestrator.config.hooks import find_sinks
from orchestrator.config.settings import Settings
from orchestrator.doctor.check import Check
from orchestrator.errors import IsothermError
from orchestrator.sinks.admin import sink_views
from orchestrator.store.store import Store
from orchestrator.views.sinks import SinkView

#: A sink further behind than this is reported: no coordinator seems to deliver to it.
LONG_SECONDS = 60.0
#: A backlog above this share of ``max_sink_backlog_events`` is reported: events may soon be lost.
MUCH = 0.5


def check_event_sinks(settings: Settings) -> Iterator[Check]:
    """Check the backlog and the last error of each sink; the database must be reachable."""
    store = Store.of(settings)
    try:
        views = sink_views(store.sink_cursors, settings)
    except IsothermError:
        # Reported by the check of the database.
        return
    finally:
        store.close()
    broken = {name for fault in find_sinks(settings).faults for name in fault.hooks}
    for view in views:
        # A sink that never could be created is reported by the check of event sinks' plugins alone.
        if not view.stack_id and (view.position is not None or view.name not in broken):
            yield check_sink(view, settings)
    of_stacks = [view for view in views if view.stack_id]
    if of_stacks:
        yield check_sinks_of_stacks(of_stacks, settings)


def check_sink(view: SinkView, settings: Settings) -> Check:
    """Check one sink of the settings."""
    detail, hint = state_of(view), ""
    is_failing = view.enabled and view.failing_since is not None
    if not view.enabled:
        detail = f"not enabled here; {detail}"
        hint = f"if no coordinator delivers to it any more: isotherm event-sink forget {view.name}"
    elif is_failing:
        hint = "correct the error; events are kept meanwhile, and delivered when the sink accepts them again"
    elif view.backlog > settings.max_sink_backlog_events * MUCH:
        hint = "it is too slow: see docs/operations.md; events beyond max_sink_backlog_events are lost"
    elif not settings.embedded and view.behind_seconds > LONG_SECONDS:
        hint = "is a coordinator running that has this sink enabled? start one with: isotherm coordinator"
    return Check(
        name=f"event sink {view.name}",
        ok=not hint,
        detail=detail,
        hint=hint,
        is_service=is_failing,
    )


def check_sinks_of_stacks(views: Sequence[SinkView], settings: Settings) -> Check:
    """Check all sinks of environments together, because there may be many."""
    hint = ""
    failing = [view for view in views if view.failing_since is not None]
    behind = max(views, key=lambda view: view.behind_seconds)
    detail = f"{len(views)} sinks; {sum(view.backlog for view in views)} events wait"
    if behind.backlog:
        detail += f", of stack {behind.stack} for {behind.behind_seconds:.0f} s"
    if failing:
        longest = max(failing, key=lambda view: view.failing_seconds)
        detail += (
            f"; {len(failing)} failing, that of stack {longest.stack} for {longest.failing_seconds:.0f} s: "
            f"{longest.error}"
        )
        hint = "see their errors with: isotherm event-sink list"
    disabled = [view for view in views if view.backlog and not view.enabled]
    late = [view for view in views if view.failing_since is None and view.behind_seconds > LONG_SECONDS]
    if disabled:
        types = ", ".join(sorted({view.type for view in disabled}))
        detail += f"; {len(disabled)} of them are not enabled here"
        hint = (
            hint or f"environment_event_sinks does not have {types}; undelivered events are lost in the end"
        )
    elif late and not settings.embedded:
        hint = hint or "is a coordinator running that has them enabled? start one with: isotherm coordinator"
    return Check(
        name="event sinks of environments",
        ok=not hint,
        detail=detail,
        hint=hint,
        is_service=bool(failing),
    )


def state_of(view: SinkView) -> str:
    """Return the state of a sink in words: its backlog, lost events and last error."""
    if view.position is None:
        return "nothing has been delivered yet"
    words = "everything has been delivered"
    if view.backlog:
        words = f"{view.backlog} events wait for it, the first for {view.behind_seconds:.0f} s"
    if view.lost:
        words += f"; {view.lost} were lost"
    if view.failing_since is not None:
        words += f"; failing for {view.failing_seconds:.0f} s: {view.error}"
    return words
