"""Ownership: an object that a resource of a stack has is adopted, or referred to, by no one else.

The rows of all projects count. A refusal names a stack of the caller's own project; of another project it says nothing
but that there is such a stack.
"""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.errors import InvalidInput, Problem, cut
from orchestrator.model.plan import DesiredResource
from orchestrator.nodes.rpc.names import is_node_name
from orchestrator.planning.preparation import Prepared
from orchestrator.plugins.machine_requirements import NODE_DATA
from orchestrator.store.stacks.stacks import Owner
from orchestrator.store.store import Store
from orchestrator.store.traversals.new_traversal import Adopted


def refuse_owned(
    store: Store, desired_resources: Sequence[DesiredResource], adopted: Mapping[str, Adopted], project: str
) -> frozenset[str]:
    """Refuse to adopt objects that belong to a stack already: two stacks would change and delete them.

    Returns the ids of the rows that have objects of these ids and prevent nothing, such as those on another machine.

    Raises:
        InvalidInput: there are such objects; each is listed.
    """
    owners = _Owners(store, [each.physical_id for each in adopted.values()], project)
    problems = []
    for desired in desired_resources:
        its = adopted[desired.resource_id]
        owner = owners.of(desired.type, its.physical_id, its.data.get(NODE_DATA))
        if owner is not None:
            path = f"resources.{desired.name}.resource_id"
            problems.append(_problem(path, owner, project))
    if problems:
        raise InvalidInput(problems)
    return owners.ids


def refuse_foreign(store: Store, prepared: Prepared, project: str) -> None:
    """Refuse each ``external_id`` of an object that belongs to a stack of another project.

    Raises:
        InvalidInput: there are such ids; each is listed.
    """
    ids = {
        name: definition.external_id
        for name, definition in prepared.template.resources.items()
        if definition.external_id is not None
    }
    if not ids:
        return
    owners = _Owners(store, list(ids.values()), project)
    problems = []
    for name, external_id in ids.items():
        owner = owners.of(prepared.types[name], external_id, elsewhere=True)
        if owner is not None:
            problems.append(_problem(f"resources.{name}.external_id", owner, project))
    if problems:
        raise InvalidInput(problems)


class _Owners:
    """The owners of some objects, as a caller of one project has to heed them."""

    def __init__(self, store: Store, physical_ids: Sequence[str], project: str) -> None:
        self._store, self._project = store, project
        self._owners: dict[tuple[str, str], list[Owner]] = {}
        found = store.stacks.owners(physical_ids)
        self.ids = frozenset(owner.id for owner in found)
        for owner in found:
            self._owners.setdefault((owner.type, owner.physical_id), []).append(owner)

    def of(
        self, type_name: str, physical_id: str, node: object = None, *, elsewhere: bool = False
    ) -> Owner | None:
        """Return the owner of an object: one of the caller's project first, or one of ``elsewhere`` only.

        ``node`` is the machine that the adopt file names, if any: a path or a number of a process is an object of each
        machine.
        """
        found = [
            owner
            for owner in self._owners.get((type_name, physical_id), ())
            if not _is_on_another(owner, node)
        ]
        mine = [] if elsewhere else [owner for owner in found if owner.project == self._project]
        return next(iter(mine), None) or next(self._foreign(found), None)

    def _foreign(self, owners: Sequence[Owner]) -> Iterator[Owner]:
        """Yield the owners of other projects; what only refers to an object there does not own it."""
        for owner in owners:
            if owner.project != self._project and not is_external(self._store, owner.stack_id, owner.id):
                yield owner


def _is_on_another(owner: Owner, node: object) -> bool:
    """Return whether an owner's object is certainly not that of the same id on ``node``."""
    if owner.on_node is None or not isinstance(node, str) or not is_node_name(node):
        return False
    # Some ids begin with the machine, and then no other is looked at.
    return owner.on_node != node and not owner.physical_id.startswith(f"{owner.on_node}/")


def is_external(store: Store, stack_id: str, resource_id: str) -> bool:
    """Return whether a resource stands for an object that its stack does not own (``external_id``)."""
    latest = store.histories.planned(stack_id).get(resource_id, {})
    return latest.get("definition", {}).get("e") is not None


def _problem(path: str, owner: Owner, project: str) -> Problem:
    if owner.project == project:
        message = f"the object belongs to the stack {owner.stack!r}, as the resource {owner.name!r}"
        hint = "abandon that stack first, or remove the resource with deletion_policy: Retain"
    else:
        named = cut(repr(owner.physical_id))
        message, hint = (
            f"the object {named} belongs to another stack",
            "a stack has objects of its own project",
        )
    return Problem(path=path, message=message, hint=hint)
