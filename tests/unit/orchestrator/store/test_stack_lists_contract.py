"""What every store promises of lists of stacks: which are in them, in which order, and in which parts."""

from typing import Any

import pytest

from orchestrator.errors import NotFound
from orchestrator.model.stack_filter import StackFilter, StackOrder
from orchestrator.store import tables
from tests.unit.orchestrator.store.conftest import Bench

TAGS = {"web": ["red", "big"], "db": ["red"], "cache": ["blue"], "it's": [], "other": ["red"]}
OLDEST_FIRST = StackOrder(descending=False)


@pytest.fixture
def some(bench: Bench) -> Bench:
    """Four stacks of the project p, one after the other but for the last two, and one of another project."""
    stack = tables.stack
    for name, tags in TAGS.items():
        bench.begin({"a": set()}, stack=name)
        with bench.store.database.write() as connection:
            values: dict[str, Any] = {"tags": tags}
            values |= {"project": "q"} if name == "other" else {}
            connection.execute(stack.update().where(stack.c.name == name).values(**values))
        if name != "cache":
            bench.clock.pass_(10)
    return bench


def names(
    bench: Bench, order: StackOrder = OLDEST_FIRST, *, project: str | None = "p", **wanted: Any
) -> list[str]:
    rows = bench.store.stack_lists.page(StackFilter(**wanted), order, project=project)
    assert bench.store.stack_lists.count(StackFilter(**wanted), project=project) >= len(rows)
    return [row.name for row in rows]


def change(bench: Bench, name: str, **values: object) -> None:
    stack = tables.stack
    with bench.store.database.write() as connection:
        connection.execute(stack.update().where(stack.c.name == name).values(**values))


def test_list_has_the_stacks_that_were_updated_in_part(some: Bench) -> None:
    change(some, "db", partial=["it's"])
    assert names(some, partial=True) == ["db"]


def test_list_has_the_stacks_of_one_project_or_of_all(some: Bench) -> None:
    assert set(names(some)) == {"web", "db", "cache", "it's"}
    assert set(names(some, project=None)) == {*TAGS}
    assert names(some, project="none") == []
    assert names(some, project=None, projects=("q", "none")) == ["other"]
    assert names(some, project="p", projects=("q",)) == []


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"name_patterns": ("w*", "d?")}, {"web", "db"}),
        ({"name_patterns": ("W*", "*[ab]*", "it's")}, {"it's"}),
        ({"older_than_seconds": 30}, {"web", "db"}),
        ({"older_than_seconds": 30, "newer_than_seconds": 40}, {"db"}),
        ({"newer_than_seconds": 0}, set()),
        ({"tags": ("red",)}, {"web", "db"}),
        ({"tags": ("red", "big")}, {"web"}),
        ({"tags_any": ("big", "blue")}, {"web", "cache"}),
        ({"not_tags": ("red", "big")}, {"db", "cache", "it's"}),
        ({"not_tags_any": ("big", "blue")}, {"db", "it's"}),
        ({"tags": ("re",)}, set()),
        ({"tags": ("red", "red")}, {"web", "db"}),
        ({"tags": ("red",), "not_tags": ("red", "big"), "not_tags_any": ("big",)}, {"db"}),
        ({"tags_any": ("blue", "big"), "name_patterns": ("web", "ca*")}, {"web", "cache"}),
        ({"names": ("it's", "web")}, {"it's", "web"}),
        ({"actions": ("CREATE",), "statuses": ("IN_PROGRESS",)}, {"web", "db", "cache", "it's"}),
        ({"states": (("CREATE", "FAILED"), ("UPDATE", "IN_PROGRESS"))}, set()),
        ({"states": (("CREATE", "IN_PROGRESS"),), "tags": ("blue",)}, {"cache"}),
    ],
)
def test_filters_fit_together(some: Bench, wanted: dict[str, Any], found: set[str]) -> None:
    assert set(names(some, **wanted)) == found
    assert some.store.stack_lists.count(StackFilter(**wanted), project="p") == len(found)


def test_parts_are_the_whole_in_every_order(some: Bench) -> None:
    for keys in (("created_at",), ("name",), ("status", "created_at"), ("updated_at", "name")):
        for descending in (False, True):
            whole = some.store.stack_lists.page(
                StackFilter(), StackOrder(keys=keys, descending=descending), project="p"
            )
            parts: list[str] = []
            after = ""
            while True:
                order = StackOrder(keys=keys, descending=descending, after=after, limit=1)
                part = some.store.stack_lists.page(StackFilter(), order, project="p")
                if not part:
                    break
                parts += [row.name for row in part]
                after = part[-1].id
            assert parts == [row.name for row in whole]
            assert len(parts) == 4


def test_part_after_nothing_is_refused(some: Bench) -> None:
    with pytest.raises(NotFound, match="'none' to begin after"):
        names(some, StackOrder(after="none"))


def test_nested_and_deleted_stacks_are_wanted_by_name(some: Bench) -> None:
    (parent,) = some.store.stack_lists.page(StackFilter(names=("web",)), OLDEST_FIRST, project="p")
    change(some, "db", parent_id=parent.id)
    change(some, "cache", deleted_at=some.clock.now)
    assert set(names(some)) == {"web", "it's"}
    assert set(names(some, nested=True)) == {"web", "db", "it's"}
    assert set(names(some, deleted=True)) == {"web", "cache", "it's"}
    assert names(some, parents=(parent.id,)) == ["db"]
