"""The properties that were applied to a resource, as they may be shown: possible secrets are masked, part by part."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.config.limits import Limits
from orchestrator.definition import LazyFiles, ResourceProxy, StackDefinition
from orchestrator.errors import IsothermError
from orchestrator.planning.rows import node_data_of
from orchestrator.store.stacks.stacks import ResourceRow
from orchestrator.template.definitions import ResourceDefinition
from orchestrator.template.expressions import Expression
from orchestrator.template.hiding import HIDDEN


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedDefinitions:
    """The rows of a stack, with what masks the values that were applied to them."""

    rows: Sequence[ResourceRow]
    #: The context of the stack's last traversal.
    context: Mapping[str, Any]
    #: The names of parameters that are hidden.
    hidden: Collection[str]
    limits: Limits
    #: Reads a stored file by its digest.
    content: Callable[[str], str]

    def shown(self, row: ResourceRow, fragment: Mapping[str, Any] | None) -> dict[str, object]:
        """Return the properties that were applied to a row by the definition ``fragment``, as the template names them.

        A part is ``******`` unless the definition contains it, or computes it from parameters that are not hidden and
        ids of resources.
        """
        applied = row.properties or {}
        if not fragment:
            return dict.fromkeys(applied, HIDDEN)
        try:
            earlier = ResourceDefinition.from_fragment(row.name, fragment["definition"], self.limits)
            stack = StackDefinition.of_context(
                self.context,
                resources=self._required(row, earlier.requirements),
                files=LazyFiles(fragment.get("files", {}), self.content),
            )
        except IsothermError:
            return dict.fromkeys(applied, HIDDEN)
        whole = earlier.properties_expression
        parts = whole.entries()
        if not parts and whole.is_call:
            shown = self._masked(whole, applied, stack)
            return shown if isinstance(shown, dict) else dict.fromkeys(applied, HIDDEN)
        return {
            name: self._masked(parts[name], value, stack) if name in parts else HIDDEN
            for name, value in applied.items()
        }

    def _masked(self, part: Expression, value: object, stack: StackDefinition) -> object:
        try:
            return part.masked(value, stack, self.hidden)
        except IsothermError:
            return HIDDEN

    def _required(self, row: ResourceRow, names: Collection[str]) -> dict[str, ResourceProxy]:
        """Return the requirements of a row, with their ids and without their attributes."""
        proxies = {name: ResourceProxy(name=name) for name in names}
        for each in self.rows:
            if each.id in row.requires:
                data = replace(node_data_of(each), attributes={}, unread={})
                proxies[each.name] = ResourceProxy(name=each.name, data=data)
        return proxies
