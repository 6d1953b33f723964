"""What every store promises to those who ask in brief, and to tags."""

from dataclasses import asdict, replace

from orchestrator.model.plan import plan_operate
from orchestrator.store.stacks.presences import Presence
from orchestrator.store.stacks.stacks import ResourceRow
from orchestrator.store.traversals.new_traversal import NewTraversal
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import created, rows_of


def in_brief(row: ResourceRow) -> Presence:
    """Return what is told in brief of a row."""
    return Presence(**{name: getattr(row, name) for name in Presence.__dataclass_fields__})


def test_what_is_told_in_brief_is_what_is_told_at_length(bench: Bench) -> None:
    orders = bench.begin({"a": set(), "b": {"a"}, "c": {"a", "b"}})
    bench.begin({"other": set()}, stack="t")
    for ready in (orders, []):
        rows = bench.store.stacks.resources("s-id")
        assert [row.name for row in rows] == ["a", "b", "c"]
        assert bench.store.presences.of("s-id") == [in_brief(row) for row in rows]
        bench.run_all(ready)
    assert bench.store.presences.of("nobody's") == []


def begin_check(bench: Bench, *, number: int, tags: tuple[str, ...] | None) -> None:
    """Begin another operation on a stack, which is to have these tags."""
    new = NewTraversal(
        id=f"s-t{number}",
        stack_id="s-id",
        stack="s",
        project="p",
        template_id="none",
        timeout_minutes=60,
        plan=plan_operate(rows_of(bench), action="CHECK"),
        context={},
        new_types={},
        tags=tags,
    )
    assert bench.store.traversal_starts.begin_next(
        replace(new, known=[row.id for row in rows_of(bench)]), expected=f"s-t{number - 1}"
    )


def test_tags_stay_in_their_order_until_others_are_given(bench: Bench) -> None:
    created(bench, {"a": set()})
    odd = ("prod", 'q"uote', "über", "nul\0", "a b")
    for number, (given, expected) in enumerate(
        ((None, ()), (odd, odd), (None, odd), (("z", "a"), ("z", "a")), ((), ())), start=2
    ):
        begin_check(bench, number=number, tags=given)
        row = bench.store.stacks.find("s", project="p")
        assert row.tags == expected
        assert bench.store.stacks.all(project="p") == [row] == bench.store.families.in_tree(row.root_id)
        assert asdict(row)["tags"] == expected
