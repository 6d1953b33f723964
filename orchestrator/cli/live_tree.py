"""Live tree of a running operation on a terminal: the layers of its graph, in a bounded number of lines.

Pure functions: from pictures to branches, and from these to lines. The most urgent states come first: failed,
retried, held at a hook, running, waiting, in the queue. Finished and unbegun resources appear in counts alone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from hooks.values.dataclass import dataclass
from orchestrator.cli.fitting import shortened
from orchestrator.cli.formats import printable
from orchestrator.cli.state_marks import MARKS
from orchestrator.views.operations import GraphPicture, Group, Vertex
from orchestrator.views.vertex_states import (
    BLOCKED,
    DONE,
    FAILED,
    HELD,
    READY,
    RETRYING,
    RUNNING,
    UNCHANGED,
    UNREACHED,
    WAITING,
)

if TYPE_CHECKING:
    from rich.text import Text

#: The states whose resources have a line of their own, most urgent first.
LISTED: Final = (FAILED, RETRYING, HELD, RUNNING, WAITING, READY)
#: The states in which nothing is left to do, and those in which nothing has begun.
_DONE: Final = frozenset({DONE, UNCHANGED})
_NOT_BEGUN: Final = frozenset({BLOCKED, UNREACHED})
#: The widths of a terminal from which bars are drawn, and from which states have their words.
_BARS_FROM: Final = 48
_WORDS_FROM: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One resource with a line of its own, or all resources of one type in a layer."""

    state: str
    name: str
    detail: str = ""
    #: Of a group or a nested stack, the number of resources in each state.
    counts: Mapping[str, int] | None = None
    inside: "tuple[Leaf, ...]" = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One layer, or several consecutive layers in which nothing happens."""

    first: int
    last: int
    counts: Mapping[str, int]
    leaves: tuple[Leaf, ...] = ()

    @property
    def title(self) -> str:
        """The heading, such as ``layer 3``; layers count from 1."""
        return f"layer {self.first}" if self.first == self.last else f"layers {self.first}-{self.last}"

    @property
    def urgency(self) -> int:
        """The rank of its most urgent state, 0 for the most urgent; unbegun layers rank before finished ones."""
        return min((_rank(state) for state, number in self.counts.items() if number), default=len(_RANKS))


_RANKS: Final = {state: rank for rank, state in enumerate((*LISTED, UNREACHED, BLOCKED, DONE, UNCHANGED))}


def _rank(state: str) -> int:
    return _RANKS.get(state, len(_RANKS))


def branches(picture: GraphPicture, nested: Mapping[str, GraphPicture] | None = None) -> list[Branch]:
    """Return a picture's layers, first to last; consecutive layers in which nothing happens are folded into one.

    ``nested`` are the pictures of nested stacks, by their ids.
    """
    layers = _layers_of_groups(picture.groups) if picture.part == "groups" else _layers(picture, nested or {})
    numbered = [
        Branch(first=number, last=number, counts=counts, leaves=leaves)
        for number, (counts, leaves) in enumerate(layers, start=1)
    ]
    return [folded for _, run in groupby(numbered, key=_idle) for folded in _folded(list(run))]


def leaves_of(picture: GraphPicture, nested: Mapping[str, GraphPicture]) -> tuple[Leaf, ...]:
    """Return the leaves of all layers of a picture, the most urgent first."""
    layers = _layers_of_groups(picture.groups) if picture.part == "groups" else _layers(picture, nested)
    return _by_urgency(leaf for _, leaves in layers for leaf in leaves)


def _layers(
    picture: GraphPicture, nested: Mapping[str, GraphPicture]
) -> Iterator[tuple[Mapping[str, int], tuple[Leaf, ...]]]:
    resources = sorted(picture.vertices, key=lambda each: each.layer)
    for _, layer in groupby(resources, key=lambda each: each.layer):
        vertices = list(layer)
        leaves = (_leaf(vertex, nested) for vertex in vertices if vertex.state in LISTED)
        yield Counter(vertex.state for vertex in vertices), _by_urgency(leaves)


def _layers_of_groups(groups: Sequence[Group]) -> Iterator[tuple[Mapping[str, int], tuple[Leaf, ...]]]:
    for _, layer in groupby(sorted(groups, key=lambda each: each.layer), key=lambda each: each.layer):
        counts: Counter[str] = Counter()
        leaves = []
        for group in layer:
            counts.update(group.counts)
            state = min((state for state in LISTED if group.counts.get(state)), key=_rank, default=None)
            if state is not None:
                leaves.append(Leaf(state=state, name=group.type, counts=group.counts))
        yield counts, _by_urgency(leaves)


def _leaf(vertex: Vertex, nested: Mapping[str, GraphPicture]) -> Leaf:
    inside = nested.get(vertex.nested_stack_id or "")
    name = vertex.name if vertex.phase != "cleanup" else f"{vertex.name} (cleanup)"
    attempt = f"attempt {vertex.attempt}" if vertex.attempt > 1 else ""
    hook = f"at {vertex.hook}" if vertex.hook else ""
    detail = ", ".join(filter(None, (hook, attempt, " ".join(vertex.reason.split()))))
    return Leaf(
        state=vertex.state,
        name=name,
        detail=detail,
        counts=inside.counts if inside else None,
        inside=leaves_of(inside, nested) if inside else (),
    )


def _by_urgency(leaves: Iterable[Leaf]) -> tuple[Leaf, ...]:
    return tuple(sorted(leaves, key=lambda leaf: _rank(leaf.state)))


def _idle(branch: Branch) -> str:
    """Return a key by which layers are folded: the same for idle layers of one kind, unique for any other."""
    states = {state for state, number in branch.counts.items() if number}
    if states <= _DONE:
        return "done"
    return "not begun" if states <= _NOT_BEGUN else f"layer {branch.first}"


def _folded(run: list[Branch]) -> list[Branch]:
    counts: Counter[str] = Counter()
    for branch in run:
        counts.update(branch.counts)
    return [Branch(first=run[0].first, last=run[-1].last, counts=counts, leaves=run[0].leaves)]


def bounded(tree: Sequence[Branch], lines: int) -> list[tuple[Branch, tuple[tuple[int, Leaf], ...]]]:
    """Return the branches that fit ``lines``, in their order, each with its leaves and their depths.

    Every branch has a line if all fit, else the most urgent ones have; the lines left go to the most urgent leaves,
    and then to the leaves inside those.
    """
    kept = sorted(
        sorted(tree, key=lambda branch: (branch.urgency, branch.first))[: max(lines, 0)], key=_first
    )
    room = lines - len(kept)
    # Among equally urgent leaves, each branch has its first before any branch has its second.
    candidates = [
        (_rank(leaf.state), turn, place, leaf)
        for place, branch in enumerate(kept)
        for turn, leaf in enumerate(branch.leaves)
    ]
    chosen = sorted(candidates, key=lambda each: each[:3])[: max(room, 0)]
    room -= len(chosen)
    taken: list[list[tuple[int, Leaf]]] = [[] for _ in kept]
    for _, _, place, leaf in chosen:
        inside = list(_inside(leaf, 1, room))
        room -= len(inside)
        taken[place] += [(0, leaf), *inside]
    return [(branch, tuple(leaves)) for branch, leaves in zip(kept, taken, strict=True)]


def _first(branch: Branch) -> int:
    return branch.first


def _inside(leaf: Leaf, depth: int, room: int) -> Iterator[tuple[int, Leaf]]:
    """Yield the leaves of a nested stack with their depths, parents first, at most ``room``."""
    for each in leaf.inside:
        if room <= 0:
            return
        yield depth, each
        room -= 1
        deeper = list(_inside(each, depth + 1, room))
        room -= len(deeper)
        yield from deeper


def drawn(tree: Sequence[Branch], *, width: int, lines: int, ascii_only: bool = False) -> "list[Text]":
    """Return the tree in at most ``lines`` lines, none of them wider than ``width``."""
    from rich.text import Text

    hidden = max(len(tree) - max(lines - 1, 0), 0) if len(tree) > lines else 0
    shown = bounded(tree, lines - 1 if hidden else lines)
    title_width = max((len(branch.title) for branch, _ in shown), default=0)
    drawing = []
    for branch, leaves in shown:
        drawing.append(_branch_line(branch, title_width, width, ascii_only=ascii_only))
        drawing += [_leaf_line(leaf, depth, width, ascii_only=ascii_only) for depth, leaf in leaves]
    if hidden and lines > 0:
        drawing.append(Text(f"{'|' if ascii_only else '│'}  and {hidden} more layers", style="dim"))
    for line in drawing:
        line.no_wrap = True
        line.truncate(max(width, 1), overflow="crop" if ascii_only else "ellipsis")
    return drawing


def bar(counts: Mapping[str, int], columns: int, *, ascii_only: bool = False) -> "Text":
    """Return a bar with parts for done, failed, busy and other resources; no part is rounded down to nothing."""
    from rich.text import Text

    done = sum(counts.get(state, 0) for state in _DONE)
    failed = counts.get(FAILED, 0)
    busy = sum(counts.get(state, 0) for state in (RETRYING, HELD, RUNNING, WAITING))
    total = max(sum(counts.values()), 1)
    # Rounded down, so that it is full only when all is done.
    parts = [max(number * columns // total, 1 if number else 0) for number in (done, failed, busy)]
    while sum(parts) > columns:
        parts[parts.index(max(parts))] -= 1
    signs = "=x-." if ascii_only else "━▞╍─"
    styles = ("green", "bold red", "yellow", "dim")
    text = Text()
    for number, sign, style in zip((*parts, columns - sum(parts)), signs, styles, strict=True):
        text.append(sign * number, style)
    return text


def _branch_line(branch: Branch, title_width: int, width: int, *, ascii_only: bool) -> "Text":
    from rich.text import Text

    line = Text(f"{'|-' if ascii_only else '├─'} ", style="dim")
    line.append(branch.title.ljust(title_width), "not dim")
    return line.append_text(_progress(branch.counts, width, ascii_only=ascii_only))


def _leaf_line(leaf: Leaf, depth: int, width: int, *, ascii_only: bool) -> "Text":
    from rich.text import Text

    mark = MARKS[leaf.state]
    line = Text(f"{'|' if ascii_only else '│'}  {'   ' * depth}", style="dim")
    line.append(f"{mark.on(ascii_only=ascii_only)} ", f"not dim {mark.style}")
    # Half of the width is left for the state and the detail.
    line.append(shortened(printable(leaf.name), max(width // 2, 8), ascii_only=ascii_only), "not dim bold")
    if leaf.counts is not None:
        line.append_text(_progress(leaf.counts, width, ascii_only=ascii_only))
    else:
        line.append(f"  {leaf.state}", f"not dim {mark.style}")
    if leaf.detail:
        line.append(f"  {printable(leaf.detail)}", "not dim")
    return line


def _progress(counts: Mapping[str, int], width: int, *, ascii_only: bool) -> "Text":
    """Return a bar if the terminal is wide enough, ``done/total``, and the count of each listed state."""
    from rich.text import Text

    text = Text("  ")
    if width >= _BARS_FROM:
        text.append_text(bar(counts, min(width // 5, 24), ascii_only=ascii_only)).append("  ")
    done = sum(counts.get(state, 0) for state in _DONE)
    total = sum(counts.values())
    text.append(f"{done}/{total}".rjust(2 * len(str(total)) + 1), "not dim")
    for state in LISTED:
        if counts.get(state):
            word = f" {state}" if width >= _WORDS_FROM else ""
            mark = MARKS[state]
            number = f"  {mark.on(ascii_only=ascii_only)} {counts[state]}{word}"
            text.append(number, f"not dim {mark.style}")
    return text
