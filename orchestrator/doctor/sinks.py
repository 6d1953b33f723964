"""What the doctor says of event sinks: how far behind each is, and why."""

from collections.abc import Iterator, Sequence

from orchestrator.config.hooks import find_sinks
from orchestrator.config.settings import Settings
from orchestrator.doctor.check import Check
from orchestrator.errors import IsothermError
from orchestrator.sinks.admin import sink_views
from orchestrator.store.store import Store
from orchestrator.views.sinks import SinkView

#: A sink that is told by coordinators is no further behind than this, unless something is wrong.
LONG_SECONDS = 60.0
#: This part of what is kept for a sink is much: after as many more some may be lost.
MUCH = 0.5


def check_event_sinks(settings: Settings) -> Iterator[Check]:
    """Tell of each sink what waits for it and what it said; the database is known to answer."""
    store = Store.of(settings)
    try:
        views = sink_views(store.sink_cursors, settings)
    except IsothermError:
        # That is told with the database.
        return
    finally:
        store.close()
    broken = {name for fault in find_sinks(settings).faults for name in fault.hooks}
    for view in views:
        # Of one that cannot be made, and never was, nothing is to be said but why.
        if not view.stack_id and (view.position is not None or view.name not in broken):
            yield check_sink(view, settings)
    of_stacks = [view for view in views if view.stack_id]
    if of_stacks:
        yield check_sinks_of_stacks(of_stacks, settings)


def check_sink(view: SinkView, settings: Settings) -> Check:
    """Tell of one sink of the settings."""
    detail, hint = state_of(view), ""
    is_failing = view.enabled and view.failing_since is not None
    if not view.enabled:
        detail = f"not enabled here; {detail}"
        hint = f"if no coordinator is to tell it any more: isotherm event-sink forget {view.name}"
    elif is_failing:
        hint = "put right what it says; events are kept meanwhile, and told when it takes them again"
    elif view.backlog > settings.max_sink_backlog_events * MUCH:
        hint = "it is too slow: see docs/operations.md; what is beyond max_sink_backlog_events is lost to it"
    elif not settings.embedded and view.behind_seconds > LONG_SECONDS:
        hint = "is a coordinator running that knows it? start one with: isotherm coordinator"
    return Check(
        name=f"event sink {view.name}",
        ok=not hint,
        detail=detail,
        hint=hint,
        is_service=is_failing,
    )


def check_sinks_of_stacks(views: Sequence[SinkView], settings: Settings) -> Check:
    """Tell of all sinks together that environments name: there may be many."""
    hint = ""
    failing = [view for view in views if view.failing_since is not None]
    behind = max(views, key=lambda view: view.behind_seconds)
    detail = f"{len(views)} told; {sum(view.backlog for view in views)} events wait"
    if behind.backlog:
        detail += f", of stack {behind.stack} for {behind.behind_seconds:.0f} s"
    if failing:
        longest = max(failing, key=lambda view: view.failing_seconds)
        detail += (
            f"; {len(failing)} failing, that of stack {longest.stack} for {longest.failing_seconds:.0f} s: "
            f"{longest.error}"
        )
        hint = "see what they say with: isotherm event-sink list"
    unheard = [view for view in views if view.backlog and not view.enabled]
    late = [view for view in views if view.failing_since is None and view.behind_seconds > LONG_SECONDS]
    if unheard:
        types = ", ".join(sorted({view.type for view in unheard}))
        detail += f"; nobody here tells {len(unheard)} of them"
        hint = hint or f"environment_event_sinks has not got {types}; what nobody tells is lost in the end"
    elif late and not settings.embedded:
        hint = hint or "is a coordinator running that may tell them? start one with: isotherm coordinator"
    return Check(
        name="event sinks of environments",
        ok=not hint,
        detail=detail,
        hint=hint,
        is_service=bool(failing),
    )


def state_of(view: SinkView) -> str:
    """Return in words how a sink is."""
    if view.position is None:
        return "nothing has been told it yet"
    said = "told everything"
    if view.backlog:
        said = f"{view.backlog} events wait for it, the first for {view.behind_seconds:.0f} s"
    if view.lost:
        said += f"; {view.lost} were lost to it"
    if view.failing_since is not None:
        said += f"; failing for {view.failing_seconds:.0f} s: {view.error}"
    return said
