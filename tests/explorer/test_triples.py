"""Three operations of a scene at once, in orders that chance decides; operations stop inside of statements as well."""

import random

import hypothesis
import pytest

from tests.explorer.ground import Ground
from tests.explorer.scenes import SCENES
from tests.explorer.verdicts import exploring

SEEDS = range(400 if hypothesis.settings.get_current_profile_name() == "thorough" else 10)
ORDERS = 6


@pytest.mark.parametrize("seed", SEEDS)
def test_three_operations_end_as_if_one_came_after_the_other(ground: Ground, seed: int) -> None:
    chance = random.Random(seed)
    scene = SCENES[seed % len(SCENES)]
    names = chance.choices(list(scene.operations), k=3)
    with exploring(ground, scene) as exploration:
        verdict = exploration.some_orders(names, row_gates=True, seed=seed, count=ORDERS)
    assert verdict.runs == ORDERS
    assert not verdict.faults, "\n\n".join(verdict.faults[:3])
