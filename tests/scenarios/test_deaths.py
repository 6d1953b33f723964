"""The crash tests' own loop: it ends by itself, and says where something died."""

import pytest

from tests.scenarios.deaths import die_everywhere
from tests.scenarios.test_updates import template, value
from tests.scenarios.world import World


def creation(instruction: int) -> World:
    """Create a stack; the process dies at an instruction, and another one goes on."""
    world = World()
    world.cloud.crash_after(instruction)
    if not world.survive(lambda: world.create(template({"a": value("1")}), job_id="1")):
        world.create(template({"a": value("1")}), job_id="1")
    while not world.survive(world.settle):
        pass
    return world


def test_a_story_is_run_for_each_instruction_it_has_and_once_without_a_death() -> None:
    seen = []

    @die_everywhere
    def story(instruction: int) -> None:
        seen.append((instruction, creation(instruction).cloud.crash_at is None))

    story()
    assert [number for number, _ in seen] == list(range(1, len(seen) + 1))
    assert [died for _, died in seen] == [True] * (len(seen) - 1) + [False]
    # As many as it has when nothing dies in it.
    assert len(seen) - 1 == creation(10_000).cloud._count


def test_a_failure_names_the_instruction_and_the_lines_of_the_engine() -> None:
    @die_everywhere
    def story(instruction: int) -> None:
        creation(instruction)
        assert instruction < 7

    with pytest.raises(AssertionError) as failed:
        story()
    (note,) = failed.value.__notes__
    assert note.startswith("instruction 7: ")
    assert ".py:" in note
    assert " in " in note
    assert "tests/" not in note


def test_a_story_in_which_nothing_dies_proves_nothing() -> None:
    @die_everywhere
    def story(instruction: int) -> None:
        creation(10_000)

    with pytest.raises(AssertionError, match="nothing ever died"):
        story()


def test_what_others_ask_for_is_passed_on() -> None:
    @die_everywhere
    def story(instruction: int, tmp_path: str) -> None:
        assert tmp_path == "here"
        creation(instruction)

    assert "instruction" not in str(story.__signature__)  # type: ignore[attr-defined]
    story(tmp_path="here")
