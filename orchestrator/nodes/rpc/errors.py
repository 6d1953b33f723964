"""What callers of node RPCs are told, as exceptions; how they travel is :class:`orchestrator.nodes.rpc.messages.Fault`.

Whether the node can be asked at all is the matter of :mod:`cache.node_state.errors`, whose errors callers get as
they are.
"""

from typing import ClassVar, Final

from cache.node_state.errors import NodeError, StateStoreFailed
from orchestrator.errors import Unavailable


class LeasesUnknown(Unavailable, StateStoreFailed):
    """It is not known which nodes have an agent, because the store of their leases is out of reach."""


class RpcFault(NodeError):
    """An agent answered that a call went wrong."""

    #: As it is called on its way.
    kind: ClassVar[str] = "failed"


class RpcFailed(RpcFault):
    """What was to be done failed."""


class RpcRetryable(RpcFault):
    """What was to be done failed, and doing the same again may help."""

    kind = "retryable"


class RpcRefused(RpcFault):
    """The node's own limits forbid it: directories, commands, users."""

    kind = "refused"


class NoCapacity(RpcFault):
    """There is no room on the node."""

    kind = "no_capacity"


class Gone(RpcFault):
    """What was to be made or changed was removed before: a late message must not bring it back."""

    kind = "gone"


class NotThere(RpcFault):
    """What the call is about is not on the node; the node looked, and is sure."""

    kind = "not_there"


class NotSupported(RpcFault):
    """The node, or its backend, cannot do this at all."""

    kind = "not_supported"


class BackendAway(RpcFault):
    """A hypervisor or a storage of the node cannot be asked at the moment: it says nothing of what is there."""

    kind = "backend_away"
    passing = True


class NoSuchRpc(RpcFault):
    """The agent knows no RPC of this name, or not with these arguments."""

    kind = "no_such_rpc"


class Late(RpcFault):
    """The call arrived after its deadline; nothing was done."""

    kind = "late"
    passing = True


class StillRunning(NodeError):
    """A mutation was handed over and is not over yet; ask for its operation later."""

    passing = True


#: The errors by the words under which they travel.
FAULTS: Final = {
    fault.kind: fault
    for fault in (
        RpcFailed,
        RpcRetryable,
        RpcRefused,
        NoCapacity,
        Gone,
        NotThere,
        NotSupported,
        BackendAway,
        NoSuchRpc,
        Late,
    )
}
