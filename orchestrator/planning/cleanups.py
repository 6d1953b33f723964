"""Fragments of cleanup nodes: the deletion policy, breakpoints, and the properties of an interrupted create."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from orchestrator.definition import NodeData
from orchestrator.model.plan import is_imported
from orchestrator.planning.preparation import hooks_of, known_properties
from orchestrator.planning.rows import definition_of_rows, names_of, node_data_of
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store
from orchestrator.template.definitions import DELETE, RETAIN, SNAPSHOT, deletion_policy_of
from orchestrator.template.resource_registry import Registry
from orchestrator.template.template import Template

Fragment = Mapping[str, Any]

#: The fragment of a row whose object stays because its stack is abandoned.
ABANDONED: Final = {"policy": RETAIN, "abandon": True}


def never_imported(
    rows: Sequence[ResourceRow], planned: Mapping[str, Fragment], desired: Collection[str] = ()
) -> frozenset[str]:
    """Return the ids of rows whose import never came to its end: their objects stay when the rows are removed.

    ``planned`` are the fragments of the rows' definitions; rows whose ids are ``desired`` are not removed.
    """
    return frozenset(
        row.id
        for row in rows
        if row.action == "ADOPT"
        and row.status != "COMPLETE"
        and row.id not in desired
        and is_imported(planned.get(row.id, {}))
    )


class Cleanups:
    """Makes the cleanup fragments of a stack's rows on demand: an update cleans up few of many."""

    def __init__(
        self,
        store: Store,
        stack: StackRow,
        rows: Sequence[ResourceRow],
        planned: Mapping[str, Fragment],
        load: Callable[[str, Mapping[str, object]], Template],
        *,
        registry: Registry,
        kept: Collection[str] = (),
        unprotect: bool = False,
    ) -> None:
        """Make the cleanups of a stack.

        ``planned`` are the fragments of ``rows``, ``load`` reads a stored template. The objects of rows in ``kept``
        stay, whatever their policy. ``unprotect`` permits that protected parts of nested stacks are deleted.
        """
        self._unprotect = unprotect
        self._registry, self._kept = registry, kept
        self._store, self._stack, self._load = store, stack, load
        self._planned = planned
        self._rows = {row.id: row for row in rows}

    def __call__(self, row_id: str) -> Fragment:
        """Return the fragment of a row's cleanup node."""
        row = self._rows[row_id]
        permission = {**({"unprotect": True} if self._unprotect else {}), **names_of(row)}
        if row_id in self._kept:
            return {**ABANDONED, **permission}
        fragment: dict[str, Any] = {**hooks_of(self._registry, row.name), **permission}
        definition = self._planned.get(row_id, {}).get("definition", {})
        policy = RETAIN if definition.get("e") is not None else deletion_policy_of(definition)
        if policy == SNAPSHOT and row.definition_hash is None:
            # It was never complete, and has nothing that is worth a snapshot.
            policy = DELETE
        if policy != DELETE:
            fragment["policy"] = policy
        if row.properties is None and row.action != "INIT":
            fragment["properties"] = self._interrupted(row)
        return fragment

    def _interrupted(self, row: ResourceRow) -> dict[str, object]:
        """Return the properties of an interrupted create, without those that cannot be resolved."""
        begun = self._store.histories.begun(row.id) or self._planned.get(row.id)
        if begun is None:
            return {}
        files = {key: self._store.templates.file(digest) for key, digest in begun.get("files", {}).items()}
        inputs = [self._data[uuid] for uuid in row.requires if uuid in self._data]
        return known_properties(
            row.name,
            begun["definition"],
            lambda _: definition_of_rows(self._context, self._template, inputs, files),
        )

    # Few updates need these, but then perhaps for many rows.

    @cached_property
    def _context(self) -> Mapping[str, object]:
        return self._store.traversals.context(self._stack.traversal_id)

    @cached_property
    def _template(self) -> Template:
        return self._load(self._stack.template_id, self._context)

    @cached_property
    def _data(self) -> Mapping[str, NodeData]:
        return {row.id: node_data_of(row) for row in self._rows.values() if row.status == "COMPLETE"}
