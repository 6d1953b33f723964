"""The boxes of a picture and the arrows between them, from the wiring of an operation.

A resource has one box. What only counts others, and the deletion of what a resource replaces, has none: arrows lead
past it, to what waits at its other end.
"""

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass

from orchestrator.model.messages import CLEANUP, CONVERGE
from orchestrator.views.states import phase_of
from orchestrator.views.wiring import Edge, Wiring, is_counter


class TooManyArrows(Exception):
    """There are more arrows than can be drawn one by one."""


def replaced_in(wiring: Wiring) -> Mapping[int, int]:
    """Return, for each deletion of what a resource of the same name replaces, the number of that resource's node."""
    kept = {
        node.key: no for no, node in wiring.nodes.items() if node.phase == CONVERGE and not is_counter(node)
    }
    return {
        no: kept[node.key]
        for no, node in wiring.nodes.items()
        if node.key in kept and phase_of(node) == CLEANUP and not is_counter(node)
    }


def layers_of(wiring: Wiring) -> Mapping[int, int]:
    """Return the layer of each node: the greatest number of resources one after the other that it waits for."""
    layers: dict[int, int] = {}
    for no in wiring.in_order:
        layers[no] = max(
            (layers[other] + (not is_counter(wiring.nodes[other])) for other in wiring.requirements[no]),
            default=0,
        )
    return layers


@dataclass(frozen=True)
class Arrows:
    """Finds the arrows between boxes; a node without a box is passed.

    Attributes:
        wiring: The nodes with their requirements.
        box_of: The number of a box by the number of a node. Several nodes may share one.
        replaced: As :func:`replaced_in` returns it.
    """

    wiring: Wiring
    box_of: Mapping[int, int]
    replaced: Mapping[int, int]

    def among(self, shown: Set[int], *, most: float = math.inf) -> tuple[Edge, ...]:
        """Return the arrows between the boxes of some nodes, (requirer, required), each once.

        Raises:
            TooManyArrows: there are more than ``most``, or as much had to be remembered to find them.
        """
        arrows: set[Edge] = set()
        through: dict[int, frozenset[int]] = {}
        remembered = 0
        for no in self.wiring.in_order:
            if no not in shown:
                continue
            required = self._required(no, shown, through)
            if no in self.box_of:
                box = self.box_of[no]
                arrows.update((box, other) for other in required if other != box)
            else:
                through[no] = frozenset(required)
                remembered += len(required)
            if len(arrows) + remembered > most:
                raise TooManyArrows
        return tuple(sorted(arrows))

    def _required(self, no: int, shown: Set[int], through: Mapping[int, frozenset[int]]) -> set[int]:
        """Return the boxes that a node waits for, directly or past nodes without a box."""
        required: set[int] = set()
        if no in self.replaced:
            required.add(self.box_of[self.replaced[no]])
        implied = self._implied(no)
        for other in self.wiring.requirements[no]:
            if other in through:
                required |= through[other]
            elif other in shown and other not in implied:
                required.add(self.box_of[other])
        return required

    def _implied(self, no: int) -> set[int]:
        """Return what a passed cleanup waits for anyhow, because something else that it waits for requires it.

        A chain in an update has a cleanup behind each resource. Without this, what is deleted last would get an arrow
        from every one of them.
        """
        nodes, requirements = self.wiring.nodes, self.wiring.requirements
        if no in self.box_of or phase_of(nodes[no]) != CLEANUP:
            return set()
        passed = (other for other in requirements[no] if other not in self.box_of)
        behind = {each for other in passed for each in requirements[other] if each in self.box_of}
        return {each for other in behind for each in requirements[other]}
