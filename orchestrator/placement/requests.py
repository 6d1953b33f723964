"""What a stack asks of nodes, read from what lifecycle plugins are shown of it; pure."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from hooks.stack import FrozenResource, FrozenStack
from hooks.values.unknown import UNKNOWN
from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition, is_unknown
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
from orchestrator.plugins.asks import Asks
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import ResourceState
from orchestrator.plugins.validating import typed_properties
from orchestrator.store.machines.reservations import membership
from orchestrator.template.hiding import HIDDEN

Types = Mapping[str, type[Resource]]

#: The property by which resources name the groups that they are in, and the one by which they name their node.
_GROUPS: Final = "groups"
_NODE: Final = "node"
#: Those by which they say how large they are to be.
_SIZES: Final = ("memory", "vcpus", "size", "disks")


class NotTellable(Exception):
    """What a stack asks of nodes cannot be told; the sentence says why."""


class Fate(Enum):
    """What an operation does to a resource."""

    #: It is made, or another takes its place, beside which it is for a while.
    MADE = "made"
    #: It stays where it is.
    STAYS = "stays"
    #: It failed: another takes its place, unless its type mends it.
    EITHER = "either"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRequest:
    """A resource that is to be on a node."""

    name: str
    asks: Asks
    fate: Fate = Fate.MADE
    #: Where it is, if it does not have to be made.
    node: str = ""
    #: The groups of its own stack that it is in.
    groups: tuple[str, ...] = ()

    def amounts(self, stack_id: str, kinds: Mapping[str, str]) -> dict[str, int]:
        """Return what it is on record with; ``kinds`` are the memberships in groups of other stacks, by their ids."""
        own = [membership(stack_id, name) for name in self.groups]
        others = [kinds[each] for each in self.asks.groups if each in kinds]
        return {**demand_of(self.asks), **dict.fromkeys([*own, *others], 0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRequests:
    """All that a stack asks of nodes."""

    requests: tuple[PlacementRequest, ...]
    #: Instances, each with a volume that it requires.
    ties: tuple[tuple[str, str], ...] = ()
    #: The groups of the stack itself, by name.
    groups: Mapping[str, Group] = field(default_factory=dict)
    #: What cannot be taken into account, in sentences.
    warnings: tuple[str, ...] = ()

    @property
    def group_ids(self) -> tuple[str, ...]:
        """The groups of other stacks."""
        return tuple(sorted({each for request in self.requests for each in request.asks.groups}))


def is_placed(kind: type[Resource] | None) -> bool:
    """Whether resources of a type may be on nodes."""
    # A class method is another object whenever it is looked at.
    return kind is not None and kind.asks_of_node.__func__ is not Resource.asks_of_node.__func__  # type: ignore[attr-defined]


def requests_of(
    stack: FrozenStack,
    current: FrozenStack | None,
    types: Types,
    *,
    settings: Settings,
    claimed: Mapping[str, str] | None = None,
    action: str = "",
) -> PlacementRequests:
    """Return what a stack asks of nodes.

    Args:
        stack: As it is to be.
        current: As it is.
        types: The resource types there are.
        settings: Those of this process, with which types are asked.
        claimed: By the names of resources that are being made, the nodes that were found for them.
        action: What is to be done.

    Raises:
        NotTellable: a type cannot say what its resource asks for, or nobody knows a group's rule yet.
    """
    asks: dict[str, Asks] = {}
    warnings: list[str] = []
    for resource in stack.resources.values():
        kind = types.get(resource.type)
        if kind is None or not is_placed(kind):
            continue
        if not _is_told(resource.properties.get(_NODE)):
            warnings.append(f"{resource.name!r} is not placed: its node is known only later")
        elif (asked := _asks(resource, kind)) is not None:
            asks[resource.name] = asked
            warnings += _untold_sizes(resource)
    there = {} if current is None else current.resources
    requests = []
    for name, asked in asks.items():
        resource, present = stack.resources[name], there.get(name)
        fate, node = Fate.MADE, ""
        if present is not None:
            node = present.on_node or _claimed(present, claimed or {})
            renewed = action == "UPDATE" and types[resource.type].renewed_by_updates
            if node and not renewed:
                fate = _fate(types, resource, present, node, settings)
        groups = tuple(_groups_of(resource, stack))
        requests.append(PlacementRequest(name=name, asks=asked, fate=fate, node=node, groups=groups))
    members: dict[str, list[str]] = {}
    for request in requests:
        for name in request.groups:
            members.setdefault(name, []).append(request.name)
    return PlacementRequests(
        requests=tuple(requests),
        ties=tuple(_ties(stack, asks)),
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
    """Return the group that a resource of that type is.

    Raises:
        NotTellable: nobody knows its rule yet.
    """
    try:
        said = typed_properties(types[GROUP_TYPE], properties)
        if is_unknown(said):
            raise NotTellable(
                f"the rule of group {name!r} is known only once others exist; say it in the template"
            )
        return Group(
            name=name,
            policy=Policy(said["policy"]),
            racks=said["racks"],
            hard=said["hard"],
            label=said["label"],
            members=tuple(members),
            elsewhere=tuple(elsewhere),
        )
    except (PropertyError, ValueError) as error:
        raise NotTellable(f"the rule of group {name!r} cannot be told: {error}") from error


def _asks(resource: FrozenResource, kind: type[Resource]) -> Asks | None:
    try:
        return kind.asks_of_node(resource.properties)
    except (PropertyError, TypeError, ValueError) as error:
        raise NotTellable(f"what {resource.name!r} asks of its node cannot be told: {error}") from error


def _untold_sizes(resource: FrozenResource) -> Iterator[str]:
    """Yield that a resource asks for what nobody can tell yet."""
    # Of a disk that is a reference, another resource says how large it is.
    untold = [
        name for name in _SIZES if (value := resource.properties.get(name)) is UNKNOWN or value == HIDDEN
    ]
    if untold:
        yield f"{resource.name!r} is placed as if it asked for nothing by {', '.join(untold)}: nobody can tell yet"


def _groups_of(resource: FrozenResource, stack: FrozenStack) -> Iterator[str]:
    """Yield the groups of its stack that a resource is in.

    What a reference comes to is not known before the group is made; that one is required is.
    """
    said = resource.properties.get(_GROUPS)
    if said is UNKNOWN or (isinstance(said, list) and UNKNOWN in said):
        for name in resource.requires:
            required = stack.resources.get(name)
            if required is not None and required.type == GROUP_TYPE:
                yield name


def _ties(stack: FrozenStack, asks: Mapping[str, Asks]) -> Iterator[tuple[str, str]]:
    """Yield each instance with each of the volumes that it requires."""
    for name, asked in asks.items():
        if asked.hypervisor:
            for other in stack.resources[name].requires:
                if other in asks and asks[other].disks_mib and not asks[other].hypervisor:
                    yield name, other


def _claimed(present: FrozenResource, claimed: Mapping[str, str]) -> str:
    """Return the node that was found for what is being made; whoever makes it may be about to begin there."""
    return claimed.get(present.name, "") if present.status == "IN_PROGRESS" else ""


def _fate(
    types: Types, wanted: FrozenResource, present: FrozenResource, node: str, settings: Settings
) -> Fate:
    """Return what becomes of a resource that is on a node."""
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
    # What is wrong with it counts below: there may be nothing of it that another would be beside.
    decided = decide(Subject(resource=resource, was=("CREATE", "COMPLETE"), applied=lambda: before))
    if decided.action is Action.REPLACE:
        return Fate.MADE
    return Fate.EITHER if has_failed((present.action, present.status)) else Fate.STAYS


def _typed(
    kind: type[Resource], before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """Return properties as their type sees them, unknown where they are not told; of which nothing is told, none."""
    if WHOLE in after or WHOLE in before:
        after = before = {}
    told = [
        {name: value if _is_told(value) else UNKNOWN for name, value in each.items()}
        for each in (before, after)
    ]
    try:
        return [typed_properties(kind, each) for each in told]
    except PropertyError:
        # What is masked need not be of the right type.
        return [{name: each.get(name) for name in kind.properties_schema} for each in told]


def _is_told(value: Any) -> bool:
    return not is_unknown(value) and value != HIDDEN
