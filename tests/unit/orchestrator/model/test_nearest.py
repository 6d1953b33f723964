"""A wrong name is answered with the nearest right one, as long as that is worth the time."""

from collections.abc import Iterator

from orchestrator.model.nearest import Nearest


def test_the_nearest_of_the_names_is_suggested() -> None:
    nearest = Nearest()
    assert nearest.hint("flavour", ["image", "flavor"]) == "did you mean 'flavor'?"
    assert nearest.hint("flavour", ["image"], "look it up") == "look it up"
    assert nearest.hint("flavour", []) == ""


def test_after_enough_comparisons_nothing_is_suggested_any_more() -> None:
    nearest = Nearest(work=1_000)
    names = ["ab", "cd", "ef"]
    hints = [nearest.hint("abc", names, "none") for _ in range(5)]
    assert hints == ["did you mean 'ab'?"] * 3 + ["none"] * 2


def test_no_more_names_are_drawn_than_are_compared() -> None:
    def endless() -> Iterator[str]:
        while True:
            yield "x" * 1_000

    nearest = Nearest()
    assert nearest.among("x", endless()) is None
    assert nearest.among("x", endless()) is None


def test_of_a_long_name_the_beginning_counts() -> None:
    assert Nearest().among("a" * 1_000_000, ["a" * 90, "b"]) == "a" * 90
