"""Faults in an agent's replies: one of the words of :mod:`orchestrator.nodes.rpc.errors`, and a sentence."""

from cache.node_state.errors import StateStoreFailed
from orchestrator.config.logger import get_logger
from orchestrator.errors import IsothermError
from orchestrator.nodes.rpc.errors import (
    NoCapacity,
    NotSupported,
    NotThere,
    RpcFailed,
    RpcFault,
    RpcRetryable,
)
from orchestrator.nodes.rpc.messages import Fault
from orchestrator.plugins.steps import ResourceFailure, RetryableFailure
from workers.agent.fence import Fenced
from workers.agent.hypervisors.hypervisor import CannotDo, HypervisorFault, NoInstance
from workers.agent.locks import LockTaken
from workers.agent.storage.storage import StorageFault, StorageFull

log = get_logger()


def fault_of(error: Exception, rpc: str) -> Fault:
    """Return the fault of an error; of an unforeseen one only the type, since its message may hold a secret."""
    kind = _kind(error)
    if kind is not None:
        return Fault(kind=kind.kind, message=str(error) or type(error).__name__)
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return Fault(kind=RpcFailed.kind, message=f"{rpc} failed: {error.strerror}{where}")
    log.error("unforeseen error in an RPC", rpc=rpc, exc_info=error)
    message = (
        f"{rpc} failed in a way that nobody foresaw ({type(error).__name__}): the agent's log tells more"
    )
    return Fault(kind=RpcFailed.kind, message=message)


def _kind(error: Exception) -> type[RpcFault] | None:  # noqa: PLR0911  # one line an error
    match error:
        case RpcFault():
            return type(error)
        case CannotDo():
            return NotSupported
        case NoInstance():
            return NotThere
        case StorageFull():
            return NoCapacity
        case HypervisorFault() | StorageFault():
            return RpcRetryable if error.retryable else RpcFailed
        case Fenced() | LockTaken() | RetryableFailure() | StateStoreFailed():
            return RpcRetryable
        case ResourceFailure() | IsothermError():
            return RpcFailed
    return None
