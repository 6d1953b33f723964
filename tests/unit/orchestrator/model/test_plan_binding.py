"""What a plan is bound to: it is read as it was written, and says what changed since."""

from dataclasses import replace

import msgpack
import pytest

from orchestrator.model.messages import DeleteJob, StackJob, UpdateJob
from orchestrator.model.plan_binding import (
    PlanBinding,
    RowMark,
    UnreadablePlan,
    definition_digest,
    disagreement,
    since,
)

BINDING = PlanBinding(
    id="p",
    action="UPDATE",
    project="default",
    stack="web",
    planned_at=1.5,
    definition="d",
    rows={"1": RowMark(name="db", digest="00")},
    actions={"db": ("UPDATE",), "new": ("CREATE",)},
    deletes=("old",),
)


def test_a_binding_is_read_as_it_was_written() -> None:
    assert PlanBinding.of_bytes(BINDING.to_bytes()) == BINDING


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"version": 2}, "version 2"),
        ({"more": 1}, "'more'"),
        ({"action": "ADOPT"}, "'ADOPT'"),
        ({"stack": 1}, "another type"),
        ({"rows": {"1": ["db"]}}, "another shape"),
        ({"actions": {"db": {"a": {"b": {"c": {}}}}}}, "deeper"),
    ],
)
def test_what_is_no_binding_is_refused(change: dict[str, object], why: str) -> None:
    plain = msgpack.unpackb(BINDING.to_bytes())
    with pytest.raises(UnreadablePlan, match=why):
        PlanBinding.of_bytes(msgpack.packb({**plain, **change}))


def test_changes_since_are_named() -> None:
    planned = {key: RowMark(name=key, digest="0") for key in "abc"}
    present = {"a": planned["a"], "b": RowMark(name="b", digest="1"), "d": RowMark(name="d", digest="0")}
    assert since(planned, present) == ("b", "c (gone)", "d (new)")
    assert since(planned, planned) == ()


@pytest.mark.parametrize(
    ("made", "kept", "deleted", "why"),
    [
        (["new"], ["db"], ["old"], ""),
        (["new", "db"], [], ["old"], "'db' would be made, and it lists UPDATE"),
        (["new"], ["db"], [], "whether 'old' is deleted"),
        (["new"], ["db"], ["old", "web"], "whether 'web' is deleted"),
        (["new", "other"], ["db"], ["old"], "no action for 'other'"),
    ],
)
def test_an_update_that_would_do_something_else_disagrees(
    made: list[str], kept: list[str], deleted: list[str], why: str
) -> None:
    found = disagreement(BINDING, made, kept, deleted, BINDING.moves)
    assert (why in found) if why else not found


@pytest.mark.parametrize("moved", [{}, {"db": "other"}, {"db": "database", "new": "old"}])
def test_an_update_that_would_move_something_else_disagrees(moved: dict[str, str]) -> None:
    binding = replace(BINDING, moves={"db": "database"})
    assert not disagreement(binding, ["new"], ["db"], ["old"], {"db": "database"})
    assert "is moved" in disagreement(binding, ["new"], ["db"], ["old"], moved)


def test_the_digest_of_a_definition_is_of_what_is_wanted_alone() -> None:
    job = StackJob(name="s", template="t", parameters={"a": 1, "b": 2})
    again = StackJob(name="s", template="t", parameters={"b": 2, "a": 1}, user="u", comment="c", plan="x")
    assert definition_digest(job) == definition_digest(again)
    others = [
        UpdateJob.of(job),
        DeleteJob(name="s"),
        StackJob(name="s", template="t", parameters={"a": 1}),
        StackJob(name="s", template="t", parameters={"a": 1, "b": 2}, files={"f": ""}),
        StackJob(name="s", template="t", parameters={"a": 1, "b": 2}, refresh=True),
    ]
    assert len({definition_digest(each) for each in (job, *others)}) == 1 + len(others)
