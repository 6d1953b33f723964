"""What plugins were shown last is remembered, within bounds."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from hooks.stack import FrozenResource
from hooks.values.frozen import FrozenDict, frozen
from orchestrator.lifecycle.definition_cache import ShownDefinitions

KEYS = st.tuples(st.sampled_from("ab"), st.sampled_from("12"))


def definition(*, characters: int) -> Mapping[str, FrozenResource]:
    """Return a definition of one resource with so long a text in it."""
    properties = frozen({"text": "x" * characters})
    return FrozenDict({"a": FrozenResource(name="a", type="T", properties=properties)})


def test_the_one_that_nobody_asked_for_longest_is_forgotten_first() -> None:
    known = ShownDefinitions(most_bytes=4000)
    first, second, third = (definition(characters=1000 + number) for number in range(3))
    known.remember(("s", "1"), first)
    known.remember(("s", "2"), second)
    assert known.get(("s", "1")) is first
    known.remember(("s", "3"), third)
    assert [known.get(("s", number)) for number in "123"] == [first, None, third]


def test_one_that_is_too_much_alone_displaces_no_other() -> None:
    known = ShownDefinitions(most_bytes=5000)
    small = definition(characters=10)
    known.remember(("s", "1"), small)
    known.remember(("s", "2"), definition(characters=10_000))
    assert known.get(("s", "1")) is small
    assert known.get(("s", "2")) is None


@given(st.lists(st.tuples(KEYS, st.integers(0, 4000)), max_size=20))
def test_what_is_known_is_what_was_remembered_last(steps: list[tuple[tuple[str, str], int]]) -> None:
    known = ShownDefinitions(most_bytes=6000)
    last: dict[tuple[str, str], Mapping[str, FrozenResource]] = {}
    for key, characters in steps:
        last[key] = definition(characters=characters)
        known.remember(key, last[key])
        assert known.get(key) is last[key]
        held = [each for each in map(known.get, last) if each is not None]
        assert all(known.get(other) in (None, last[other]) for other in last)
        assert sum(len(each["a"].properties["text"]) for each in held) <= 6000
