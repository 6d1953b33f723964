"""Findings about the moves of environments, in themselves and against the template that is to follow them."""

from collections.abc import Iterator, Sequence

from hooks.values.nearest import Nearest
from orchestrator.errors import Problem, cut
from orchestrator.template.given import Given
from orchestrator.template.moves import Move
from orchestrator.template.template import Draft


def move_problems(moves: Sequence[Move], draft: Draft) -> Iterator[Problem]:
    """Yield the problems of moves; ``draft`` is the template in which the resources have their new names.

    What a path leads to in a nested stack is found out when an update is planned.
    """
    onward: dict[str, str] = {}
    yield from _ambiguous(moves, onward)
    nearest, names = Nearest(), draft.resource_names
    for move in moves:
        source, target = move.source.value, move.target.value
        outermost = target.partition("/")[0]
        if broken := [end for end in (move.source, move.target) if "" in end.value.split("/")]:
            yield _broken(broken[0])
        elif circle := _circle_from(source, onward):
            if source == min(circle):
                yield move.source.problem(f"moves go round in a circle: {' -> '.join(map(cut, circle))}")
        elif source in names:
            hint = "remove it from the template, or the move from the environment"
            yield move.source.problem(f"the template still has a resource {cut(source)!r}", hint)
        elif outermost not in names and target not in onward:
            yield move.target.problem(
                f"the template has no resource {cut(outermost)!r}", nearest.hint(outermost, names)
            )


def _broken(path: Given) -> Problem:
    return path.problem(
        f"expected the names of resources, separated by '/', found {cut(path.value)!r}",
        "such as web/server: the resource server in the nested stack web",
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


def _circle_from(name: str, onward: dict[str, str]) -> tuple[str, ...]:
    """Return the names of the circle that a name is in, with the first again at the end; empty for none."""
    passed = [name]
    while (following := onward.get(passed[-1])) is not None and following not in passed:
        passed.append(following)
    return (*passed, name) if following == name else ()
