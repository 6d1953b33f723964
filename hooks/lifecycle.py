"""Lifecycle plugins: called before a stack operation, which they may refuse, and after it.

A plugin receives frozen values, never an object of the engine: nothing in them can change a
stack, and they outlive the engine's refactoring. Both calls may come more than once for one operation, in any
process: the operation's id identifies it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Final

from hooks.errors import HookNotLoaded
from hooks.hook import Hook
from hooks.loading.finder import find_hooks
from hooks.loading.installed import Installed
from hooks.loading.ordering import in_order
from hooks.stack import FrozenStack
from hooks.values.dataclass import dataclass
from hooks.values.frozen import FrozenDict

#: The entry point group of lifecycle plugins.
NAMESPACE: Final = "isotherm.lifecycle"

#: How an operation ended.
COMPLETE: Final = "complete"
FAILED: Final = "failed"
#: Another operation took the stack before this one was over.
SUPERSEDED: Final = "superseded"
#: It never began: a plugin refused it, another operation came first, or its process died before.
REFUSED: Final = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """A plugin's remarks on a stack and its resources: plain types that msgpack can pack.

    They are stored with the stack when the operation begins, and replace the same plugin's earlier ones.
    Resource types read those of their resource as ``self.annotations``.
    """

    #: Warnings shown to the user, who may go on all the same.
    warnings: Sequence[str] = ()
    #: On the stack as a whole.
    stack: Mapping[str, Any] = field(default_factory=FrozenDict)
    #: On single resources, by name.
    resources: Mapping[str, Mapping[str, Any]] = field(default_factory=FrozenDict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedOperation:
    """The saved plan that an operation applies; its signature was verified."""

    id: str
    #: Who is proven to have made it; empty where that is not known.
    user: str
    #: Seconds since the epoch.
    planned_at: float
    #: The action that the plan lists for each resource of the definition, and those that may be taken in its place.
    actions: Mapping[str, Sequence[str]] = field(default_factory=FrozenDict)
    #: The resources that are deleted because the definition no longer has them, or with the stack.
    deletes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleContext:
    """One operation on one stack."""

    #: The same for every call about this operation, before and after it, in whatever process.
    operation_id: str
    project: str
    #: Before the operation: the operation of the outermost stack, such as ROLLBACK for its consequences in a nested
    #: stack; empty if there is none. For an outermost stack it is the action itself.
    root_action: str = ""
    #: Before the operation: the most time it may take once begun; None where that is unknown, as in a preview.
    timeout_seconds: float | None = None
    #: Before the operation: who is proven to have requested it; empty for what the engine does itself.
    user: str = ""
    #: Before the operation: the saved plan that it applies; None for none, as in a preview.
    plan: PlannedOperation | None = None
    #: Before the operation: the names that resources have now, by those that it gives them; the path of one that comes
    #: out of a nested stack. The plugin sees the present stack with the new names already.
    moved: Mapping[str, str] = field(default_factory=FrozenDict)
    #: After the operation: complete, failed, superseded or refused; empty before.
    outcome: str = ""
    #: After the operation: the reason of its end.
    reason: str = ""
    #: After the operation: this plugin's answer before it; None if it gave none, or not in time.
    annotations: Annotations | None = None


class LifecyclePlugin(Hook):
    """Base of lifecycle plugins: override what is needed; by default nothing happens.

    ``action`` is CREATE, UPDATE, DELETE, ROLLBACK, CHECK, SUSPEND, RESUME, SNAPSHOT, RESTORE, ADOPT or ABANDON.
    ``stack`` is the new definition, ``current_stack`` the present one: None while there is none.
    """

    noun = "lifecycle plugin"
    #: Lower ones are called earlier before an operation and later after it; equal ones in the order of their names.
    ordinal: int = 100
    #: The names of plugins that come later than this one, whatever their ordinals.
    before: ClassVar[Collection[str]] = ()
    #: The names of plugins that come earlier than this one, whatever their ordinals.
    after: ClassVar[Collection[str]] = ()

    def do_pre_op(
        self, context: LifecycleContext, stack: FrozenStack, current_stack: FrozenStack | None, action: str
    ) -> Annotations | None:
        """Run before anything is written; None leaves this plugin's earlier annotations as they are.

        Raises:
            Refusal: the operation must not begin; any other exception refuses it too. The setting
                ``lifecycle_effects`` decides whether the stack is FAILED then.
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

        Called in reverse order, only for plugins whose ``do_pre_op`` has returned, or may have: it timed
        out, or its process died. An exception is logged and recorded; it fails the stack only where the setting
        ``lifecycle_effects`` says so.
        """

    def do_preview(
        self, context: LifecycleContext, stack: FrozenStack, current_stack: FrozenStack | None, action: str
    ) -> Annotations | None:
        """Return what ``do_pre_op`` would, for a preview; has no side effects.

        Raises:
            Refusal: the operation would be refused.
        """
        return None


def find_lifecycle_plugins(
    configured: Mapping[str, Mapping[str, Any]] | None = None,
    namespace: str = NAMESPACE,
    *,
    passes_by: Collection[str] | None = None,
) -> Installed[LifecyclePlugin]:
    """Return every installed plugin, the enabled ones first and in order, with its faults.

    For the parameters see :func:`hooks.loading.finder.find_hooks`.
    """
    installed = find_hooks(
        namespace, LifecyclePlugin, configured, section="lifecycle", check=_order_faults, passes_by=passes_by
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


def _order_faults(plugin: LifecyclePlugin) -> list[str]:
    """Return the faults in a plugin's ``before`` and ``after``, whose types nothing else checks."""
    faults = []
    ordinal: object = plugin.ordinal
    if not isinstance(ordinal, int) or isinstance(ordinal, bool):
        faults.append(f"its ordinal must be a whole number, not {ordinal!r}")
    for relation in ("before", "after"):
        names: object = getattr(plugin, relation)
        # A string is a collection of strings too.
        if (
            isinstance(names, str)
            or not isinstance(names, Collection)
            or not all(isinstance(name, str) for name in names)
        ):
            faults.append(f"its {relation} must be names of plugins in a list or a tuple, not {names!r}")
    return faults
