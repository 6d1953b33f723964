"""An attempt may only be taken for one without effect if it, and each before it, ended in order and made nothing."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.store.nodes.claims import Ending
from workers.check.creating import has_made_nothing, may_have_made, with_mark

CREATING = ("CREATE", "IN_PROGRESS")
INIT = ("INIT", "COMPLETE")


def claim(
    attempt: int,
    data: Mapping[str, Any],
    was: tuple[str, str] = CREATING,
    action: str = "CREATE",
    traversal_id: str = "t",
) -> Any:
    order = SimpleNamespace(traversal_id=traversal_id)
    return SimpleNamespace(
        order=order, attempt=attempt, data=dict(data), was=was, action=action, physical_id=None
    )


def after(story: str) -> tuple[int, dict[str, Any]]:
    """Return the next attempt and what it finds: n made nothing, w may have made something, d died."""
    data: dict[str, Any] = {"own": 1}
    for attempt, letter in enumerate(story, 1):
        here = claim(attempt, data, CREATING if attempt > 1 else INIT)
        if letter != "d":
            data = with_mark(data, here, Ending.RETRY, made_nothing=letter == "n")
    return len(story) + 1, data


@pytest.mark.parametrize(
    ("story", "doubted"),
    [
        ("n", False),
        ("nnn", False),
        ("w", True),
        ("d", True),
        ("nd", True),
        ("dn", True),
        ("wn", True),
        ("nw", True),
        ("ndn", True),
        ("ndnn", True),
        ("nnwnn", True),
    ],
)
def test_one_attempt_in_doubt_is_enough(story: str, doubted: bool) -> None:
    attempt, data = after(story)
    assert may_have_made(claim(attempt, data)) is doubted
    assert data["own"] == 1


def test_the_first_attempt_follows_none_unless_another_operation_began_it() -> None:
    assert not may_have_made(claim(1, {}, INIT))
    assert may_have_made(claim(1, {}, CREATING))
    _, data = after("n")
    assert may_have_made(claim(1, data, CREATING))


def test_of_what_the_attempts_of_another_traversal_came_to_nothing_is_certain() -> None:
    attempt, data = after("n")
    assert may_have_made(claim(attempt, data, traversal_id="u"))
    assert may_have_made(claim(attempt + 1, data, traversal_id="u"))


def test_what_waited_for_a_hook_has_not_begun() -> None:
    assert not may_have_made(claim(3, {}, INIT))


@pytest.mark.parametrize("ending", [each for each in Ending if each is not Ending.RETRY])
def test_no_mark_outlasts_the_create(ending: Ending) -> None:
    attempt, data = after("n")
    assert data != {"own": 1}
    assert with_mark(data, claim(attempt, data), ending, made_nothing=False) == {"own": 1}
    if ending is not Ending.FAILED:
        assert with_mark(data, claim(attempt, data), ending, made_nothing=True) == {"own": 1}


def test_a_create_that_failed_and_made_nothing_is_marked_as_that_and_only_while_it_is_failed() -> None:
    attempt, data = after("n")
    failed = with_mark(data, claim(attempt, data), Ending.FAILED, made_nothing=True)
    assert has_made_nothing(claim(1, failed, ("CREATE", "FAILED")))
    for was in [("CREATE", "IN_PROGRESS"), ("DELETE", "FAILED"), ("UPDATE", "FAILED")]:
        assert not has_made_nothing(claim(1, failed, was))
    made = claim(1, failed, ("CREATE", "FAILED"))
    made.physical_id = "made"
    assert not has_made_nothing(made)
    assert with_mark(failed, claim(1, failed, INIT, "UPDATE"), Ending.DONE, made_nothing=True) == {"own": 1}


def test_a_create_of_which_an_attempt_died_is_not_marked_when_it_fails() -> None:
    assert with_mark({}, claim(2, {}, CREATING), Ending.FAILED, made_nothing=True) == {}


def test_other_actions_are_not_marked() -> None:
    assert with_mark({}, claim(1, {}, INIT, "UPDATE"), Ending.RETRY, made_nothing=True) == {}
