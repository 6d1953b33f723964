"""Errors of RPCs on machines; on the wire they are :class:`orchestrator.nodes.rpc.messages.Fault`.

Errors of reaching a machine at all are in :mod:`cache.node_state.errors`; callers get both kinds.
"""

from typing import ClassVar, Final

from cache.node_state.errors import NodeError, StateStoreFailed
from orchestrator.errors import Unavailable


class LeasesUnknown(Unavailable, StateStoreFailed):
    """The leases cannot be read: the machine-state store is out of reach."""


class RpcFault(NodeError):
    """A call failed on the machine; base of the errors that agents report."""

    #: The kind on the wire.
    kind: ClassVar[str] = "failed"


class RpcFailed(RpcFault):
    """The call failed, and repeating it does not help."""


class RpcRetryable(RpcFault):
    """The call failed, and repeating it may help."""

    kind = "retryable"


class RpcRefused(RpcFault):
    """The machine's own limits forbid the call: directories, commands, users."""

    kind = "refused"


class NotOurs(RpcRefused):
    """The object belongs to another resource."""

    kind = "not_ours"


class NoCapacity(RpcFault):
    """The machine has not enough capacity."""

    kind = "no_capacity"


class Gone(RpcFault):
    """The object was removed before: a late message must not make it again."""

    kind = "gone"


class NotThere(RpcFault):
    """The object does not exist on the machine, as the machine has verified."""

    kind = "not_there"


class NotSupported(RpcFault):
    """The machine, or its backend, does not support the call."""

    kind = "not_supported"


class BackendAway(RpcFault):
    """A hypervisor or a storage of the machine does not answer now: the state of its objects is unknown."""

    kind = "backend_away"
    passing = True


class NoSuchRpc(RpcFault):
    """The agent has no RPC of this name, or not with these arguments."""

    kind = "no_such_rpc"


class Late(RpcFault):
    """The call arrived after its deadline; nothing was done."""

    kind = "late"
    passing = True


class StillRunning(NodeError):
    """A mutation was sent and has not ended yet; query its operation later."""

    passing = True


#: The errors by their kinds on the wire.
FAULTS: Final = {
    fault.kind: fault
    for fault in (
        RpcFailed,
        RpcRetryable,
        RpcRefused,
        NotOurs,
        NoCapacity,
        Gone,
        NotThere,
        NotSupported,
        BackendAway,
        NoSuchRpc,
        Late,
    )
}
