"""Lifecycle plugins: asked before a stack operation, told after it.

A plugin is shown frozen values, never an object of the engine: there is nothing in its hands that could change a
stack, and it outlives the engine's refactoring. Both calls may come more than once for one operation, in any
process: the operation's id tells.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

from hooks.errors import HookNotLoaded
from hooks.hook import Hook
from hooks.loading.installed import Installed, InstalledHook, find_hooks
from hooks.loading.ordering import in_order
from hooks.stack import FrozenStack
from hooks.values.frozen import FrozenDict

#: The entry point group of lifecycle plugins.
NAMESPACE: Final = "isotherm.lifecycle"

#: How an operation ended.
COMPLETE: Final = "complete"
FAILED: Final = "failed"
#: Another operation took the stack before this one was over.
SUPERSEDED: Final = "superseded"
#: It never began: a plugin refused it, another operation was faster, or its process died before.
REFUSED: Final = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """What a plugin says about a stack and its resources: plain types that msgpack knows.

    They are stored with the stack when the operation begins, in the place of what the same plugin said before.
    Resource types read those of their resource as ``self.annotations``.
    """

    #: Sentences for people, who may go on all the same.
    warnings: Sequence[str] = ()
    #: Of the stack as a whole.
    stack: Mapping[str, Any] = field(default_factory=FrozenDict)
    #: Of single resources, by name.
    resources: Mapping[str, Mapping[str, Any]] = field(default_factory=FrozenDict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleContext:
    """One operation on one stack, whatever the stack is."""

    #: The same however often a plugin is called for this operation, before and after it, in whatever process.
    operation_id: str
    project: str
    #: Before the operation: what is under way on the outermost stack, such as ROLLBACK for what a stack in it does
    #: because of that; empty if nothing is. Of an outermost stack it is the action itself.
    root_action: str = ""
    #: Before the operation: how long it may take at most once it has begun; None where nobody says, as in a preview.
    timeout_seconds: float | None = None
    #: After the operation: complete, failed, superseded or refused; empty before.
    outcome: str = ""
    #: After the operation: why it ended as it did.
    reason: str = ""
    #: After the operation: what this plugin answered before it; None if it answered nothing, or not in time.
    annotations: Annotations | None = None


class LifecyclePlugin(Hook):
    """Base of lifecycle plugins: override what you need, the rest does nothing.

    ``action`` is CREATE, UPDATE, DELETE, ROLLBACK, CHECK, SUSPEND, RESUME, SNAPSHOT, RESTORE, ADOPT or ABANDON.
    ``stack`` is what the stack is to be, ``current_stack`` what it is at that moment: None while there is none.
    """

    noun = "lifecycle plugin"
    #: Lower ones are asked earlier and told later; equal ones go by name.
    ordinal: int = 100
    #: The names of plugins that come later than this one, whatever their ordinals.
    before: ClassVar[Collection[str]] = ()
    #: The names of plugins that come earlier than this one, whatever their ordinals.
    after: ClassVar[Collection[str]] = ()

    def do_pre_op(
        self,
        context: LifecycleContext,  # noqa: ARG002  # for those who override it
        stack: FrozenStack,  # noqa: ARG002  # as above
        current_stack: FrozenStack | None,  # noqa: ARG002  # as above
        action: str,  # noqa: ARG002  # as above
    ) -> Annotations | None:
        """Run before anything is written or touched; None leaves standing what this plugin said before.

        Raises:
            Refusal: the operation must not begin; any other exception refuses it as well.
        """
        return None

    def do_post_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,
        action: str,
        is_stack_failure: bool,
    ) -> None:
        """Undo or record, once the operation has ended, however it did; also when a later plugin refused it.

        Called in the reverse order, for those plugins alone whose ``do_pre_op`` has answered, or may have: it did not
        end in time, or its process died. What it raises is logged and kept, and changes nothing.
        """

    def do_preview(
        self,
        context: LifecycleContext,  # noqa: ARG002  # for those who override it
        stack: FrozenStack,  # noqa: ARG002  # as above
        current_stack: FrozenStack | None,  # noqa: ARG002  # as above
        action: str,  # noqa: ARG002  # as above
    ) -> Annotations | None:
        """Say what ``do_pre_op`` would, for somebody who only wants to see; change nothing anywhere.

        Raises:
            Refusal: the operation would be refused.
        """
        return None


def find_lifecycle_plugins(
    said: Mapping[str, Mapping[str, Any]] | None = None,
    namespace: str = NAMESPACE,
    *,
    passes_by: Collection[str] | None = None,
) -> Installed[LifecyclePlugin]:
    """Return every installed plugin: those at work first, in their order; and what is wrong with each.

    Args:
        said: What the settings say of them, by name.
        namespace: The entry point group.
        passes_by: As of :func:`hooks.loading.installed.find_hooks`.
    """
    installed = find_hooks(
        namespace, LifecyclePlugin, said, section="lifecycle", check=_order_faults, passes_by=passes_by
    )
    plugins = [each.hook for each in installed.hooks if each.hook is not None]
    names = {each.name for each in installed.hooks}
    try:
        order = [plugin.name for plugin in in_order(plugins, known=names)]
    except HookNotLoaded as error:
        return installed.with_faults(error.faults)
    ranks = {name: rank for rank, name in enumerate(order)}
    return replace(
        installed,
        order=tuple(order),
        hooks=tuple(sorted(installed.hooks, key=lambda each: ranks.get(each.name, len(ranks)))),
    )


def load_lifecycle_plugins(
    said: Mapping[str, Mapping[str, Any]] | None = None, namespace: str = NAMESPACE
) -> tuple[InstalledHook[LifecyclePlugin], ...]:
    """Return the enabled plugins in the order in which they are asked.

    Args:
        said: What the settings say of them, by name.
        namespace: The entry point group.

    Raises:
        HookNotLoaded: some of them cannot be used; it says of each what is wrong.
    """
    return find_lifecycle_plugins(said, namespace, passes_by=()).enabled()


def _order_faults(plugin: LifecyclePlugin) -> list[str]:
    """Return what is wrong with what a plugin says of its place; nothing else holds its author to the types."""
    faults = []
    ordinal: object = plugin.ordinal
    if not isinstance(ordinal, int) or isinstance(ordinal, bool):
        faults.append(f"its ordinal must be a whole number, not {ordinal!r}")
    for said in ("before", "after"):
        names: object = getattr(plugin, said)
        # A text is a collection of texts, too.
        if (
            isinstance(names, str)
            or not isinstance(names, Collection)
            or not all(isinstance(name, str) for name in names)
        ):
            faults.append(f"its {said} must be names of plugins in a list or a tuple, not {names!r}")
    return faults
