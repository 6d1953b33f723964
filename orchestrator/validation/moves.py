"""Findings about the moves of environments, in themselves and against the template that is to follow them."""

from collections.abc import Iterator, Sequence
from typing import Final

from hooks.values.nearest import Nearest
from orchestrator.errors import Problem, cut
from orchestrator.template.moves import Move
from orchestrator.template.template import Draft

_ELSEWHERE: Final = "a move stays within one stack, and this is a path into a nested stack or a group"
_INSTEAD: Final = (
    "let the one stack go of the object (deletion_policy: Retain, an update, then remove the resource), and take it "
    "into the other: into an outermost one with isotherm stack import, into a nested one with external_id"
)


def move_problems(moves: Sequence[Move], draft: Draft) -> Iterator[Problem]:
    """Yield the problems of moves; ``draft`` is the template in which the resources have their new names."""
    onward: dict[str, str] = {}
    yield from _ambiguous(moves, onward)
    nearest, names = Nearest(), draft.resource_names
    for move in moves:
        source, target = move.source.value, move.target.value
        if _is_elsewhere(move):
            path = move.source if "/" in source else move.target
            yield path.problem(_ELSEWHERE, _INSTEAD)
        elif circle := _circle_from(source, onward):
            if source == min(circle):
                yield move.source.problem(f"moves go round in a circle: {' -> '.join(map(cut, circle))}")
        elif source in names:
            hint = "remove it from the template, or the move from the environment"
            yield move.source.problem(f"the template still has a resource {cut(source)!r}", hint)
        elif target not in names and target not in onward:
            yield move.target.problem(
                f"the template has no resource {cut(target)!r}", nearest.hint(target, names)
            )


def _ambiguous(moves: Sequence[Move], onward: dict[str, str]) -> Iterator[Problem]:
    """Yield the problems of moves that do not agree with earlier ones; record the others in ``onward``, by source."""
    sources: dict[str, str] = {}
    for move in moves:
        source, target = move.source.value, move.target.value
        # Two environments may say the same.
        if source in onward and onward[source] != target:
            yield move.source.problem(f"{cut(source)!r} is moved to {cut(onward[source])!r} already")
        elif target in sources and sources[target] != source:
            yield move.target.problem(f"{cut(sources[target])!r} is moved to {cut(target)!r} already")
        else:
            onward[source], sources[target] = target, source


def _is_elsewhere(move: Move) -> bool:
    return "/" in move.source.value or "/" in move.target.value


def _circle_from(name: str, onward: dict[str, str]) -> tuple[str, ...]:
    """Return the names of the circle that a name is in, with the first again at the end; empty for none."""
    passed = [name]
    while (following := onward.get(passed[-1])) is not None and following not in passed:
        passed.append(following)
    return (*passed, name) if following == name else ()
