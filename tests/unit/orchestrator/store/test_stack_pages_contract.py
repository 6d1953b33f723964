"""What every store promises of pages of stacks: what is on them, in which order, and what they count."""

import re
from collections.abc import Iterable
from typing import Any

import pytest

from orchestrator.config.caller import acting_for
from orchestrator.errors import InvalidInput
from orchestrator.model.identity import Caller, Identity
from orchestrator.store import tables
from orchestrator.store.nodes.claims import Ending, Outcome
from orchestrator.views.operations import StackPage
from tests.counting import statements
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_delete


def names(page: StackPage) -> list[str]:
    return [row.name for row in page.rows]


@pytest.fixture
def some(bench: Bench) -> Bench:
    """Three stacks, begun one after the other: one failed, one complete, one under way."""
    for stack in ("web", "db", "cache"):
        orders = bench.begin({"a": set(), "b": {"a"}}, stack=stack)
        bench.clock.pass_(10)
        if stack == "web":
            bench.finish(bench.claim(orders[0]), Ending.FAILED, reason="no room")
        if stack == "db":
            bench.run_all(orders)
        bench.clock.pass_(10)
    return bench


def change(bench: Bench, stacks: Iterable[str], **values: object) -> None:
    stack = tables.stack
    with bench.store.database.write() as connection:
        connection.execute(stack.update().where(stack.c.name.in_(list(stacks))).values(**values))


def test_a_page_tells_of_each_stack_how_far_it_is(some: Bench) -> None:
    began = some.clock.now - 60
    page = some.store.stack_pages.page(project="p", sort="created", descending=False)
    web, db, cache = page.rows
    assert (web.name, web.state, web.counts, web.total, web.done) == (
        "web",
        "CREATE_FAILED",
        {"failed": 1, "unreached": 1},
        2,
        0,
    )
    assert "no room" in web.reason
    assert (db.state, db.counts, db.done, db.total) == ("CREATE_COMPLETE", {"done": 2}, 2, 2)
    assert (db.begun_at, db.ended_at, db.last_event_at) == (began + 20, began + 30, began + 30)
    assert (cache.state, cache.counts, cache.ended_at) == (
        "CREATE_IN_PROGRESS",
        {"ready": 1, "blocked": 1},
        None,
    )
    assert (cache.begun_at, cache.last_event_at, cache.retries) == (began + 40, began + 40, 0)
    assert page.total == 3
    assert page.states == {"CREATE_FAILED": 1, "CREATE_COMPLETE": 1, "CREATE_IN_PROGRESS": 1}
    assert page.cursor == some.store.observations.horizon.look()
    assert page.as_of == some.clock.now


def test_a_page_tells_how_much_an_update_with_targets_has_left_and_is_filtered_by_it(some: Bench) -> None:
    change(some, ["db"], partial=("b", "it's"))
    page = some.store.stack_pages.page(project="p", sort="name")
    assert [(row.name, row.left) for row in page.rows] == [("web", 0), ("db", 2), ("cache", 0)]
    page = some.store.stack_pages.page(project="p", partial=True)
    assert (names(page), page.total) == (["db"], 1)


