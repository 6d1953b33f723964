"""A wrong name is answered with the nearest right one, as long as that is worth the time."""

from collections.abc import Iterator

from hooks.values.nearest import Nearest, did_you_mean, nearest


def test_the_nearest_of_the_names_is_suggested() -> None:
    nearest = Nearest()
    assert nearest.hint("flavour", ["image", "flavor"]) == "did you mean 'flavor'?"
    assert nearest.hint("flavour", ["image"], "look it up") == "look it up"
    assert nearest.hint("flavour", []) == ""


def test_a_sentence_ends_with_a_hint_or_as_it_is() -> None:
    assert did_you_mean("flavour", ["image", "flavor"]) == "; did you mean 'flavor'?"
    assert did_you_mean("flavour", ["image"], "look it up") == "; look it up"
    assert did_you_mean("flavour", ["image"]) == ""


def test_where_none_is_near_all_are_named() -> None:
    assert nearest("flavour", ["image", "flavor"]) == "did you mean 'flavor'?"
    assert nearest("flavour", ["image", "disk"]) == "there are: disk, image"
    assert nearest("flavour", []) == ""


def test_names_may_be_less_alike_and_several() -> None:
    assert did_you_mean("abcd", ["abxy"]) == ""
    assert did_you_mean("abcd", ["abxy"], alike=0.5) == "; did you mean 'abxy'?"
    assert Nearest().several("abcd", ["abcx", "abcy", "z"], 2) == ["abcy", "abcx"]


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
