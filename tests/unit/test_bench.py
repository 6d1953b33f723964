"""What the measurements of ``tests/bench`` compare, and how layers are told apart."""

import sys

import pytest
import yaml

from tests.bench.layers import LayerCalls, layers_around, within
from tests.bench.peers import DISTRIBUTED, EMBEDDED, Result, compared, configuration
from tests.bench.shapes import SHAPES, template
from workers.check.checker import Checker
from workers.check.rebuilding import Attempt


@pytest.mark.parametrize("shape", SHAPES)
def test_terraform_is_given_the_same_dependencies(shape: str) -> None:
    resources = yaml.safe_load(template(shape, 30))["resources"]
    blocks = configuration(shape, 30).splitlines()
    assert len(blocks) == len(resources) == 30
    for block, (name, definition) in zip(blocks, resources.items(), strict=True):
        assert block.startswith(f'resource "terraform_data" "{name}" ')
        assert block.count("terraform_data.r") == len(definition.get("depends_on", ()))


def test_peers_are_compared_with_isotherm_by_the_same_shape() -> None:
    seconds = {DISTRIBUTED: 2.0, EMBEDDED: 4.0, "other": 6.0}
    rows = compared(
        [
            Result(peer=peer, shape=shape, n=10, seconds=times * each, cpu_ms=0.0)
            for shape, times in (("wide", 1), ("chain", 100))
            for peer, each in seconds.items()
        ]
    )
    assert [(row.distributed_is_times, row.embedded_is_times) for row in rows] == [
        (1, 0.5),
        (2, 1),
        (3, 1.5),
    ] * 2


def test_a_function_belongs_to_the_nearest_layer_of_the_highest_rank() -> None:
    check = within((0, "Celery"), Checker.check.__code__)
    rebuild = within(check, Attempt.rebuild.__code__)
    assert [name for _, name in (check, rebuild)] == ["check", "rebuild"]
    # The publisher's kombu publishes; and what has no layer is of its caller's.
    assert within(rebuild, Checker.check.__code__) == rebuild
    assert within(rebuild, template.__code__) == rebuild
    assert layers_around(sys._getframe())[-1] == (0, "other")


def test_calls_of_a_layer_end_with_its_function() -> None:
    counting = LayerCalls()
    counting.begin()
    template("wide", 3)
    counting.end()
    first = counting.counted.total()
    assert first > 3
    template("wide", 3)
    assert counting.counted.total() == first
