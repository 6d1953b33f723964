"""What an agent tells of a mutation that was handed over to it: the answer of the RPC ``operation``."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from orchestrator.nodes.rpc.messages import Fault


class OperationState(StrEnum):
    """How far a mutation is."""

    #: The agent has never heard of it, or has forgotten it: it may still be on its way.
    UNKNOWN = "unknown"
    RUNNING = "running"
    DONE = "done"
    #: It went wrong; another delivery runs it again.
    FAILED = "failed"
    #: The agent died in the middle; another delivery runs it again.
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One mutation, as its agent has it in its journal."""

    state: OperationState
    #: The id of the request that was carried out last: a failure of an earlier one says nothing of a later one.
    request_id: str = ""
    #: Of what is done.
    result: Any = None
    #: Of what has failed.
    error: Fault | None = None

    @property
    def over(self) -> bool:
        """Whether it ended, well or not."""
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
            TypeError, ValueError, KeyError: something is missing, or nobody knows it.
        """
        error = data["error"]
        return cls(
            **{
                **data,
                "state": OperationState(data["state"]),
                "error": Fault(kind=error[0], message=error[1]) if error else None,
            }
        )