def test_what_is_asked_again_is_told_as_it_is_by_then(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    pages = bench.store.stack_pages
    bench.store.nodes.finish(bench.claim(a), Outcome(ending=Ending.RETRY, reason="busy"))
    (row,) = pages.page(project="p").rows
    assert (row.counts, row.retries, row.done) == ({"retrying": 1}, 1, 0)
    bench.run_all(bench.sweep())
    for _ in range(2):
        (row,) = pages.page(project="p").rows
        assert (row.counts, row.retries, row.done) == ({"done": 1}, 1, 1)
    begin_delete(bench)
    (row,) = pages.page(project="p").rows
    assert (row.state, row.done, row.retries) == ("DELETE_IN_PROGRESS", 0, 0)


@pytest.mark.parametrize(
    ("sort", "wanted"),
    [
        ("name", ["cache", "db", "web"]),
        ("state", ["db", "web", "cache"]),
        ("created", ["web", "db", "cache"]),
        ("updated", ["web", "db", "cache"]),
        ("last_event", ["web", "db", "cache"]),
    ],
)
def test_stacks_come_in_the_order_asked_for(sort: str, wanted: list[str], some: Bench) -> None:
    pages = some.store.stack_pages
    assert names(pages.page(project="p", sort=sort, descending=False)) == wanted
    assert names(pages.page(project="p", sort=sort)) == wanted[::-1]


def test_pages_join_without_a_gap_also_where_all_are_equal(bench: Bench) -> None:
    for number in range(5):
        bench.begin({"a": set()}, stack=f"s{number}")
    pages = bench.store.stack_pages
    parts = [pages.page(project="p", offset=offset, limit=2) for offset in (0, 2, 4, 6)]
    assert [names(part) for part in parts] == [["s0", "s1"], ["s2", "s3"], ["s4"], []]
    assert {part.total for part in parts} == {5}


def test_stacks_are_found_by_a_part_of_the_name_or_of_a_tag_and_by_the_id(some: Bench) -> None:
    change(some, ["db"], tags=("Prodüction", 'te"am'))
    change(some, ["cache"], name="ca%che_1")
    page = some.store.stack_pages.page

    def found(search: str) -> list[str]:
        result = page(project="p", search=search, sort="name", descending=False)
        assert result.total == len(result.rows)
        return names(result)

    assert found("C") == ["ca%che_1", "db"]
    assert found("web") == ["web"]
    assert found("prodü") == ["db"]
    assert found('e"a') == ["db"]
    assert found("%") == ["ca%che_1"]
    assert found("_") == ["ca%che_1"]
    assert found('", "') == []
    assert found("db-id") == ["db"]
    assert found("db-i") == []
    assert found("nothing") == []


def test_stacks_are_chosen_by_their_state_and_all_are_counted(some: Bench) -> None:
    page = some.store.stack_pages.page(project="p", states=("CREATE_FAILED", "CREATE_COMPLETE"), sort="name")
    assert (names(page), page.total, sum(page.states.values())) == (["web", "db"], 2, 3)


def test_stacks_are_found_by_name_tags_and_ids_together(some: Bench) -> None:
    change(some, ["db"], tags=("prod", "eu"))
    change(some, ["web"], tags=("prod",))
    change(some, ["cache"], name="Ca%che_1")

    def found(**wanted: Any) -> list[str]:
        return names(some.store.stack_pages.page(project="p", sort="name", descending=False, **wanted))

    assert found(name="B") == ["db", "web"]
    assert found(name="?b") == ["db"]
    assert found(name="*b") == ["db", "web"]
    assert found(name="ca%*_?") == ["Ca%che_1"]
    assert found(name="*_*") == ["Ca%che_1"]
    assert found(name="\\") == []
    assert found(tags=("prod",)) == ["db", "web"]
    assert found(tags=("prod", "eu")) == ["db"]
    assert found(tags=("pro",)) == []
    assert found(ids=("web-id", "cache-id", "none")) == ["Ca%che_1", "web"]
    assert found(ids=("web-id", "db-id"), tags=("eu",)) == ["db"]


def test_stacks_are_found_by_the_age_of_a_moment(some: Bench) -> None:
    """They were begun 60, 40 and 20 seconds ago; what happened to ``web`` and ``db`` ended 10 seconds later."""

    def found(**wanted: Any) -> list[str]:
        page = some.store.stack_pages.page(project="p", sort="created", descending=False, **wanted)
        assert page.total == len(page.rows)
        return names(page)

    for moment in ("created", "begun"):
        assert found(moment=moment, over_seconds=39) == ["web", "db"]
        assert found(moment=moment, over_seconds=60) == []
        assert found(moment=moment, within_seconds=40) == ["db", "cache"]
        assert found(moment=moment, over_seconds=30, within_seconds=50) == ["db"]
    assert found(moment="updated", over_seconds=45) == ["web"]
    change(some, ["web"], created_at=some.clock.now - 1000)
    assert found(moment="created", over_seconds=900) == ["web"]
    assert found(moment="begun", over_seconds=900) == []


def test_a_page_tells_who_began_the_operation_and_why(bench: Bench) -> None:
    bench.begin({"a": set()}, stack="engine")
    who = Caller(identity=Identity(user="ann", roles={}), origin="tests", comment="the disk is back")
    with acting_for(who):
        bench.begin({"a": set()}, stack="user")
    rows = bench.store.stack_pages.page(project="p", sort="name", descending=False).rows
    assert [(row.user, row.comment) for row in rows] == [("", ""), ("ann", "the disk is back")]


def test_a_stack_is_protected_if_something_in_it_is(some: Bench) -> None:
    change(some, ["cache"], parent_id="web-id", parent_resource="web-a", root_id="web-id", depth=1)

    def protected() -> list[str]:
        page = some.store.stack_pages.page(project="p", nested=True, sort="name", descending=False)
        return [row.name for row in page.rows if row.protected]

    def mark(stack: str, name: str, *, is_protected: bool) -> None:
        resource = tables.resource
        marked = resource.update().where(resource.c.stack_id == f"{stack}-id", resource.c.name == name)
        with some.store.database.write() as connection:
            assert connection.execute(marked.values(protected=is_protected)).rowcount == 1

    assert protected() == []
    change(some, ["db"], protected=True, protections=1)
    assert protected() == ["db"]
    change(some, ["web", "cache"], protections=1)
    mark("cache", "a", is_protected=True)
    assert protected() == ["cache", "db", "web"]
    change(some, ["db"], protected=False)
    mark("cache", "a", is_protected=False)
    assert protected() == []
    mark("web", "b", is_protected=True)
    assert protected() == ["web"]


def test_a_long_page_takes_no_more_statements_than_a_short_one(bench: Bench) -> None:
    def counted() -> int:
        with statements() as sent:
            bench.store.stack_pages.page(project="p", name="s", tags=(), within_seconds=1e6)
        # How many the look for events takes depends on the transactions that are open.
        return len([sql for sql in sent if re.search(r"\b(stack|traversal|node)\b", sql)])

    bench.begin({"a": set()}, stack="s")
    few = counted()
    for number in range(40):
        bench.begin({"a": set(), "b": {"a"}}, stack=f"s{number}")
    assert 0 < few == counted()


def test_those_in_others_and_deleted_ones_come_when_they_are_asked_for(some: Bench) -> None:
    change(some, ["db"], parent_id="web-id", parent_resource="web-a", root_id="web-id", depth=1)
    change(some, ["cache"], deleted_at=some.clock.now)
    page = some.store.stack_pages.page
    assert names(page(project="p")) == ["web"]
    assert sum(page(project="p").states.values()) == 1
    nested = page(project="p", nested=True, sort="name", descending=False)
    assert names(nested) == ["db", "web"]
    assert nested.rows[0].parent_id == "web-id"
    assert sum(nested.states.values()) == 2
    deleted = page(project="p", deleted=True, sort="name", descending=False)
    assert names(deleted) == ["cache", "web"]
    assert sum(deleted.states.values()) == 1
    assert deleted.rows[0].deleted_at == some.clock.now


def test_another_project_sees_none(some: Bench) -> None:
    page = some.store.stack_pages.page(project="other")
    assert (page.rows, page.total, page.states) == ((), 0, {})


def test_what_no_page_can_be_is_refused(bench: Bench) -> None:
    with pytest.raises(InvalidInput) as refused:
        bench.store.stack_pages.page(project="p", sort="update", offset=-1, limit=501)
    assert [problem.path for problem in refused.value.problems] == ["sort", "offset", "limit"]
    with pytest.raises(InvalidInput, match="moment: expected one of created, begun, updated, found 'change'"):
        bench.store.stack_pages.page(project="p", moment="change")
    assert refused.value.problems[0].hint == "did you mean 'updated'?"
