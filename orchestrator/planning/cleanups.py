"""What the cleanup of a row must be told besides the row itself: policy, hooks, the properties it would have had."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from orchestrator.definition import NodeData, is_unknown
from orchestrator.errors import IsothermError
from orchestrator.planning.matching import node_data_of
from orchestrator.planning.preparation import definition_of_rows, hooks_of
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store
from orchestrator.template.definitions import DELETE, RETAIN, ResourceDefinition, deletion_policy_of
from orchestrator.template.resource_registry import Registry
from orchestrator.template.template import Template

Fragment = Mapping[str, Any]

#: What the cleanup of a row is told whose object stays because its stack is given up.
ABANDONED: Final = {"policy": RETAIN, "abandon": True}


class Cleanups:
    """Tells of a stack's rows, each when it is asked for: an update cleans up few of many."""

    def __init__(
        self,
        store: Store,
        stack: StackRow,
        rows: Sequence[ResourceRow],
        planned: Mapping[str, Fragment],
        load: Callable[[str, Mapping[str, Any]], Template],
        *,
        registry: Registry,
        kept: Collection[str] = (),
    ) -> None:
        """Keep what is asked.

        ``planned`` are the fragments of ``rows``, ``load`` reads a stored template. Of the rows in ``kept`` the objects
        stay, whatever their policy.
        """
        self._registry, self._kept = registry, kept
        self._store, self._stack, self._load = store, stack, load
        self._planned = planned
        self._rows = {row.id: row for row in rows}

    def __call__(self, row_id: str) -> Fragment:
        """Return what the cleanup of this row is told."""
        if row_id in self._kept:
            return ABANDONED
        row = self._rows[row_id]
        told: dict[str, Any] = {**hooks_of(self._registry, row.name)}
        definition = self._planned.get(row_id, {}).get("definition", {})
        policy = RETAIN if definition.get("e") is not None else deletion_policy_of(definition)
        if policy != DELETE:
            told["policy"] = policy
        if row.properties is None and row.action != "INIT":
            told["properties"] = self._interrupted(row)
        return told

    def _interrupted(self, row: ResourceRow) -> dict[str, Any]:
        """Resolve what a create that never finished was about to apply; what cannot be resolved is left out."""
        begun = self._store.histories.begun(row.id) or self._planned.get(row.id)
        if begun is None:
            return {}
        files = {key: self._store.templates.file(digest) for key, digest in begun.get("files", {}).items()}
        inputs = [self._data[uuid] for uuid in row.requires if uuid in self._data]
        try:
            definition = ResourceDefinition.from_fragment(row.name, begun["definition"])
            stack = definition_of_rows(self._context, self._template, inputs, files)
            properties = definition.resolve_properties(stack)
        except IsothermError:
            return {}
        return {name: value for name, value in properties.items() if not is_unknown(value)}

    # Asked for by few updates, and then perhaps for many rows.

    @cached_property
    def _context(self) -> Mapping[str, Any]:
        return self._store.traversals.context(self._stack.traversal_id)

    @cached_property
    def _template(self) -> Template:
        return self._load(self._stack.template_id, self._context)

    @cached_property
    def _data(self) -> Mapping[str, NodeData]:
        return {row.id: node_data_of(row) for row in self._rows.values() if row.status == "COMPLETE"}
