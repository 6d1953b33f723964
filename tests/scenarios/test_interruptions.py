"""Every kind of update, interrupted at every message by an update, a cancellation or a deletion."""

from dataclasses import replace

import pytest

from tests.scenarios.definitions import Definition, Wanted, edited
from tests.scenarios.interruptions import INTERRUPTIONS, Story, Telling, interrupt_everywhere
from tests.scenarios.witness import Fault


def names(*others: str) -> frozenset[str]:
    return frozenset(others)


BEFORE: Definition = {
    "a": Wanted(),
    "b": Wanted(of=names("a")),
    "c": Wanted(after=names("b"), beside=names("a")),
    "d": Wanted(),
}
#: What an interrupting update asks for: something of either definition, and something of none.
INSTEAD = edited(BEFORE, [("size", "b", "b", "z"), ("add", "e", "e", "z"), ("after", "c", "e", "z")])


#: What is made of the size of another, which changes in place.
LIKE: Definition = {
    "a": Wanted(),
    "b": Wanted(like=names("a")),
    "c": Wanted(beside=names("b")),
    "d": Wanted(of=names("b"), like=names("c")),
    "e": Wanted(after=names("d")),
}


#: What is imported: x is made of what was not read of b before, and y of both.
BY_HAND: Definition = {
    **BEFORE,
    "x": Wanted(of=names("b"), after=names("d")),
    "y": Wanted(like=names("b"), beside=names("x")),
}


def story(after: Definition, **more: object) -> Story:
    return replace(Story(before=BEFORE, after=after, instead=INSTEAD), **more)  # type: ignore[arg-type]


def changed(*edits: tuple[str, str] | tuple[str, str, str]) -> Definition:
    return edited(BEFORE, [(edit[0], edit[1], edit[2] if len(edit) > 2 else edit[1], "x") for edit in edits])


STUCK = Fault(times=-1)
STORIES = {
    "in place": story(changed(("size", "a"), ("size", "c"))),
    "in place, slowly": story(changed(("size", "a"), ("size", "c")), polls={"a": 2, "c": 3}),
    "a replacement": story(changed(("value", "a"))),
    "a replacement that takes long": story(changed(("value", "a")), polls={"a": 2, "b": 2}),
    "an addition": story(changed(("add", "f"), ("after", "a", "f"), ("beside", "d", "f"))),
    "a removal": story(changed(("remove", "a"))),
    "a renaming": story(changed(("rename", "a", "g"))),
    "dependencies turned around": story(changed(("turn", "b", "a"), ("turn", "c", "b"))),
    "another type": story(changed(("type", "a"))),
    "a condition that is false": story(changed(("condition", "b"))),
    "what is retained": story(
        edited(changed(("value", "a")), [("remove", "d", "d", "x")]),
        before={**BEFORE, "a": Wanted(retained=True), "d": Wanted(retained=True)},
    ),
    "a failure": story(
        changed(("value", "a"), ("size", "d")), faults={("create", "b"): STUCK}, ends="UPDATE_FAILED"
    ),
    "a failure that is rolled back": story(
        changed(("value", "a"), ("size", "d"), ("add", "f")),
        faults={("create", "b"): STUCK},
        rollback=True,
        ends="ROLLBACK_COMPLETE",
    ),
    "a late failure that is rolled back": story(
        changed(("size", "a"), ("size", "c")),
        faults={("update", "c"): Fault(late=True)},
        rollback=True,
        ends="ROLLBACK_COMPLETE",
    ),
    "a rollback when time is up": story(
        changed(("value", "a"), ("size", "d")),
        polls={"b": 1000},
        rollback=True,
        timeout_minutes=0.03,
        ends="ROLLBACK_COMPLETE",
    ),
    "what changes in place, and replaces others": story(
        edited(LIKE, [("size", "a", "a", "x")]),
        before=LIKE,
        instead=edited(LIKE, [("size", "d", "d", "z"), ("add", "e", "e", "z"), ("like", "d", "e", "z")]),
    ),
    "what changes in place, and replaces others, slowly": story(
        edited(LIKE, [("size", "a", "a", "x"), ("size", "c", "c", "x")]),
        before=LIKE,
        instead=edited(LIKE, [("size", "a", "a", "y")]),
        polls={"a": 2, "b": 3, "d": 2},
    ),
    "what changed in place, and replaced others, is rolled back": story(
        edited(LIKE, [("size", "a", "a", "x"), ("add", "f", "f", "x"), ("after", "f", "d", "x")]),
        before=LIKE,
        instead=edited(LIKE, [("size", "c", "c", "z")]),
        faults={("create", "f"): STUCK},
        rollback=True,
        ends="ROLLBACK_COMPLETE",
    ),
    "what changed in place is rolled back before all others are replaced": story(
        edited(LIKE, [("size", "a", "a", "x"), ("value", "e", "e", "x")]),
        before=LIKE,
        instead=edited(LIKE, [("size", "a", "a", "z")]),
        faults={("create", "d"): Fault(times=-1, late=True)},
        rollback=True,
        ends="ROLLBACK_COMPLETE",
    ),
    "an import": story(BY_HAND, by_hand=("x", "y"), ends="ADOPT_COMPLETE"),
    "an import that takes long": story(
        BY_HAND,
        instead=edited(BY_HAND, [("size", "x", "x", "z"), ("value", "d", "d", "z")]),
        by_hand=("x", "y"),
        polls={"x": 2, "y": 3},
        ends="ADOPT_COMPLETE",
    ),
    "an import of what is retained": story(
        {**BY_HAND, "y": replace(BY_HAND["y"], retained=True)}, by_hand=("x", "y"), ends="ADOPT_COMPLETE"
    ),
    "single resources": story(
        changed(("value", "a"), ("size", "b"), ("size", "d"), ("add", "f")), targets=("b",), polls={"a": 2}
    ),
    "single resources that are removed": story(
        changed(("remove", "c"), ("size", "a"), ("size", "d")), targets=("c", "b")
    ),
    "single resources that are rolled back": story(
        changed(("value", "a"), ("size", "d"), ("add", "f"), ("after", "f", "b")),
        targets=("f",),
        faults={("create", "f"): STUCK},
        rollback=True,
        ends="ROLLBACK_COMPLETE",
    ),
    "a cleanup that fails": story(
        changed(("value", "a"), ("remove", "d")),
        faults={("delete", "a"): STUCK},
        rollback=True,
        ends="UPDATE_FAILED",
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_story_ends_as_it_should(name: str) -> None:
    telling = Telling(STORIES[name])
    telling.world.settle()
    assert telling.state == STORIES[name].ends
    telling.end()


@pytest.mark.parametrize("by", INTERRUPTIONS)
@pytest.mark.parametrize("name", STORIES)
def test_a_story_that_is_interrupted_ends_as_the_last_command_says(name: str, by: str) -> None:
    assert interrupt_everywhere(STORIES[name], by, newest_first=by == "delete") > 3
