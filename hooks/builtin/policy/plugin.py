"""The lifecycle plugin ``policy``."""

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from hooks.builtin.actions import DEFINING_ACTIONS, is_among
from hooks.builtin.policy.files import RuleFiles
from hooks.builtin.policy.rules import judge
from hooks.errors import Refusal
from hooks.lifecycle import Annotations, LifecycleContext, LifecyclePlugin
from hooks.options import HookOptions
from hooks.stack import FrozenStack


class PolicyOptions(HookOptions):
    """The options of ``policy``."""

    files: Annotated[tuple[Path, ...], Field(min_length=1)] = Field(
        description="The files with the rules, all of which hold; read again when they change.",
    )


class Policy(LifecyclePlugin):
    """Refuses, or warns of, stacks that break the operator's rules."""

    name = "policy"
    description = "Refuses stacks that break the rules in YAML files, or warns of them."
    enabled_by_default = False
    Options: ClassVar[type[HookOptions]] = PolicyOptions
    options: PolicyOptions
    #: It calls no server: calling it first may spare a call by plugins that do.
    ordinal = 20

    def __init__(self, options: PolicyOptions) -> None:
        """Read the rules.

        Raises:
            ValueError: a file is no rule file; the message names the place and the fault.
        """
        super().__init__(options)
        self._files = RuleFiles(options.files)

    def do_pre_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,  # noqa: ARG002  # earlier breaches excuse nothing
        action: str,
    ) -> Annotations | None:
        """Judge the stack's new definition.

        Raises:
            Refusal: it breaks rules; the message names all of them.
        """
        rules = [rule for rule in self._files.rules() if rule.concerns(context, action)]
        if not rules and not is_among(DEFINING_ACTIONS, context, action):
            return None
        judgement = judge(rules, stack)
        if judgement.refusals:
            raise Refusal("; ".join(judgement.refusals))
        return Annotations(warnings=judgement.warnings)

    #: It has no side effects.
    do_preview = do_pre_op
