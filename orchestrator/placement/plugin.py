"""Lifecycle plugin ``placement``: chooses a machine for each resource that needs one, and reserves capacity.

It runs before an operation that makes or changes resources; existing ones stay where they are. Resource types read
their machine as ``self.annotations["placement"]["node"]``. After the operation, reservations of existing resources are
kept, and the others are released.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from hooks.errors import Refusal
from hooks.hook import OptionsAt
from hooks.lifecycle import COMPLETE, REFUSED, Annotations, LifecycleContext
from hooks.stack import FrozenStack
from orchestrator.errors import InvalidInput, Unavailable
from orchestrator.lifecycle.engine_plugin import EnginePlugin
from orchestrator.placement.requests import UnknownRequirements, is_placed, requests_of

if TYPE_CHECKING:
    # Few stacks have resources on machines.
    from orchestrator.placement.options import PlacementOptions
    from orchestrator.placement.planner import Found, Planner
    from orchestrator.placement.solver import Unplaceable

#: The actions that may make resources.
_MAKING: Final = frozenset({"CREATE", "UPDATE", "ROLLBACK", "RESTORE", "ADOPT"})
#: The actions that only delete them.
_ENDING: Final = frozenset({"DELETE", "ABANDON"})
#: The hint if no agent runs.
_NO_NODES: Final = "there is no node: start an agent on each machine, with isotherm agent --node NAME"


# Typed as what is read.
_OPTIONS: Any = OptionsAt("orchestrator.placement.options", "PlacementOptions")


class Placement(EnginePlugin):
    """The lifecycle plugin ``placement``."""

    name = "placement"
    description = "Finds a node for everything of a stack that is on one, and claims the room for it."
    Options = _OPTIONS
    options: "PlacementOptions"
    #: Late, so that plugins that refuse do so before capacity is reserved.
    ordinal = 900
    #: Long, for machines that do not answer, and for locks of concurrent reservations.
    time_limit_seconds = 60.0

    def concerns(self, action: str, types: Collection[str]) -> bool:
        """Return whether the operation makes, changes or deletes resources on machines."""
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
        """Solve the placement, and reserve its capacity.

        Raises:
            Refusal: there is no placement; the message has the reason of each machine.
        """
        if action in _ENDING:
            return None
        from orchestrator.placement.solver import Unplaceable
        from orchestrator.store.machines.reservations import MARGIN_SECONDS

        settings = self.engine.settings
        seconds = context.timeout_seconds or 60.0 * settings.stack_timeout_minutes
        try:
            planner = self._planner(context, stack, current_stack, action)
            return _annotations(
                planner, planner.claim(seconds + MARGIN_SECONDS) if planner.requests.requests else None
            )
        except Unplaceable as error:
            return self._unplaced(error, action)
        except (UnknownRequirements, Unavailable, InvalidInput) as error:
            raise Refusal(str(error)) from error

    def do_preview(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,
        action: str,
    ) -> Annotations | None:
        """Solve the placement without reserving anything.

        Raises:
            Refusal: there is no placement.
        """
        if action in _ENDING:
            return None
        from orchestrator.placement.solver import Unplaceable

        try:
            planner = self._planner(context, stack, current_stack, action)
            return _annotations(planner, planner.decide() if planner.requests.requests else None)
        except (Unavailable, InvalidInput) as error:
            return Annotations(warnings=(f"its placement cannot be determined: {error}",))
        except Unplaceable as error:
            return self._unplaced(error, action)
        except UnknownRequirements as error:
            raise Refusal(str(error)) from error

    def do_post_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,  # noqa: ARG002  # the store reads the rows itself
        action: str,
        is_stack_failure: bool,  # noqa: ARG002  # the outcome says more
    ) -> None:
        """Keep the reservations of existing resources, and release the others."""
        wanted = None
        if context.outcome == COMPLETE:
            wanted = {} if action in _ENDING else self._wanted(stack)
        self.engine.store().reservations.settle(
            context.operation_id, stack.id, wanted=wanted, began=context.outcome != REFUSED
        )

    def _wanted(self, stack: FrozenStack) -> dict[str, dict[str, int]] | None:
        """Return the amounts of each resource from now on; None if they cannot be evaluated any more."""
        from orchestrator.placement.planner import group_rows

        try:
            requests = requests_of(stack, None, self.engine.types(), settings=self.engine.settings)
            kinds = {each: row.kind for each, row in group_rows(self.engine, stack, requests).items()}
        except UnknownRequirements:
            return None
        return {request.name: request.amounts(stack.id, kinds) for request in requests.requests}

    def _planner(
        self, context: LifecycleContext, stack: FrozenStack, current: FrozenStack | None, action: str
    ) -> "Planner":
        from orchestrator.placement.planner import Planner

        return Planner(
            self.engine,
            stack,
            current,
            action,
            operation_id=context.operation_id,
            moved=context.moved,
            max_age_seconds=self.options.max_age_seconds,
        )

    def _unplaced(self, error: "Unplaceable", action: str) -> Annotations:
        """Return the warning of an adoption whose other resources fit on no machine.

        Raises:
            Refusal: it is no adoption.
        """
        if action == "ADOPT":
            # Adopted objects exist somewhere already, and only their types know where.
            return Annotations(warnings=(f"what is not adopted is not placed: {error}",))
        raise Refusal(self._message(error)) from error

    def _message(self, error: "Unplaceable") -> str:
        return str(error) if error.reasons or self.engine.nodes().leases() else f"{error}; {_NO_NODES}"


def _annotations(planner: "Planner", found: "Found | None") -> Annotations:
    if found is None:
        return Annotations(warnings=planner.requests.warnings)
    return Annotations(
        warnings=(*planner.requests.warnings, *found.answer.warnings),
        resources={name: {"node": node} for name, node in found.answer.nodes.items()},
    )
