"""Placement requests of a stack, read from its frozen definition; pure."""

import inspect
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from enum import Enum
from typing import Any, Final

from hooks.stack import FrozenResource, FrozenStack
from hooks.values.dataclass import dataclass
from hooks.values.unknown import UNKNOWN
from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition, is_unknown
from orchestrator.model.names import membership
from orchestrator.placement.host import demand_of
from orchestrator.placement.rules import GROUP_TYPE, Group, Policy
from orchestrator.planning.decision import (
    WHOLE,
    Action,
    Subject,
    decide,
    has_failed,
    takes_its_place,
)
from orchestrator.plugins.machine_requirements import MachineRequirements
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import ResourceState
from orchestrator.plugins.validating import typed_properties
from orchestrator.template.hiding import HIDDEN

Types = Mapping[str, type[Resource]]

#: The properties of a resource with its capacity requirements.
_SIZES: Final = ("memory", "vcpus", "size", "disks")


class UnknownRequirements(Exception):
    """The placement requests of a stack cannot be evaluated; the message names the reason."""


class Fate(Enum):
    """The effect of an operation on a resource."""

    #: It is created, or replaced; a replacement exists beside the old resource for a while.
    MADE = "made"
    #: It stays on its machine.
    STAYS = "stays"
    #: It has failed: it is replaced, unless its type repairs it.
    EITHER = "either"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRequest:
    """The requirements of one resource on its machine."""

    name: str
    requirements: MachineRequirements
    fate: Fate = Fate.MADE
    #: Its present machine; empty if it has none.
    node: str = ""
    #: Its placement groups in its own stack.
    groups: tuple[str, ...] = ()

    def amounts(self, stack_id: str, kinds: Mapping[str, str]) -> dict[str, int]:
        """Return the amounts to reserve; ``kinds`` are the memberships in groups of other stacks, by their ids."""
        own = [membership(stack_id, name) for name in self.groups]
        others = [kinds[each] for each in self.requirements.groups if each in kinds]
        return {**demand_of(self.requirements), **dict.fromkeys([*own, *others], 0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRequests:
    """All placement requests of a stack."""

    requests: tuple[PlacementRequest, ...]
    #: Pairs of an instance and a volume that it requires.
    ties: tuple[tuple[str, str], ...] = ()
    #: The groups of the stack itself, by name.
    groups: Mapping[str, Group] = field(default_factory=dict)
    #: Messages about requirements that are unknown.
    warnings: tuple[str, ...] = ()

    @property
    def group_ids(self) -> tuple[str, ...]:
        """The ids of groups of other stacks."""
        return tuple(sorted({each for request in self.requests for each in request.requirements.groups}))


def is_placed(kind: type[Resource] | None) -> bool:
    """Return whether resources of a type may be on machines."""
    # The class attribute itself: a bound class method is a new object at every access.
    default = vars(Resource)["machine_requirements"]
    return kind is not None and inspect.getattr_static(kind, "machine_requirements") is not default


def requests_of(
    stack: FrozenStack,
    current: FrozenStack | None,
    types: Types,
    *,
    settings: Settings,
    claimed: Mapping[str, str] | None = None,
    action: str = "",
) -> PlacementRequests:
    """Return the placement requests of a stack; ``claimed`` are the machines reserved for resources being created.

    Raises:
        UnknownRequirements: a type rejects the properties of its resource, or a group's rule is unknown.
    """
    requirements: dict[str, MachineRequirements] = {}
    warnings: list[str] = []
    for resource in stack.resources.values():
        kind = types.get(resource.type)
        if kind is None or not is_placed(kind):
            continue
        if not _is_known(resource.properties.get("node")):
            warnings.append(f"{resource.name!r} is not placed: its node is known only later")
        elif (required := _requirements_of(resource, kind)) is not None:
            requirements[resource.name] = required
            warnings += _unknown_sizes(resource)
    existing = {} if current is None else current.resources
    requests = []
    for name, required in requirements.items():
        resource, present = stack.resources[name], existing.get(name)
        fate, node = Fate.MADE, ""
        if present is not None:
            node = present.on_node or _claimed(present, claimed or {})
            renewed = action == "UPDATE" and types[resource.type].renewed_by_updates
            if node and not renewed:
                fate = _fate(types, resource, present, node, settings)
        groups = tuple(_groups_of(resource, stack))
        requests.append(
            PlacementRequest(name=name, requirements=required, fate=fate, node=node, groups=groups)
        )
    members: dict[str, list[str]] = {}
    for request in requests:
        for name in request.groups:
            members.setdefault(name, []).append(request.name)
    return PlacementRequests(
        requests=tuple(requests),
        ties=tuple(_ties(stack, requirements)),
        groups={
            name: group_of(name, stack.resources[name].properties, types, members=names)
            for name, names in members.items()
        },
        warnings=tuple(warnings),
    )


def group_of(
    name: str,
    properties: Mapping[str, Any],
    types: Types,
    *,
    members: Collection[str] = (),
    elsewhere: Collection[str] = (),
) -> Group:
    """Return a placement group, from the properties of its resource.

    Raises:
        UnknownRequirements: its rule is unknown.
    """
    try:
        rule = typed_properties(types[GROUP_TYPE], properties)
        if is_unknown(rule):
            raise UnknownRequirements(
                f"the rule of group {name!r} is known only once others exist; say it in the template"
            )
        return Group(
            name=name,
            policy=Policy(rule["policy"]),
            racks=rule["racks"],
            hard=rule["hard"],
            label=rule["label"],
            members=tuple(members),
            elsewhere=tuple(elsewhere),
        )
    except (PropertyError, ValueError) as error:
        raise UnknownRequirements(f"the rule of group {name!r} cannot be evaluated: {error}") from error


def _requirements_of(resource: FrozenResource, kind: type[Resource]) -> MachineRequirements | None:
    try:
        return kind.machine_requirements(resource.properties)
    except (PropertyError, TypeError, ValueError) as error:
        raise UnknownRequirements(
            f"the requirements of {resource.name!r} on its node cannot be evaluated: {error}"
        ) from error


def _unknown_sizes(resource: FrozenResource) -> Iterator[str]:
    # The size of a disk that is a reference is in another resource.
    unknown = [
        name for name in _SIZES if (value := resource.properties.get(name)) is UNKNOWN or value == HIDDEN
    ]
    if unknown:
        yield f"{resource.name!r} is placed as if {', '.join(unknown)} were 0: not known yet"


def _groups_of(resource: FrozenResource, stack: FrozenStack) -> Iterator[str]:
    """Yield the names of a resource's groups in its stack: a reference is unknown until its group is created."""
    groups = resource.properties.get("groups")
    if groups is UNKNOWN or (isinstance(groups, list) and UNKNOWN in groups):
        for name in resource.requires:
            required = stack.resources.get(name)
            if required is not None and required.type == GROUP_TYPE:
                yield name


def _ties(stack: FrozenStack, requirements: Mapping[str, MachineRequirements]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of an instance and a volume that it requires."""
    for name, required in requirements.items():
        if required.hypervisor:
            for other in stack.resources[name].requires:
                if (
                    other in requirements
                    and requirements[other].disks_mib
                    and not requirements[other].hypervisor
                ):
                    yield name, other


def _claimed(present: FrozenResource, claimed: Mapping[str, str]) -> str:
    # A worker may be about to create it on the machine that is reserved for it.
    return claimed.get(present.name, "") if present.status == "IN_PROGRESS" else ""


def _fate(
    types: Types, wanted: FrozenResource, present: FrozenResource, node: str, settings: Settings
) -> Fate:
    """Return the effect of the operation on a resource that has a machine."""
    kind, names = types[wanted.type], (present.type, wanted.type)
    is_other = names[0] != names[1] and not takes_its_place(
        names, types.get(present.type), kind, present.properties
    )
    if is_other or present.action == "DELETE":
        return Fate.MADE
    before, after = _typed(kind, present.properties, wanted.properties)
    resource = kind(
        name=wanted.name,
        type_name=wanted.type,
        state=ResourceState(uuid=present.uuid, physical_id=present.physical_id, on_node=node),
        properties=after,
        stack=StackDefinition(name="", id=""),
        settings=settings,
        now=0.0,
    )
    # Decided as if it had not failed: a failed one may not exist at all, and is judged below.
    was = ("CREATE", "COMPLETE")
    decided = decide(Subject(resource=resource, was=was, applied=lambda: before, calls_early=True))
    if decided.action is Action.REPLACE:
        return Fate.MADE
    return Fate.EITHER if has_failed((present.action, present.status)) else Fate.STAYS


def _typed(
    kind: type[Resource], before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """Return properties as their type sees them, with UNKNOWN for hidden ones; empty if all are hidden."""
    if WHOLE in after or WHOLE in before:
        after = before = {}
    known = [
        {name: value if _is_known(value) else UNKNOWN for name, value in each.items()}
        for each in (before, after)
    ]
    try:
        return [typed_properties(kind, each) for each in known]
    except PropertyError:
        # A hidden value need not be of the right type.
        return [{name: each.get(name) for name in kind.properties_schema} for each in known]


def _is_known(value: Any) -> bool:
    return not is_unknown(value) and value != HIDDEN
