"""Every two operations of each scene, in orders of their statements with one change in the middle of an operation.

An ordinary run takes one pair of two, beginning with any, and few orders of each. ``--hypothesis-profile=thorough``
explores all orders of all pairs, with two changes, and stops inside of statements as well.
"""

import itertools
from collections.abc import Mapping, Sequence

import pytest

from tests.explorer.ground import Ground
from tests.explorer.scenes import SCENES, Scene
from tests.explorer.verdicts import prepared
from tests.thoroughness import is_thorough, some_of

#: Orders of each pair, the two serial ones among them, unless all are explored.
MOST = 4
THOROUGH = is_thorough()


def pairs_of(scene: Scene) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return the pairs of a scene's operations by the first of each, which also meets itself."""
    pairs = itertools.combinations_with_replacement(scene.operations, 2)
    return {first: list(group) for first, group in itertools.groupby(pairs, lambda pair: pair[0])}


PAIRS = [
    pytest.param(scene, pairs, id=f"{scene.name}: {first}")
    for scene in SCENES
    for first, pairs in pairs_of(scene).items()
]


@pytest.mark.parametrize(("scene", "pairs"), PAIRS)
def test_two_operations_end_as_if_one_came_after_the_other(
    ground: Ground, scene: Scene, pairs: Sequence[tuple[str, str]]
) -> None:
    exploration = prepared(ground, scene)
    for number in some_of(range(len(pairs)), 2) if len(pairs) > 1 else (0,):
        most = 10_000 if THOROUGH else MOST
        verdict = exploration.all_orders(
            pairs[number], row_gates=THOROUGH, preemptions=1 + THOROUGH, most=most
        )
        assert verdict.runs > 0
        assert not verdict.faults, "\n\n".join(verdict.faults[:3])
