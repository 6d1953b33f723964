"""What an adopt is given beside a template: for each resource, the object that is there already.

Pure: a job's entries in, what becomes of the rows out. Every problem is found in one go, before anything is stored.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hooks.values.nearest import Nearest
from orchestrator.errors import InvalidInput, Problem, cut
from orchestrator.model.plan import DesiredResource
from orchestrator.planning.preparation import Prepared
from orchestrator.plugins.stack_resource import ENTRIES, StackResource
from orchestrator.store.traversals.new_traversal import Adopted
from orchestrator.template.template_resource import kind_of_type
from orchestrator.validation.rules import Types

#: The fields of an entry that count, with what each must be; others, such as the state it had, are left aside.
_MAPS: Final = ("metadata", "resource_data")


def adopted_rows(
    prepared: Prepared, desired_resources: Sequence[DesiredResource], entries: Mapping[str, Any], types: Types
) -> dict[str, Adopted]:
    """Return what is there of each wish, by the id of the row to be made.

    ``entries`` are those of the adopt file, by resource name; that of a resource that is a stack holds those of what is
    in it, and a new stack takes them over. What nobody wishes for is left alone.

    Raises:
        InvalidInput: with a problem for each wish without an entry, and for each entry that does not fit.
    """
    reader = _Reader(prepared, desired_resources, entries, types)
    rows = {desired.resource_id: reader.read(desired) for desired in desired_resources}
    if reader.problems:
        raise InvalidInput(reader.problems)
    return rows


def refuse_owned(
    desired_resources: Sequence[DesiredResource],
    adopted: Mapping[str, Adopted],
    owners: Mapping[tuple[str, str], str],
) -> None:
    """Refuse objects that a stack has already: two stacks would change and delete them.

    ``owners`` are the stacks' names, by type and physical id.

    Raises:
        InvalidInput: with a problem for each such object.
    """
    owned = [
        (desired, owners[desired.type, adopted[desired.resource_id].physical_id])
        for desired in desired_resources
        if (desired.type, adopted[desired.resource_id].physical_id) in owners
    ]
    if owned:
        raise InvalidInput(
            Problem(
                path=f"resources.{desired.name}.resource_id",
                message=f"the object belongs to the stack {owner!r}",
                hint="abandon that stack first",
            )
            for desired, owner in owned
        )


class _Reader:
    """Reads the entries of an adopt file, and gathers what is wrong with them."""

    def __init__(
        self,
        prepared: Prepared,
        desired_resources: Sequence[DesiredResource],
        entries: Mapping[str, Any],
        types: Types,
    ) -> None:
        self.problems: list[Problem] = []
        self._prepared, self._entries, self._types = prepared, entries, types
        names = {desired.name for desired in desired_resources}
        self._spare = [name for name in entries if name not in names]
        self._nearest = Nearest()
        #: The names of those read so far, by type and physical id.
        self._taken: dict[tuple[str, str], str] = {}

    def read(self, desired: DesiredResource) -> Adopted:
        """Return what the file says of a resource, as far as it is right."""
        entry = self._entries.get(desired.name)
        if not isinstance(entry, Mapping):
            hint = self._nearest.hint(desired.name, self._spare, "every resource of the template needs one")
            found = "is no map" if desired.name in self._entries else "is missing"
            self._fault(desired.name, "", f"the entry of the adopt file {found}", hint)
            return Adopted(physical_id="")
        kind = kind_of_type(self._types, desired.type)
        if kind is not None and issubclass(kind, StackResource):
            return self._stack(desired, entry)
        for field, message, hint in self._faults(desired, entry):
            self._fault(desired.name, field, message, hint)
        return Adopted(
            physical_id=str(entry.get("resource_id")),
            metadata=entry.get("metadata") or {},
            data=entry.get("resource_data") or {},
        )

    def _stack(self, desired: DesiredResource, entry: Mapping[str, Any]) -> Adopted:
        """Return what the file says of a resource that is a stack: the stack is a new one, and has the row's id."""
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

    def _faults(self, desired: DesiredResource, entry: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
        """Yield field, message and hint of everything that is wrong with an entry."""
        physical_id, kind = entry.get("resource_id"), entry.get("type")
        known = {desired.type, self._prepared.template.resources[desired.name].type}
        if kind is not None and kind not in known:
            expected = " or ".join(repr(each) for each in sorted(known))
            yield "type", f"expected {expected}, as in the template, found {cut(repr(kind))}", ""
        if not isinstance(physical_id, str) or not physical_id:
            found = "nothing" if physical_id in (None, "") else type(physical_id).__name__
            hint = "put it in quotes" if isinstance(physical_id, int) else "what never was made is created"
            yield "resource_id", f"expected the id of the object that is there, a text, found {found}", hint
        else:
            other = self._taken.setdefault((desired.type, physical_id), desired.name)
            if other != desired.name:
                yield "resource_id", f"the resource {other!r} has the same one", "one object, one resource"
        for field in _MAPS:
            value = entry.get(field)
            if value is not None and not isinstance(value, Mapping):
                yield field, f"expected a map, found {type(value).__name__}", ""

    def _fault(self, name: str, field: str, message: str, hint: str) -> None:
        path = ".".join(part for part in ("resources", name, field) if part)
        self.problems.append(Problem(path=path, message=message, hint=hint))
