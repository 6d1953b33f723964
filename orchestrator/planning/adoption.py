"""Adoption: reads the entries of an adopt file, which name the existing object of each resource.

Pure functions. All problems are reported together, before anything is stored.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hooks.values.nearest import Nearest
from hooks.values.texts import storable
from orchestrator.errors import InvalidInput, Problem, cut
from orchestrator.model.plain import NotPlain, refuse_no_map
from orchestrator.model.plan import DesiredResource
from orchestrator.planning.preparation import Prepared
from orchestrator.plugins.stack_resource import ENTRIES, StackResource
from orchestrator.store.traversals.new_traversal import Adopted
from orchestrator.template.template_resource import kind_of_type
from orchestrator.validation.rules import Types

#: The optional fields of an entry, which must be maps; unknown fields, such as a former state, are ignored.
_MAPS: Final = ("metadata", "resource_data")


def adopted_rows(
    prepared: Prepared,
    desired_resources: Sequence[DesiredResource],
    entries: Mapping[str, object],
    types: Types,
) -> dict[str, Adopted]:
    """Return the existing object of each desired resource, by the id of the row to be made.

    ``entries`` are those of the adopt file, by resource name; the entry of a nested stack holds the entries of its
    resources, which the new stack adopts. Entries without a desired resource are ignored.

    Raises:
        InvalidInput: a desired resource has no entry, or an entry does not fit; all problems are listed.
    """
    reader = _Reader(prepared, desired_resources, entries, types)
    rows = {desired.resource_id: reader.read(desired) for desired in desired_resources}
    if reader.problems:
        raise InvalidInput(reader.problems)
    return rows


class _Reader:
    def __init__(
        self,
        prepared: Prepared,
        desired_resources: Sequence[DesiredResource],
        entries: Mapping[str, object],
        types: Types,
    ) -> None:
        self.problems: list[Problem] = []
        self._prepared, self._entries, self._types = prepared, entries, types
        names = {desired.name for desired in desired_resources}
        self._spare = [name for name in entries if name not in names]
        self._nearest = Nearest()
        #: The resources read so far, by type and physical id.
        self._taken: dict[tuple[str, str], str] = {}

    def read(self, desired: DesiredResource) -> Adopted:
        """Return the existing object of a resource; problems of its entry are added to ``problems``."""
        entry = self._entries.get(desired.name)
        if not isinstance(entry, Mapping):
            hint = self._nearest.hint(desired.name, self._spare, "every resource of the template needs one")
            found = "is no map" if desired.name in self._entries else "is missing"
            self._fault(desired.name, "", f"the entry of the adopt file {found}", hint)
            return Adopted(physical_id="")
        kind = kind_of_type(self._types, desired.type)
        if kind is not None and issubclass(kind, StackResource):
            return self._stack(desired, entry)
        if kind is not None and kind.is_row and entry.get("resource_id") is None:
            entry = {**entry, "resource_id": desired.resource_id}
        for field, message, hint in self._faults(desired, entry):
            self._fault(desired.name, field, message, hint)
        return Adopted(
            physical_id=str(entry.get("resource_id")),
            metadata=entry.get("metadata") or {},
            data=entry.get("resource_data") or {},
        )

    def _stack(self, desired: DesiredResource, entry: Mapping[str, Any]) -> Adopted:
        """Return the data of a nested stack, which is made anew with the row's id and adopts the inner entries."""
        for field in (*_MAPS, "resources"):
            value = entry.get(field)
            if isinstance(value, Mapping) or (value is None and field != "resources"):
                continue
            found = "nothing" if value is None else type(value).__name__
            hint = "entries of what is in the stack, by name" if field == "resources" else ""
            self._fault(desired.name, field, f"expected a map, found {found}", hint)
        data = entry.get("resource_data") or {}
        return Adopted(
            physical_id=desired.resource_id,
            metadata=entry.get("metadata") or {},
            data={**data, ENTRIES: entry.get("resources")},
        )

    def _faults(
        self, desired: DesiredResource, entry: Mapping[str, object]
    ) -> Iterator[tuple[str, str, str]]:
        """Yield the field, message and hint of each problem of an entry."""
        physical_id, kind = entry.get("resource_id"), entry.get("type")
        known = {desired.type, self._prepared.template.resources[desired.name].type}
        if kind is not None and kind not in known:
            expected = " or ".join(repr(each) for each in sorted(known))
            yield "type", f"expected {expected}, as in the template, found {cut(repr(kind))}", ""
        if not isinstance(physical_id, str) or not physical_id:
            found = "nothing" if physical_id in (None, "") else type(physical_id).__name__
            hint = "put it in quotes" if isinstance(physical_id, int) else "what never was made is created"
            yield "resource_id", f"expected the id of the object that is there, a text, found {found}", hint
        elif physical_id != storable(physical_id):
            yield "resource_id", "it has characters that are none: a NUL, or half of a pair of surrogates", ""
        else:
            other = self._taken.setdefault((desired.type, physical_id), desired.name)
            if other != desired.name:
                yield "resource_id", f"the resource {other!r} has the same one", "one object, one resource"
        for field in _MAPS:
            value = entry.get(field)
            try:
                refuse_no_map({} if value is None else value, binary=field == "resource_data")
            except NotPlain as error:
                yield field, str(error), ""

    def _fault(self, name: str, field: str, message: str, hint: str) -> None:
        path = ".".join(part for part in ("resources", name, field) if part)
        self.problems.append(Problem(path=path, message=message, hint=hint))
