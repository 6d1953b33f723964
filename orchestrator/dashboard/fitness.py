"""Fitness of actions: why one is pointless in a stack's present state, by its row and what it holds.

The engine decides in the end: what only the rows of resources would tell is left to it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from orchestrator.model.actions import RETRIED
from orchestrator.store.stacks.snapshots import SnapshotRow
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.views.stacks import HookView

#: The actions that begin an operation on a stack as it is, or change a mark on it: not while another goes on.
_ON_A_STACK_AT_REST: Final = (
    "check",
    "suspend",
    "resume",
    "snapshot",
    "restore",
    "protect",
    "unprotect",
    "mark_unhealthy",
    "mark_healthy",
)
#: The actions that a suspended stack has to be resumed for.
_ON_A_STACK_IN_USE: Final = ("check", "snapshot", "restore", "mark_unhealthy", "mark_healthy")
#: The actions on a whole stack, which is changed from outside its parent stack only.
_ON_A_WHOLE_STACK: Final = (
    *("cancel", "retry", "delete", "update"),
    *("check", "suspend", "resume", "snapshot", "restore"),
)
#: The actions that depend on the operation that the operator saw. A deletion, a signal, a hook and a mark do not.
ON_WHAT_WAS_SEEN: Final = ("cancel", "retry", "check", "suspend", "resume", "snapshot", "restore")


class Acted(Protocol):
    """A stack that is acted on, as far as its own row decides."""

    @property
    def action(self) -> str:
        """Its last action."""

    @property
    def status(self) -> str:
        """The status of that."""

    @property
    def parent_id(self) -> str | None:
        """The stack that it is nested in."""

    @property
    def deleted_at(self) -> float | None:
        """When it was deleted."""

    @property
    def protected(self) -> bool:
        """Whether it is protected against deletion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A stack, and what actions on it are about."""

    stack: StackRow
    #: The resources that are held at hooks.
    hooks: Sequence[HookView] = ()
    #: Oldest first.
    snapshots: Sequence[SnapshotRow] = ()

    @property
    def restorable(self) -> list[SnapshotRow]:
        """The snapshots that are complete, oldest first."""
        return [each for each in self.snapshots if (each.action, each.status) == ("CREATE", "COMPLETE")]


def unfit(action: str, situation: Situation) -> str:
    """Return why an action, or an update, is pointless in a stack's present state; empty if it is not."""
    reasons = {
        "there is no complete snapshot to restore": action == "restore" and not situation.restorable,
        "no resource is held at a hook": action == "clear_hook" and not situation.hooks,
    }
    by_row = unfit_by_row(action, situation.stack)
    return by_row or next((sentence for sentence, holds in reasons.items() if holds), "")


def unfit_by_row(action: str, stack: Acted) -> str:
    """Return the reasons of :func:`unfit` that lie in the stack's own row; empty if there is none."""
    reasons = {
        "the stack is deleted": stack.deleted_at is not None,
        "the stack is a part of another stack: act on that one": (
            stack.parent_id is not None and action in _ON_A_WHOLE_STACK
        ),
        **_unfit_in(action, stack),
        "it, or something in it, is protected: isotherm stack unprotect takes that off": (
            action == "delete" and stack.protected
        ),
    }
    return next((sentence for sentence, holds in reasons.items() if holds), "")


def _unfit_in(action: str, stack: Acted) -> Mapping[str, bool]:
    """Return, for each reason that lies in a stack's action and status, whether it holds."""
    state = f"{stack.action}_{stack.status}"
    going, deleting = stack.status == "IN_PROGRESS", stack.action == "DELETE"
    at_rest = action in _ON_A_STACK_AT_REST
    return {
        f"nothing is under way that could be cancelled: the stack is {state}": (
            action == "cancel" and (not going or deleting)
        ),
        f"there is nothing to try again: the stack is {state}": (
            action == "retry" and (stack.status != "FAILED" or stack.action not in RETRIED)
        ),
        "the stack is being deleted": (action in ("delete", "update") or at_rest) and going and deleting,
        f"only a deletion can follow: the stack is {state}": at_rest and deleting,
        f"wait until the operation is over, or cancel it: the stack is {state}": at_rest and going,
        f"resume the stack first: it is {state}": action in _ON_A_STACK_IN_USE and stack.action == "SUSPEND",
        "the stack is suspended already": action == "suspend" and state == "SUSPEND_COMPLETE",
        # After a failure or a rollback, some resources may be suspended.
        f"the stack is not suspended: it is {state}": (
            action == "resume"
            and stack.action not in ("SUSPEND", "ROLLBACK")
            and (stack.status == "COMPLETE" or stack.action in ("CREATE", "ADOPT"))
        ),
    }
