"""``placement``: the lifecycle plugin that finds a node for everything of a stack that is on one.

Before an operation that makes or changes resources, it decides where all of them go and claims the room; what is there
already stays where it is. Each resource type reads its node as ``self.annotations["placement"]["node"]``. Once the
operation is over, what is there keeps its room, and the rest is given up.
"""

from collections.abc import Collection
from typing import ClassVar, Final

from pydantic import Field

from hooks.errors import Refusal
from hooks.hook import HookOptions
from hooks.lifecycle import COMPLETE, REFUSED, Annotations, LifecycleContext
from hooks.stack import FrozenStack
from orchestrator.errors import InvalidInput, Unavailable
from orchestrator.lifecycle.engine_plugin import EnginePlugin
from orchestrator.placement.planner import Found, Planner, group_rows
from orchestrator.placement.requests import NotTellable, is_placed, requests_of
from orchestrator.placement.solver import Unplaceable
from orchestrator.store.machines.reservations import MARGIN_SECONDS

#: What makes resources, or may.
_MAKING: Final = frozenset({"CREATE", "UPDATE", "ROLLBACK", "RESTORE", "ADOPT"})
#: What only takes them away.
_ENDING: Final = frozenset({"DELETE", "ABANDON"})
#: Said where there is nobody to place anything on.
_NO_NODES: Final = "there is no node: start an agent on each machine, with isotherm agent --node NAME"


class PlacementOptions(HookOptions):
    """The options of ``placement``."""

    max_age_seconds: float = Field(
        default=60.0,
        ge=0,
        description="How old what nodes said of themselves may be. What was promised since is known to the second.",
    )


class Placement(EnginePlugin):
    """Decides where resources go."""

    name = "placement"
    description = "Finds a node for everything of a stack that is on one, and claims the room for it."
    Options: ClassVar[type[HookOptions]] = PlacementOptions
    options: PlacementOptions
    #: It claims room: whoever refuses should have done so before.
    ordinal = 900
    #: Nodes that do not answer are waited for, and claims wait for each other.
    time_limit_seconds = 60.0

    def concerns(self, action: str, types: Collection[str]) -> bool:
        """Tell whether anything is made, changed or taken away that is on a node."""
        if action not in _MAKING | _ENDING:
            return False
        known = self.engine.types()
        return any(is_placed(known.get(name)) for name in types)

    def do_pre_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,
        action: str,
    ) -> Annotations | None:
        """Decide where everything goes, and claim the room.

        Raises:
            Refusal: there is no room, or no way by the rules; it says so of each node.
        """
        if action in _ENDING:
            return None
        settings = self.engine.settings
        seconds = context.timeout_seconds or 60.0 * settings.stack_timeout_minutes
        try:
            planner = self._planner(context, stack, current_stack, action)
            return _said(
                planner, planner.claim(seconds + MARGIN_SECONDS) if planner.requests.requests else None
            )
        except Unplaceable as error:
            if action == "ADOPT":
                # What is adopted is somewhere already, and only its type knows where.
                return Annotations(warnings=(f"what is not adopted is not placed: {error}",))
            raise Refusal(self._words(error)) from error
        except (NotTellable, Unavailable, InvalidInput) as error:
            raise Refusal(str(error)) from error

    def do_preview(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,
        action: str,
    ) -> Annotations | None:
        """Say where everything would go; claim nothing.

        Raises:
            Refusal: there is no room, or no way by the rules.
        """
        if action in _ENDING:
            return None
        try:
            planner = self._planner(context, stack, current_stack, action)
            return _said(planner, planner.decide() if planner.requests.requests else None)
        except (Unavailable, InvalidInput) as error:
            return Annotations(warnings=(f"where it would be placed cannot be told: {error}",))
        except Unplaceable as error:
            raise Refusal(self._words(error)) from error
        except NotTellable as error:
            raise Refusal(str(error)) from error

    def do_post_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,  # noqa: ARG002  # the ledger reads what is there by itself
        action: str,
        is_stack_failure: bool,  # noqa: ARG002  # the outcome says more
    ) -> None:
        """Let what is there keep its room, and give up the rest."""
        wanted = None
        if context.outcome == COMPLETE:
            wanted = {} if action in _ENDING else self._wanted(stack)
        self.engine.store().reservations.settle(
            context.operation_id, stack.id, wanted=wanted, began=context.outcome != REFUSED
        )

    def _wanted(self, stack: FrozenStack) -> dict[str, dict[str, int]] | None:
        """Return what each resource takes from now on; None if nobody can tell any more."""
        try:
            requests = requests_of(stack, None, self.engine.types(), settings=self.engine.settings)
            kinds = {each: row.kind for each, row in group_rows(self.engine, stack, requests).items()}
        except NotTellable:
            return None
        return {request.name: request.amounts(stack.id, kinds) for request in requests.requests}

    def _planner(
        self, context: LifecycleContext, stack: FrozenStack, current: FrozenStack | None, action: str
    ) -> Planner:
        return Planner(
            self.engine,
            stack,
            current,
            action,
            operation_id=context.operation_id,
            max_age_seconds=self.options.max_age_seconds,
        )

    def _words(self, error: Unplaceable) -> str:
        return str(error) if error.reasons or self.engine.nodes().leases() else f"{error}; {_NO_NODES}"


def _said(planner: Planner, found: Found | None) -> Annotations:
    if found is None:
        return Annotations(warnings=planner.requests.warnings)
    return Annotations(
        warnings=(*planner.requests.warnings, *found.answer.warnings),
        resources={name: {"node": node} for name, node in found.answer.nodes.items()},
    )
