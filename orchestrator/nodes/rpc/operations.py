"""Operations: the state of a mutation in its agent's journal, as the RPC ``operation`` returns it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self

from hooks.values.dataclass import dataclass
from orchestrator.nodes.rpc.messages import Fault


class OperationState(StrEnum):
    """The state of a mutation."""

    #: It is not in the agent's journal; its message may still be in the queue.
    UNKNOWN = "unknown"
    RUNNING = "running"
    DONE = "done"
    #: It failed; another delivery runs it again.
    FAILED = "failed"
    #: The agent died during it; another delivery runs it again.
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One mutation in its agent's journal."""

    state: OperationState
    #: The id of the request that was carried out last, to distinguish its failure from that of an earlier one.
    request_id: str = ""
    #: Set if it is done.
    result: Any = None
    #: Set if it has failed.
    error: Fault | None = None

    @property
    def over(self) -> bool:
        """Whether it has ended, with success or failure."""
        return self.state in (OperationState.DONE, OperationState.FAILED)

    def to_wire(self) -> dict[str, Any]:
        """Return plain types, the inverse of :meth:`from_wire`."""
        return {
            "state": str(self.state),
            "request_id": self.request_id,
            "result": self.result,
            "error": [self.error.kind, self.error.message] if self.error else None,
        }

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain types.

        Raises:
            TypeError, ValueError, KeyError: a field is missing or unknown.
        """
        error = data["error"]
        return cls(
            **{
                **data,
                "state": OperationState(data["state"]),
                "error": Fault(kind=error[0], message=error[1]) if error else None,
            }
        )
