"""The values that pass between the engine and a resource type in one step of an action."""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Any, Final

from hooks.values.dataclass import dataclass


class CannotTell(Enum):
    """The type of :data:`CANNOT_TELL`."""

    CANNOT_TELL = "not observed"


#: The result of :meth:`Resource.observe` where the state is unknown; None means that the object does not exist.
CANNOT_TELL: Final = CannotTell.CANNOT_TELL


class _Kept(Enum):
    KEPT = "the token is unchanged"


@dataclass(frozen=True, slots=True)
class Wait:
    """The result of an unfinished step: check again after ``seconds``, or earlier when woken (by a signal)."""

    seconds: float
    #: The next token, where an action has several parts; by default the present one.
    token: Any = _Kept.KEPT

    def next_token(self, token: object) -> object:
        """Return the next token, given the present one."""
        return token if self.token is _Kept.KEPT else self.token


class ResourceFailure(Exception):
    """A permanent failure of the action, raised by a plugin; the message becomes the resource's reason.

    Reasons are stored and shown unchanged: messages of exceptions must not contain secrets.
    """


class RetryableFailure(ResourceFailure):
    """A failure after which the step is retried, with growing delays."""


class Busy(RetryableFailure):
    """The other system cannot do it yet, such as what is still in use: the step is run again later.

    That counts as no retry: it goes on until ``busy_limit_seconds`` after the action began, or the stack's timeout.
    """

    def __init__(self, message: str, seconds: float | None = None) -> None:
        """``seconds``: the pause that the other system requested; by default it grows from 1 to 10 seconds."""
        super().__init__(message)
        self.seconds = seconds


class RateLimited(Busy):
    """A request was not sent, because of the limit of requests to its system.

    The ``seconds`` are known. A client raises it, see
    :meth:`orchestrator.plugins.client_plugin.ClientPlugin.request_rate`.
    """


class NothingDone(RetryableFailure):
    """A failure after which the step is retried, and which certainly had no effect.

    Raised by :meth:`Resource.handle_create`, it lets the next attempt skip :meth:`Resource.find`.
    """


@dataclass(slots=True, kw_only=True)
class ResourceState:
    """The state of a resource between two steps: plugins change it, the engine stores it in the resource's row."""

    uuid: str
    #: The object's id in the other system; a plugin sets it as soon as it is known.
    physical_id: str | None = None
    #: The node that it is on; a plugin sets it before it creates anything there.
    on_node: str | None = None
    #: Private data of the plugin (encrypted where a key is configured); plain types only.
    data: dict[str, Any] = field(default_factory=dict)
    #: From the template at first, then changed by signals.
    metadata: dict[str, Any] = field(default_factory=dict)
    action: str = "INIT"
    status: str = "COMPLETE"
    #: Seconds since the epoch, by the database's clock: when the present action was first claimed.
    started_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyChanges:
    """The changes of an update: the properties before and after it (None where a property is not given)."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]

    @property
    def names(self) -> frozenset[str]:
        """The names of the properties whose values differ."""
        names = {*self.before, *self.after}
        return frozenset(name for name in names if self.before.get(name) != self.after.get(name))
