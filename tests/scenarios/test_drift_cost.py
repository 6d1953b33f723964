"""What an observation costs does not grow with the stack, but for what is read of its objects."""

from pathlib import Path

import pytest

from tests.bench.drift import measure


@pytest.mark.parametrize("resources", [1, 20])
def test_an_observation_costs_a_few_statements_one_request_and_a_part_of_a_message(
    tmp_path: Path, resources: int
) -> None:
    without, drifted = measure(f"sqlite:///{tmp_path}/drift.db", 16, resources)
    # Read: the turn, the stacks, the rows, drift. Write: its end. The rest is shared by a portion.
    assert without.statements_of_a_stack < 7
    assert drifted.statements_of_a_stack < 10
    for cost in (without, drifted):
        assert cost.messages_of_a_stack == 1 / 8
        assert cost.requests_of_a_stack == 1
