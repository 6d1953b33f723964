"""Annotations: the last remarks of lifecycle plugins on stacks and their resources, written as an operation begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hooks.values.frozen import frozen
from hooks.values.lazy import LazyMapping
from orchestrator.store.repository import Repository

#: The resource name of annotations of the stack itself.
STACK: Final = ""

#: The annotations of one stack or resource, by the plugin's name.
PluginAnnotations = Mapping[str, Mapping[str, Any]]

_OF: Final = """
    SELECT plugin, value FROM annotation
    WHERE stack_id = :stack_id AND resource = :resource ORDER BY plugin"""


class Annotations(Repository):
    """Reads of the annotation table."""

    def of(self, stack_id: str, resource: str = STACK) -> PluginAnnotations:
        """Return the annotations of a stack's resource, or of the stack itself: frozen, sorted by plugin."""
        rows = self._db.rows(_OF, {"stack_id": stack_id, "resource": resource})
        return {row.plugin: self._unpacked(row.value, stack_id, row.plugin, resource) for row in rows}

    def when_looked_at(self, stack_id: str, resource: str) -> PluginAnnotations:
        """Return a mapping with the result of :meth:`of`, which is read at its first use."""
        return LazyMapping(lambda: self.of(stack_id, resource))

    def all(self, stack_ids: Sequence[str]) -> dict[tuple[str, str], dict[str, Mapping[str, Any]]]:
        """Return the annotations of stacks and their resources, by the stack's id and the resource's name."""
        if not stack_ids:
            return {}
        sql = f"""
            SELECT stack_id, plugin, resource, value FROM annotation
            WHERE stack_id {self._db.in_list("stack_ids")} ORDER BY plugin"""  # a text of ours
        found: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
        for row in self._db.rows(sql, {"stack_ids": self._db.texts(stack_ids)}):
            found.setdefault((row.stack_id, row.resource), {})[row.plugin] = self._unpacked(
                row.value, row.stack_id, row.plugin, row.resource
            )
        return found

    def _unpacked(self, packed: bytes, *key: str) -> Mapping[str, Any]:
        value: Mapping[str, Any] = frozen(self._codec.unpack(packed, ("annotation", "value", *key)))
        return value
