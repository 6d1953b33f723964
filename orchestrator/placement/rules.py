"""Rules of placement groups: anti-affinity, affinity and spreading over racks; pure."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from hooks.values.dataclass import dataclass

#: The resource type of groups.
GROUP_TYPE: Final = "Isotherm::Placement::Group"
#: The default label of a machine's rack.
RACK: Final = "rack"


class Policy(StrEnum):
    """The rule of a group."""

    SAME_HOST = "same_host"
    DIFFERENT_HOST = "different_host"
    SAME_RACK = "same_rack"
    DIFFERENT_RACK = "different_rack"
    SPREAD_RACKS = "spread_racks"


#: The policies that depend on racks only.
BY_RACK: Final = frozenset({Policy.SAME_RACK, Policy.DIFFERENT_RACK, Policy.SPREAD_RACKS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A placement group: its rule and its members."""

    #: The name for messages.
    name: str
    policy: Policy
    #: The number of racks for spread_racks.
    racks: int = 2
    #: Whether a placement that breaks the rule is refused, or only avoided.
    hard: bool = True
    #: The label of a machine's rack.
    label: str = RACK
    #: The names of its members among the resources of the operation.
    members: tuple[str, ...] = ()
    #: The machine of each member in another stack.
    elsewhere: tuple[str, ...] = ()


class Standing:
    """The machines and racks of one group's members during a search."""

    def __init__(
        self,
        group: Group,
        racks: Mapping[str, str | None],
        placed: Iterable[str],
        *,
        total: int,
        waiting: int,
    ) -> None:
        """Begin with the machines of the members that stay.

        ``waiting`` parts with members are not placed yet; members of one part share a machine.
        """
        self.group = group
        self._racks = racks
        self._nodes: Counter[str] = Counter()
        self._in_rack: Counter[str] = Counter()
        self._waiting = waiting
        self._spread_over = min(group.racks, total)
        self._most_in_rack = math.ceil(total / group.racks) if group.racks else total
        for node in placed:
            self._count(node, 1)

    def objection(self, node: str, count: int) -> str:
        """Return why ``count`` members together must not be on this machine; "" if they may."""
        policy = self.group.policy
        if policy in BY_RACK:
            return self._rack_objection(node, count)
        if policy is Policy.DIFFERENT_HOST and (count > 1 or self._nodes[node]):
            return f"another member of group {self.group.name!r} is on it"
        if policy is Policy.SAME_HOST and any(other != node for other in self._nodes):
            return f"group {self.group.name!r} is on {_first(self._nodes, node)}"
        return ""

    def _rack_objection(self, node: str, count: int) -> str:
        name, policy, rack = self.group.name, self.group.policy, self._racks.get(node)
        if rack is None:
            return f"no label {self.group.label!r} says where it is, as group {name!r} needs"
        if policy is Policy.SAME_RACK and any(other != rack for other in self._in_rack):
            return f"it is in {self.group.label} {rack}, and group {name!r} in {_first(self._in_rack, rack)}"
        if policy is Policy.DIFFERENT_RACK and (count > 1 or self._in_rack[rack]):
            return f"another member of group {name!r} is in its {self.group.label} {rack}"
        if policy is Policy.SPREAD_RACKS:
            return self._spread_objection(rack, count)
        return ""

    def _spread_objection(self, rack: str, count: int) -> str:
        name, label = self.group.name, self.group.label
        if self._in_rack[rack] + count > self._most_in_rack:
            return f"its {label} {rack} would have more than {self._most_in_rack} of the members of group {name!r}"
        missing = self._spread_over - len(self._in_rack.keys() | {rack})
        if missing > self._waiting - 1:
            return f"group {name!r} must be in more than {len(self._in_rack)} of the {label}s, and {rack} has some"
        return ""

    def cost(self, node: str, count: int) -> float:
        """Return the cost of ``count`` members on this machine under a soft rule; 0 is the best."""
        rack = self._racks.get(node)
        match self.group.policy:
            case Policy.SAME_HOST:
                return float(bool(self._nodes) and not self._nodes[node])
            case Policy.DIFFERENT_HOST:
                return float(self._nodes[node])
            case Policy.SAME_RACK:
                return float(rack is None or (bool(self._in_rack) and not self._in_rack[rack]))
            case _:
                return float(count if rack is None else self._in_rack[rack])

    def put(self, node: str, count: int) -> None:
        """Place ``count`` members on a machine."""
        self._waiting -= 1
        self._count(node, count)

    def take(self, node: str, count: int) -> None:
        """Undo :meth:`put`."""
        self._waiting += 1
        self._count(node, -count)

    def key(self) -> frozenset[tuple[str, int]]:
        """Return the number of members by machine, as a hashable state."""
        return frozenset(self._nodes.items())

    def fault(self) -> str:
        """Return how the placement breaks the rule, as a message; "" if it does not."""
        name, policy, label = self.group.name, self.group.policy, self.group.label
        several_nodes, several_racks = len(self._nodes) > 1, len(self._in_rack) > 1
        unlabelled = sum(count for node, count in self._nodes.items() if self._racks.get(node) is None)
        fault = ""
        if policy is Policy.SAME_HOST and several_nodes:
            fault = "is on several nodes"
        elif policy is Policy.DIFFERENT_HOST and any(count > 1 for count in self._nodes.values()):
            fault = "has members that share a node"
        elif policy is Policy.SAME_RACK and (several_racks or (unlabelled and self._in_rack)):
            fault = f"is in several {label}s"
        elif policy is Policy.DIFFERENT_RACK and (any(n > 1 for n in self._in_rack.values()) or unlabelled):
            fault = f"has members that share a {label}"
        elif policy is Policy.SPREAD_RACKS and (
            len(self._in_rack) < self._spread_over
            or any(count > self._most_in_rack for count in self._in_rack.values())
        ):
            fault = f"is not spread over {self._spread_over} {label}s"
        return f"group {name!r} {fault}" if fault else ""

    def _count(self, node: str, count: int) -> None:
        rack = self._racks.get(node)
        for counter, key in ((self._nodes, node), (self._in_rack, rack)):
            if key is None:
                continue
            counter[key] += count
            if not counter[key]:
                del counter[key]


def _first(names: Iterable[str], but: str) -> str:
    return min(name for name in names if name != but)
