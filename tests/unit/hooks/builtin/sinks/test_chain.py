"""Each event is told with the id of the one before it of the same stack, whatever is handed on again."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.builtin.sinks import chain
from hooks.builtin.sinks.chain import Chain
from hooks.events import Event
from tests.unit.hooks.builtin.sinks.histories import event

HISTORIES = st.lists(st.sampled_from("abc"), max_size=30).map(
    lambda stacks: [event(number, stack_id=stack) for number, stack in enumerate(stacks, 1)]
)


def links(history: list[Event]) -> list[int | None]:
    return [
        max((each.id for each in history[:place] if each.stack_id == one.stack_id), default=None)
        for place, one in enumerate(history)
    ]


@given(history=HISTORIES, cuts=st.sets(st.integers(0, 30)), data=st.data())
@settings(max_examples=300)
def test_links_are_the_same_however_the_history_is_cut_and_repeated(
    history: list[Event], cuts: set[int], data: st.DataObject
) -> None:
    told: list[int | None] = []
    links_so_far = Chain()
    edges = sorted({0, len(history), *(cut for cut in cuts if cut < len(history))})
    for start, end in itertools.pairwise(edges):
        batch = history[start:end]
        if data.draw(st.booleans(), label="fails, and comes again"):
            links_so_far.follow(batch)
        before, links_so_far = links_so_far.follow(batch)
        if data.draw(st.booleans(), label="another process goes on"):
            links_so_far = Chain.from_bytes(links_so_far.to_bytes())
        told += before
    assert told == links(history)


def test_stacks_of_which_nothing_was_heard_for_long_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "MAX_STACKS", 2)
    _, after = Chain().follow([event(1, stack_id="a"), event(2, stack_id="b"), event(3, stack_id="a")])
    _, after = after.follow([event(4, stack_id="c")])
    before, _ = after.follow([event(5, stack_id="a"), event(6, stack_id="b"), event(7, stack_id="c")])
    assert before == [3, None, 4]


@pytest.mark.parametrize("packed", [b"", b"\xc1", b"\x01", b"\x91\x01", b"\x91\x93\x01\x02\x03", b"\xff\xff"])
def test_what_another_version_packed_is_an_empty_chain(packed: bytes) -> None:
    assert Chain.from_bytes(packed).follow([event(9)])[0] == [None]
