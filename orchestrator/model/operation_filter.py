"""The filter of a stack's operations, for reads of the history."""

from typing import Final

from hooks.values.dataclass import dataclass

#: The statuses of operations as the history shows them.
STATUSES: Final = ("IN_PROGRESS", "COMPLETE", "FAILED", "SUPERSEDED")


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationFilter:
    """Conditions on operations: each field that is not empty must match."""

    #: Such as ``UPDATE``; one of them.
    actions: tuple[str, ...] = ()
    #: Of :data:`STATUSES`; one of them.
    statuses: tuple[str, ...] = ()
    #: A part of the name of the user who began it, in any case.
    user: str = ""


ALL_OPERATIONS: Final = OperationFilter()
