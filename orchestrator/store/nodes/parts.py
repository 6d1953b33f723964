"""Parts of node data: each dependent receives the attributes that it reads, not all that are collected."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.model.codec import Codec
from orchestrator.store import tables

#: The place of the attributes in node data on the wire; after it come those that could not be read, and those that are
#: secrets, if there are any.
_ATTRIBUTES = 6

Paths = Sequence[Sequence[str | int]]


class NodeDataParts:
    """Parts of some nodes' data, packed; the data of each node is unpacked once at most."""

    def __init__(self, codec: Codec, traversal_id: str, packed: Mapping[int, bytes]) -> None:
        self._codec, self._packed = codec, packed
        self.traversal_id = traversal_id
        self._unpacked: dict[int, list[Any]] = {}
        self._parts: dict[tuple[int, str], bytes] = {}

    def part(self, number: int, needs: Paths | None) -> bytes:
        """Return the data of a node with the attributes that are needed; with all for None."""
        if needs is None:
            return self._packed[number]
        # Many dependents often need the same.
        key, place = (number, repr(needs)), tables.place_of_node_data(number, self.traversal_id)
        if key not in self._parts:
            if number not in self._unpacked:
                self._unpacked[number] = self._codec.unpack(self._packed[number], place)
            whole = self._unpacked[number]
            part = part_of(whole, needs)
            self._parts[key] = self._packed[number] if part == whole else self._codec.pack(part, place)
        return self._parts[key]


def part_of(node_data: Sequence[Any], needs: Paths) -> list[Any]:
    """Return node data on the wire with the attributes that ``needs`` lead to, and no others."""
    kinds = node_data[_ATTRIBUTES:]
    collected = {tuple(path) for entries in kinds for path, _ in entries}
    kept = {_longest(tuple(path), collected) for path in needs}
    # The empty path stands for the reference id, which every dependent receives.
    kept.add(())
    attributes, *marks = ([entry for entry in entries if tuple(entry[0]) in kept] for entries in kinds)
    return [*node_data[:_ATTRIBUTES], attributes, *(entries for entries in marks if entries)]


def _longest(path: tuple[str | int, ...], collected: set[tuple[str | int, ...]]) -> tuple[str | int, ...]:
    """Return the longest collected prefix of a path, from which a reference to the path is resolved."""
    return next((path[:end] for end in range(len(path), 0, -1) if path[:end] in collected), path)
