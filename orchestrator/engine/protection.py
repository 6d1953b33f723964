"""Protection: what an operator protects is neither deleted nor replaced, unless an order has the permission.

An operation that would lose something protected for certain is refused before it begins. What only a worker can find
out, it finds out at its check: the resource fails there, and stays as it is.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from orchestrator.config.limits import Limits
from orchestrator.errors import Conflict
from orchestrator.planning.comparison import Comparison
from orchestrator.planning.decision import NOT_REPLACED, Action
from orchestrator.store.stacks.protections import ProtectionChange
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.validation.rules import Types

#: How many protected resources a refusal names.
_NAMED: Final = 5
_WAY: Final = "take the protection off with 'isotherm stack unprotect', or order it with --unprotect"


def change_of_update(
    stack: StackRow,
    compared: Comparison,
    types: Types,
    limits: Limits,
    content: Callable[[str], str],
) -> ProtectionChange:
    """Return what an update, or another operation with a definition, changes of a stack's protection.

    Raises:
        Conflict: it would lose something protected for certain, and has no permission to.
    """
    held = compared.protected
    if not held:
        return ProtectionChange(version=stack.protections)
    if not compared.unprotect:
        # Few stacks have anything protected.
        from orchestrator.engine.update_preview import NOT_DELETED, DryRun

        plan = DryRun(compared, types, limits, content).plan("")
        paths = {row.name: ", ".join(map(repr, held[row.id])) for row in compared.rows if row.id in held}
        refused = [
            f"resource {paths.get(each.name, repr(each.name))} would be lost: {each.reason}"
            for each in plan.resources
            if each.action == Action.REFUSE and each.reason.startswith((NOT_DELETED, NOT_REPLACED))
        ]
        _refuse(stack, refused)
        return ProtectionChange(version=stack.protections)
    rows = [row for row in compared.rows if row.protected]
    names = {row.name for row in rows}
    # The row that is in service from now on is protected, if its name was.
    desired = [each for each in compared.desired_resources if each.name in names]
    in_service = {
        each.name: match.row.id if (match := compared.matches[each.name]).row else each.resource_id
        for each in desired
    }
    staying = set(in_service.values())
    return ProtectionChange(
        version=stack.protections,
        taken=[row for row in compared.rows if row.id in held],
        rows={
            **{row.id: False for row in rows if row.id not in staying},
            **dict.fromkeys(staying, True),
        },
    )


def change_of_delete(
    stack: StackRow, rows: Sequence[ResourceRow], held: Mapping[str, Sequence[str]], *, unprotect: bool
) -> ProtectionChange:
    """Return what the deletion of a stack changes of its protection; ``held`` is protected, by the id of its row.

    Raises:
        Conflict: the stack, or something in it, is protected, and the deletion has no permission.
    """
    if not unprotect:
        own = [f"stack {stack.name!r} is protected"] if stack.protected else []
        _refuse(
            stack, [*own, *(f"resource {path!r} is protected" for paths in held.values() for path in paths)]
        )
    return ProtectionChange(
        version=stack.protections,
        taken=[row for row in rows if row.id in held],
        rows={row.id: False for row in rows if row.protected},
        stack=stack.protected,
    )


def _refuse(stack: StackRow, reasons: Iterable[str]) -> None:
    listed = list(reasons)
    if not listed:
        return
    more = len(listed) - _NAMED
    shown = "; ".join(listed[:_NAMED]) + (f"; and {more} more" if more > 0 else "")
    raise Conflict(f"nothing was changed of stack {stack.name!r}: {shown}; {_WAY}")
