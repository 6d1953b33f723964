"""Three operations of a scene at once, in orders that chance decides; operations stop inside of statements as well."""

import random

import pytest

from tests.explorer.ground import Ground
from tests.explorer.scenes import SCENES
from tests.explorer.verdicts import prepared
from tests.thoroughness import is_thorough

THOROUGH = is_thorough()
SEEDS = range(400 if THOROUGH else 10)
ORDERS = 6


@pytest.mark.parametrize("seed", SEEDS)
def test_three_operations_end_as_if_one_came_after_the_other(ground: Ground, seed: int) -> None:
    chance = random.Random(seed)
    scene = SCENES[seed % len(SCENES)]
    names = chance.choices(list(scene.operations), k=3)
    exploration = prepared(ground, scene)
    verdict = exploration.some_orders(names, row_gates=True, seed=seed, count=ORDERS)
    assert verdict.runs == ORDERS
    assert not verdict.faults, "\n\n".join(verdict.faults[:3])


@pytest.mark.parametrize(
    ("name", "operations"),
    [
        # The operation of the middle becomes possible while that at the end holds other nodes.
        ("ending", ("join q", "join q's cleanup", "cancel")),
        ("creating", ("signal x", "claim r", "update")),
    ],
)
def test_a_node_changes_its_state_before_the_next_statement(
    ground: Ground, name: str, operations: tuple[str, ...]
) -> None:
    (scene,) = (each for each in SCENES if each.name == name)
    verdict = prepared(ground, scene).all_orders(operations, row_gates=THOROUGH, preemptions=1 + THOROUGH)
    assert verdict.runs > 100
    assert not verdict.faults, "\n\n".join(verdict.faults[:3])
