"""Any commands in any order, whatever fails or dies: what people look at is whole, and fits together, at any moment."""

from itertools import pairwise

from hypothesis import HealthCheck, settings
from hypothesis.stateful import invariant

from orchestrator.config.settings import Settings
from orchestrator.queries.failure import failure_of
from orchestrator.queries.graph import picture_of
from orchestrator.queries.observer import Observer
from orchestrator.queries.timeline import timeline_of
from orchestrator.views.facts import Facts
from orchestrator.views.operations import GraphPicture
from orchestrator.views.states import events_by_node
from tests.scenarios.test_any_history import AnyHistory

#: How many of the last operations are looked at after each command.
LAST = 3


class ObservedHistory(AnyHistory):
    """One stack's history, looked at after every command."""

    @invariant()
    def is_told_whole(self) -> None:
        if not self.stack_id:
            return
        observer = Observer(Settings(), self.world.store)
        for row in self.world.store.past.traversals(self.stack_id, limit=LAST):
            facts = observer.facts(self.stack_id, row.id)
            picture = picture_of(facts)
            _check_graph(picture)
            counted = {state: count for state, count in picture.counts.items() if count}
            assert self.world.store.families.counts(row.id) == counted
            _check_timeline(facts)
            _check_failure(facts, picture)
            head = observer.head(self.stack_id, row.id)
            assert head.counts == counted
            if head.operation.in_force and row.status == "COMPLETE" and row.action == "UPDATE":
                kept = {vertex.name for vertex in picture.vertices if vertex.phase == "converge"}
                present = {each.name for each in self.world.store.stacks.resources(self.stack_id)}
                assert len(kept & present) + head.untouched == len(present)
            assert observer.failure(self.stack_id, traversal_id=row.id).operation == facts.operation
            assert observer.changes(self.stack_id, row.id).operation == facts.operation


def _check_graph(picture: GraphPicture) -> None:
    counts = {state for state, count in picture.counts.items() if count}
    if picture.operation.status == "COMPLETE":
        assert counts <= {"done", "unchanged"}
    elif picture.operation.status != "IN_PROGRESS":
        assert counts.isdisjoint({"blocked", "held"})


def _check_timeline(facts: Facts) -> None:
    names = {node.key for node in facts.nodes}
    # What the operation has nothing to do with may be marked as unhealthy meanwhile.
    told = [event for event in facts.events if event.resource in names]
    assert sum(map(len, events_by_node(facts).values())) == len(told), "an event is at no node"
    timeline = timeline_of(facts)
    bars = {bar.no: bar for bar in timeline.bars}
    for bar in bars.values():
        assert all(one.end == other.start for one, other in pairwise(bar.spans))
        if not bar.spans:
            continue
        assert bar.spans[0].start == facts.operation.begun_at
        assert (bar.spans[-1].end is not None) == (bar.state in ("done", "failed", "unreached"))
        if bar.state in ("running", "waiting", "retrying") and bar.attempts:
            assert bar.spans[-1].kind in ("running", "retrying")
        if bar.state in ("done", "failed"):
            assert bar.attempts
            assert bar.spans[-1].kind in ("running", "retrying", "held")
    if facts.operation.status == "COMPLETE" and timeline.critical:
        ends = [bar.spans[-1].end or 0.0 for bar in bars.values() if bar.spans]
        took = max(ends) - facts.operation.begun_at
        assert abs(sum(timeline.critical_seconds.values()) - took) < 0.001


def _check_failure(facts: Facts, picture: GraphPicture) -> None:
    view = failure_of(facts)
    failed = {vertex.no for vertex in picture.vertices if vertex.state == "failed"}
    assert {each.no for each in (*view.roots, *view.later)} == failed
    if failed and facts.operation.status == "FAILED":
        assert view.roots
        if "failed: resources." in facts.operation.reason:
            assert f"resources.{view.roots[0].name}:" in facts.operation.reason


TestObservedHistory = ObservedHistory.TestCase
TestObservedHistory.settings = settings(
    max_examples=3,
    stateful_step_count=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
