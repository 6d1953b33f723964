"""The layout of a graph: boxes in layers from top to bottom, each below its requirements.

Pure functions, fast enough for the largest graphs: the longest path gives the layer, a few sweeps the order within it,
and a layer that is too wide for a screen is folded into rows. The same graph always has the same layout.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from graphlib import TopologicalSorter
from typing import Final

#: The width of a box divided by its height. Boxes of another shape do not overlap either.
BOX_SHAPE: Final = 3.6
#: The distance between the centres of boxes: side by side, below each other in a layer, and in adjacent layers.
COLUMN: Final = 1.25
ROW: Final = 1.6
LAYER: Final = 2.4
#: The width of a picture divided by its height up to which layers are folded.
SCREEN_SHAPE: Final = 1.6
#: Layers of so many boxes are never folded.
NARROW: Final = 8
#: The number of sweeps that order all layers: by edges to one side, and then by all edges. The former find the order,
#: the latter shorten edges by another fifth. Large graphs get fewer sweeps.
_SWEEPS: Final = (8, 4)
_SWEEPS_IF_LARGE: Final = (2, 1)
_LARGE: Final = 3000
#: The number of cached layouts.
_REMEMBERED: Final = 16

Ties = Mapping[int, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Layout:
    """The layer of each box, from 0, and the position of its centre in units of one box, by number.

    The layer is the length of the longest path to a box without requirements. A box may be drawn further down, but
    always above its dependents.
    """

    layers: Mapping[int, int]
    places: Mapping[int, tuple[float, float]]


@lru_cache(maxsize=_REMEMBERED)
def lay_out(boxes: tuple[int, ...], edges: tuple[tuple[int, int], ...]) -> Layout:
    """Return the layout of a graph without cycles; an edge is (requirer, required).

    The last layouts are cached, because a graph stays the same while its states change.
    """
    above, below = _ties(boxes, edges)
    layers = _layers(boxes, above)
    return Layout(layers, _places(_lowered(layers, above, below), above, below))


def lay_out_layers(layers: Mapping[int, int], edges: Iterable[tuple[int, int]]) -> Layout:
    """Return the layout of boxes with known layers; an edge goes from a layer to one above."""
    return Layout(layers, _places(layers, *_ties(layers, edges)))


def _ties(boxes: Iterable[int], edges: Iterable[tuple[int, int]]) -> tuple[Ties, Ties]:
    above: dict[int, list[int]] = {box: [] for box in boxes}
    below: dict[int, list[int]] = {box: [] for box in above}
    for requirer, required in edges:
        above[requirer].append(required)
        below[required].append(requirer)
    return above, below


def _layers(boxes: Sequence[int], above: Ties) -> dict[int, int]:
    """Return the length of the longest path from each box to one without requirements."""
    layers = dict.fromkeys(boxes, 0)
    for box in TopologicalSorter(above).static_order():
        layers[box] = max((layers[other] + 1 for other in above[box]), default=0)
    return layers


def _lowered(layers: Mapping[int, int], above: Ties, below: Ties) -> dict[int, int]:
    """Return the row in which each box is drawn, so that its edges are short.

    A box with more dependents than requirements is moved down to just above the first dependent: a volume is drawn
    above its server, and not at the top.
    """
    rows = dict(layers)
    for box in sorted(layers, key=lambda box: -layers[box]):
        if len(below[box]) > len(above[box]):
            rows[box] = min(rows[other] for other in below[box]) - 1
    return rows


def _places(layers: Mapping[int, int], above: Ties, below: Ties) -> dict[int, tuple[float, float]]:
    if not layers:
        return {}
    rows: list[list[int]] = [[] for _ in range(max(layers.values()) + 1)]
    for box in sorted(layers):
        rows[layers[box]].append(box)
    rows = [row for row in rows if row]
    _put_in_order(rows, above, below)
    folded = _folded(rows)
    across = _across(folded)
    _straighten(folded, across, above, below)
    return _measured(folded, across)


def _put_in_order(rows: Sequence[list[int]], above: Ties, below: Ties) -> None:
    """Sort each layer by the mean position of the adjacent boxes, above and below in turn."""
    at: dict[int, float] = {}
    for row in rows:
        _number(row, at)
    one_sided, all_sided = _SWEEPS if len(at) <= _LARGE else _SWEEPS_IF_LARGE
    adjacent = {box: [*above[box], *below[box]] for box in at}
    for sweep in range(one_sided + all_sided):
        down = sweep % 2 == 0
        ties = adjacent if sweep >= one_sided else above if down else below
        for row in rows if down else reversed(rows):
            middles = {box: _middle(ties[box], at, at[box]) for box in row}
            row.sort(key=middles.__getitem__)
            _number(row, at)


def _number(row: Sequence[int], at: dict[int, float]) -> None:
    # From 0 to 1 for any width, or boxes adjacent to narrow layers would all go to the left.
    width = len(row)
    for index, box in enumerate(row):
        at[box] = (index + 0.5) / width


def _middle(others: Sequence[int], at: Mapping[int, float], otherwise: float) -> float:
    return sum(map(at.__getitem__, others)) / len(others) if others else otherwise


#: The boxes of a layer: columns, each from top to bottom.
Columns = list[list[int]]


def _folded(rows: Sequence[Sequence[int]]) -> list[Columns]:
    """Fold wide layers into as few columns as the shape of a screen allows."""
    widest = max(len(row) for row in rows)
    low, high = min(NARROW, widest), widest
    while low < high:
        middle = (low + high) // 2
        if _is_wide(rows, middle):
            high = middle
        else:
            low = middle + 1
    return [_columns(row, low) for row in rows]


def _is_wide(rows: Sequence[Sequence[int]], most_columns: int) -> bool:
    deep = sum(-(-len(row) // most_columns) - 1 for row in rows)
    height = deep * ROW + len(rows) * LAYER
    return most_columns * COLUMN * BOX_SHAPE >= SCREEN_SHAPE * height


def _columns(row: Sequence[int], most_columns: int) -> Columns:
    # Filled from top to bottom, so that neighbours stay near each other.
    deep = -(-len(row) // most_columns)
    return [list(row[start : start + deep]) for start in range(0, len(row), deep)]


def _across(folded: Sequence[Columns]) -> dict[int, float]:
    """Return the horizontal distance of each box from the middle line, with every layer centred."""
    across = {}
    for columns in folded:
        first = -(len(columns) - 1) / 2 * COLUMN
        for index, column in enumerate(columns):
            across.update(dict.fromkeys(column, first + index * COLUMN))
    return across


def _straighten(folded: Sequence[Columns], across: dict[int, float], above: Ties, below: Ties) -> None:
    """Move boxes towards the mean position of the adjacent boxes, as near as the order allows."""
    passes = ((above, folded), (below, folded[::-1]), (above, folded))
    for ties, layers in passes if len(across) <= _LARGE else passes[:1]:
        for columns in layers:
            wanted = []
            for column in columns:
                others = [other for box in column for other in ties[box]]
                wanted.append(_middle(others, across, across[column[0]]))
            for column, place in zip(columns, _apart(wanted), strict=True):
                across.update(dict.fromkeys(column, place))


def _apart(wanted: Sequence[float]) -> list[float]:
    """Return the positions nearest to those wanted, in the same order and a column apart (least squares)."""
    # Isotonic regression: without the distances, positions must not fall; neighbours that would are averaged.
    blocks: list[tuple[float, int]] = []
    for index, place in enumerate(wanted):
        total, count = place - index * COLUMN, 1
        while blocks and blocks[-1][0] * count > total * blocks[-1][1]:
            before, times = blocks.pop()
            total, count = total + before, count + times
        blocks.append((total, count))
    level = [total / count for total, count in blocks for _ in range(count)]
    return [place + index * COLUMN for index, place in enumerate(level)]


def _measured(folded: Sequence[Columns], across: Mapping[int, float]) -> dict[int, tuple[float, float]]:
    """Return the centres of all boxes; the picture begins at (0, 0)."""
    left = min(across.values()) - 0.5
    places, top = {}, 0.5
    for columns in folded:
        for column in columns:
            for depth, box in enumerate(column):
                places[box] = (round(across[box] - left, 3), round(top + depth * ROW, 3))
        top += (max(map(len, columns)) - 1) * ROW + LAYER
    return places
