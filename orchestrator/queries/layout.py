"""Where the boxes of a graph are drawn: in layers from top to bottom, whatever is required above what requires it.

Pure, and quick enough for every graph there may be: the longest path gives the layer, a few sweeps the order within
it, and a layer that is too wide for a screen is folded into rows. The same graph always looks the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

#: How much wider a box is than high; whoever draws with other boxes gets another shape of the whole, and no overlap.
BOX_SHAPE: Final = 3.6
#: From the middle of a box to that of the next: beside it, below it in the same layer, below it in the next layer.
COLUMN: Final = 1.25
ROW: Final = 1.6
LAYER: Final = 2.4
#: How much wider than high a picture may be before its layers are folded no further.
SCREEN_SHAPE: Final = 1.6
#: Layers of that many boxes are never folded.
NARROW: Final = 8
#: How often all layers are put in order: by their ties to one side, and after that by all ties. The former gets the
#: whole into shape, the latter shortens edges by a fifth more. In a large graph nobody could follow an edge anyway.
_SWEEPS: Final = (8, 4)
_SWEEPS_IF_LARGE: Final = (2, 1)
_LARGE: Final = 3000
#: How many graphs' places are remembered.
_REMEMBERED: Final = 16

Ties = Mapping[int, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Layout:
    """By number: in which layer a box is, from 0, and where its middle is, in units of one box.

    The layer is how many edges it is away at most from a box that requires nothing. It may be drawn further down, as
    long as that is above all that requires it.
    """

    layers: Mapping[int, int]
    places: Mapping[int, tuple[float, float]]


@lru_cache(maxsize=_REMEMBERED)
def lay_out(boxes: tuple[int, ...], edges: tuple[tuple[int, int], ...]) -> Layout:
    """Return where boxes are drawn; an edge is (requirer, required), and there is no circle of them.

    The places of the graphs that were asked for last are remembered: a graph stays as it is while its states change.
    """
    above, below = _ties(boxes, edges)
    layers = _layers(boxes, above, below)
    return Layout(layers, _places(_lowered(layers, above, below), above, below))


def lay_out_layers(layers: Mapping[int, int], edges: Iterable[tuple[int, int]]) -> Layout:
    """Return where boxes are drawn whose layers are known; an edge goes from a layer to one above."""
    return Layout(layers, _places(layers, *_ties(layers, edges)))


def _ties(boxes: Iterable[int], edges: Iterable[tuple[int, int]]) -> tuple[Ties, Ties]:
    above: dict[int, list[int]] = {box: [] for box in boxes}
    below: dict[int, list[int]] = {box: [] for box in above}
    for requirer, required in edges:
        above[requirer].append(required)
        below[required].append(requirer)
    return above, below


def _layers(boxes: Sequence[int], above: Ties, below: Ties) -> dict[int, int]:
    """Return how many edges each box is away at most from one that requires nothing."""
    layers = dict.fromkeys(boxes, 0)
    missing = {box: len(others) for box, others in above.items()}
    following = [box for box in boxes if not missing[box]]
    while following:
        box = following.pop()
        further = layers[box] + 1
        for other in below[box]:
            layers[other] = max(layers[other], further)
            missing[other] -= 1
            if not missing[other]:
                following.append(other)
    return layers


def _lowered(layers: Mapping[int, int], above: Ties, below: Ties) -> dict[int, int]:
    """Return in which row of layers each box is drawn: where its edges are short.

    What more boxes require than it requires itself is brought down to the first of them. So a volume is above its
    server, and not at the top of everything because it requires nothing.
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
    """Bring each layer into the order of the middles of what its boxes are tied to, above and below in turn."""
    at: dict[int, float] = {}
    for row in rows:
        _number(row, at)
    one_sided, all_sided = _SWEEPS if len(at) <= _LARGE else _SWEEPS_IF_LARGE
    around = {box: [*above[box], *below[box]] for box in at}
    for sweep in range(one_sided + all_sided):
        down = sweep % 2 == 0
        ties = around if sweep >= one_sided else above if down else below
        for row in rows if down else reversed(rows):
            middles = {box: _middle(ties[box], at, at[box]) for box in row}
            row.sort(key=middles.__getitem__)
            _number(row, at)


def _number(row: Sequence[int], at: dict[int, float]) -> None:
    # From 0 to 1, whatever their number: else what is tied to narrow layers alone would be all to the left.
    width = len(row)
    for index, box in enumerate(row):
        at[box] = (index + 0.5) / width


def _middle(others: Sequence[int], at: Mapping[int, float], otherwise: float) -> float:
    return sum(map(at.__getitem__, others)) / len(others) if others else otherwise


#: The boxes of a layer: columns, each from top to bottom.
Columns = list[list[int]]


def _folded(rows: Sequence[Sequence[int]]) -> list[Columns]:
    """Fold what is too wide: as few columns as the shape of a screen allows."""
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
    """Return how far each box is from the middle line, left or right, if every layer is centred."""
    across = {}
    for columns in folded:
        first = -(len(columns) - 1) / 2 * COLUMN
        for index, column in enumerate(columns):
            across.update(dict.fromkeys(column, first + index * COLUMN))
    return across


def _straighten(folded: Sequence[Columns], across: dict[int, float], above: Ties, below: Ties) -> None:
    """Move boxes towards the middle of what they are tied to, as near as the order allows."""
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
    """Return the places nearest to those wanted, in the same order and a column apart (least squares)."""
    # Without the distances, the places may not fall: neighbours that would are put in the middle of them together.
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
    """Return the middles of all boxes; the whole begins at (0, 0)."""
    left = min(across.values()) - 0.5
    places, top = {}, 0.5
    for columns in folded:
        for column in columns:
            for depth, box in enumerate(column):
                places[box] = (round(across[box] - left, 3), round(top + depth * ROW, 3))
        top += (max(map(len, columns)) - 1) * ROW + LAYER
    return places
