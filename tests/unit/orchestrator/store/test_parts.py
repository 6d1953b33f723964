"""Which part of a resource's node data goes to a check."""

import pytest

from orchestrator.store.nodes.parts import part_of


@pytest.mark.parametrize("collected", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_value_goes_of_the_longest_prefix_that_was_collected(collected: list[str]) -> None:
    """Of a path of three parts, also where that is the middle one."""
    before = [None] * 6
    wire = [*before, [[collected, 1], [["other"], 2]]]
    assert part_of(wire, [["a", "b", "c"]]) == [*before, [[collected, 1]]]
