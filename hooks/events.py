"""Event sinks: told what happened to stacks and resources, after it was committed.

A sink that is down or slow to learn misses nothing for good: the history in the store is what counts, and an
event's id tells where to read on.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from hooks.errors import Fault
from hooks.hook import Hook, HookOptions
from hooks.loading.installed import Installed, InstalledHook, find_hooks
from hooks.values.nearest import nearest

#: The entry point group of event sinks.
NAMESPACE = "isotherm.event_sinks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One entry of the history."""

    #: Ascending; the same however often the event is handed on.
    id: int
    #: Seconds since the epoch, by the database's clock.
    at: float
    stack_id: str
    stack_name: str
    project: str
    #: The operation that it happened in, by the id that lifecycle plugins are told.
    operation_id: str
    #: The resource's name; empty for an event of the stack itself.
    resource: str
    #: The id of the resource's row; empty for an event of the stack itself.
    resource_id: str
    #: The resource's type; ``stack`` for an event of the stack itself.
    type: str
    #: Action and status in Heat's words: CREATE, COMPLETE.
    action: str
    status: str
    reason: str = ""
    #: What the outside world calls the resource; None while there is none.
    physical_id: str | None = None
    #: Why there is an event although the state did not change: ``retry`` (a step went wrong, and is tried again),
    #: ``lost`` (whoever was at it was not heard of any more, and others go on); else empty.
    cause: str = ""
    #: The process of the engine that was at it; empty where none was.
    worker: str = ""


class EventSink(Hook):
    """Base of event sinks.

    One process at a time hands events to a sink, one call after the other, each in a thread of its own. What it was
    handed is on record, so that the next process goes on after it. A sink that raised, or took too long, is closed; a
    new one is made that goes on from what is on record.
    """

    noun = "event sink"
    #: Whether the environment of a stack may name it, as ``{type: NAME, ...}``. Such a sink is told of that stack and
    #: of those in it only; of each by an object of its own, which is made anew whenever there is something to tell.
    in_environments: ClassVar[bool] = False
    #: What else may stand there; the sink is made with that instead of ``Options``. None: what the settings may say.
    EnvironmentOptions: ClassVar[type[HookOptions] | None] = None

    def consume(self, events: Sequence[Event]) -> None:
        """Take events in the order of their ids; the same event may come again, in order.

        Raises:
            Exception: they were not taken, or perhaps not all; they come again after a while.
        """

    def save(self) -> bytes:
        """Return what :meth:`restore` is to be given, as of the events consumed so far; it is kept with their mark."""
        return b""

    def kept(self) -> None:
        """Hear that what was saved last is on record: those events do not come again, whatever dies."""

    def restore(self, state: bytes) -> None:
        """Go on from what was saved last, by this or another process; called before the first ``consume``."""

    def close(self) -> None:
        """Let go of connections; another process takes over, or this one ends."""


def find_event_sinks(
    said: Mapping[str, Mapping[str, Any]] | None = None,
    namespace: str = NAMESPACE,
    *,
    in_environments: Sequence[str] = (),
    passes_by: Collection[str] | None = None,
) -> Installed[EventSink]:
    """Return every installed sink, and what is wrong with each.

    Args:
        said: What the settings say of them, by name.
        namespace: The entry point group.
        in_environments: The names of those that environments of stacks may name.
        passes_by: As of :func:`hooks.loading.installed.find_hooks`.
    """
    installed = find_hooks(namespace, EventSink, said, section="event_sinks", passes_by=passes_by)
    strays = [
        fault
        for number, name in enumerate(in_environments)
        if (fault := _environment_fault(installed.hooks, name, f"settings.environment_event_sinks.{number}"))
    ]
    return replace(installed, strays=(*installed.strays, *strays))


def load_event_sinks(
    said: Mapping[str, Mapping[str, Any]] | None = None,
    namespace: str = NAMESPACE,
    *,
    in_environments: Sequence[str] = (),
) -> tuple[InstalledHook[EventSink], ...]:
    """Return the enabled sinks, ordered by name.

    Args:
        said: What the settings say of them, by name.
        namespace: The entry point group.
        in_environments: The names of those that environments of stacks may name.

    Raises:
        HookNotLoaded: some of them cannot be used; it says of each what is wrong.
    """
    installed = find_event_sinks(said, namespace, in_environments=in_environments, passes_by=in_environments)
    return installed.enabled()


def _environment_fault(hooks: Sequence[InstalledHook[EventSink]], name: str, path: str) -> Fault | None:
    """Return what is wrong with a name of a sink that environments may name; None if nothing is."""
    fit = {each.name for each in hooks if each.kind is not None and each.kind.in_environments}
    if name in fit or any(each.name == name and each.kind is None for each in hooks):
        # What cannot be loaded is told by itself.
        return None
    is_there = any(each.name == name for each in hooks)
    message = (
        f"the event sink {name!r} is not made for environments"
        if is_there
        else f"no event sink {name!r} is installed"
    )
    return Fault(path=path, message=message, hint=nearest(name, fit), hooks=(name,))
