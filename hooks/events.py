"""Event sinks: they receive the events of stacks and resources, after they were committed.

A sink that is down or slow misses nothing for good: the history in the store is the record, and an
event's id marks where to continue.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from hooks.errors import Fault
from hooks.hook import Hook
from hooks.loading.finder import find_hooks
from hooks.loading.installed import Installed, InstalledHook
from hooks.values.dataclass import dataclass
from hooks.values.nearest import nearest

if TYPE_CHECKING:
    from hooks.options import HookOptions

#: The entry point group of event sinks.
NAMESPACE = "isotherm.event_sinks"

#: The key of the :class:`hooks.http.targets.Targets` that sinks of environments may send requests to, in the context of
#: the validation of their options. Without it, there is no limit.
TARGETS: Final = "outgoing_targets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One entry of the history."""

    #: Ascending; the same however often the event is delivered.
    id: int
    #: Seconds since the epoch, by the database's clock.
    at: float
    stack_id: str
    stack_name: str
    project: str
    #: The operation that it happened in: the id that lifecycle plugins receive.
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
    #: The resource's physical id; None while it has none.
    physical_id: str | None = None
    #: Why there is an event although the state did not change: ``retry`` (a step failed, and is tried again),
    #: ``lost`` (the process at work is gone, and another continues); else empty.
    cause: str = ""
    #: The process of the engine that did it; empty where none did.
    worker: str = ""
    #: The user who began the operation, or signalled the resource; empty for all that follows from it.
    user: str = ""


class EventSink(Hook):
    """Base of event sinks.

    One process at a time delivers events to a sink, one call after the other, each in a thread of its own.
    The delivered
    position is on record, so that the next process continues after it. A sink that raised, or took too long, is
    closed; a new one is made that continues from the record.
    """

    noun = "event sink"
    #: Whether the environment of a stack may name it, as ``{type: NAME, ...}``. Such a sink receives the events of
    #: that stack and its nested stacks only; an object per stack, made anew whenever there are events to deliver.
    in_environments: ClassVar[bool] = False
    #: The options allowed in an environment; the sink is made with these instead of ``Options``. None: the same.
    #: They are validated with a context that has ``TARGETS``: a sink must send nothing anywhere else.
    EnvironmentOptions: "ClassVar[type[HookOptions] | None]" = None

    def consume(self, events: Sequence[Event]) -> None:
        """Receive events in the order of their ids; the same event may come again, in order.

        Raises:
            Exception: some or all were not received; they are delivered again after a while.
        """

    def save(self) -> bytes:
        """Return the state for :meth:`restore`, as of the last consumed event; recorded with the position."""
        return b""

    def kept(self) -> None:
        """Called when the last saved state is on record: its events are not delivered again, whatever process dies."""

    def restore(self, state: bytes) -> None:
        """Continue from the last saved state of this or another process; called before the first ``consume``."""

    def close(self) -> None:
        """Close connections; another process takes over, or this one ends."""


def find_event_sinks(
    configured: Mapping[str, Mapping[str, Any]] | None = None,
    namespace: str = NAMESPACE,
    *,
    in_environments: Sequence[str] = (),
    passes_by: Collection[str] | None = None,
) -> Installed[EventSink]:
    """Return every installed sink, and its faults.

    ``in_environments`` are the names of the sinks that environments of stacks may use. For the other parameters see
    :func:`hooks.loading.finder.find_hooks`.
    """
    installed = find_hooks(namespace, EventSink, configured, section="event_sinks", passes_by=passes_by)
    strays = [
        fault
        for number, name in enumerate(in_environments)
        if (fault := _environment_fault(installed.hooks, name, f"settings.environment_event_sinks.{number}"))
    ]
    return replace(installed, strays=(*installed.strays, *strays))


def _environment_fault(hooks: Sequence[InstalledHook[EventSink]], name: str, path: str) -> Fault | None:
    """Return the fault of a sink's name that environments are to use; None if it has none."""
    fit = {each.name for each in hooks if each.kind is not None and each.kind.in_environments}
    if name in fit or any(each.name == name and each.kind is None for each in hooks):
        # A hook that cannot be loaded has faults of its own.
        return None
    is_installed = any(each.name == name for each in hooks)
    message = (
        f"the event sink {name!r} is not made for environments"
        if is_installed
        else f"no event sink {name!r} is installed"
    )
    return Fault(path=path, message=message, hint=nearest(name, fit), hooks=(name,))
