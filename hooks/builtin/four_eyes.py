"""``four_eyes``: a stack is changed only by a plan that another user has made.

The users are those that are proven: by the key that signed the plan and the job, by a token, or, where a command does
the work itself, by the operating system.
"""

from typing import Final

from pydantic import Field

from hooks.builtin.actions import Actions
from hooks.builtin.wildcards import matches_any
from hooks.errors import Refusal
from hooks.lifecycle import Annotations, LifecycleContext, LifecyclePlugin
from hooks.options import HookOptions
from hooks.stack import FrozenStack

#: What changes a stack as a user wants it. A rollback, and what leaves a stack as it is, must always be possible.
_CHANGES: Final = ("CREATE", "UPDATE", "DELETE", "ADOPT", "RESTORE", "ABANDON")


class FourEyesOptions(HookOptions):
    """The options of ``four_eyes``."""

    actions: Actions = Field(
        default=_CHANGES,
        description="The operations that need a plan of another user. Of these, ADOPT, RESTORE and ABANDON have no "
        "plans, and are refused.",
    )
    projects: tuple[str, ...] = Field(
        default=(),
        description="The projects for whose stacks this holds, all by default; `*` and `?` as in file names.",
    )


class FourEyes(LifecyclePlugin):
    """Refuses what one user alone wants."""

    name = "four_eyes"
    description = "Refuses changes of stacks that do not apply a plan which another user has made."
    enabled_by_default = False
    Options = FourEyesOptions
    options: FourEyesOptions
    #: It calls no server: calling it first may spare a call by plugins that do.
    ordinal = 5

    def do_pre_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,  # noqa: ARG002  # whatever it is now
        action: str,
    ) -> Annotations | None:
        """Compare who applies a plan with who made it.

        Raises:
            Refusal: there is no plan, it was made by the same user, or one of them is not known.
        """
        # What is done to a nested stack is a consequence of what is done to the outermost one.
        if stack.parent_id or action not in self.options.actions:
            return None
        if self.options.projects and not matches_any(context.project, self.options.projects):
            return None
        plan, wanted = (
            context.plan,
            f"a plan that another user has made is needed to {action.lower()} a stack here",
        )
        if plan is None:
            hint = "make one with: isotherm stack plan -o" if action in ("CREATE", "UPDATE", "DELETE") else ""
            raise Refusal(f"{wanted}{f'; {hint}' if hint else ''}")
        if not plan.user or not context.user:
            who = "made the plan" if not plan.user else "applies the plan"
            raise Refusal(f"{wanted}, and it is not known who {who}")
        if plan.user == context.user:
            raise Refusal(f"{wanted}: {plan.user!r} made this one: have another user apply it")
        return None
