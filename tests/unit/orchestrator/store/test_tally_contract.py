"""What every store promises to those who only want to know how many are in which state."""

from orchestrator.observation.graph import picture_of
from orchestrator.observation.heads import counted
from orchestrator.store.claims import Ending
from tests.unit.orchestrator.store.conftest import Bench


def counts(bench: Bench, traversal_id: str) -> dict[str, int]:
    """Return how many are in which state, and hold that whoever reads everything counts the same."""
    observations = bench.store.observations
    told = counted(
        observations.tally(traversal_id), operation := observations.operation("s-id", traversal_id)
    )
    picture = picture_of(observations.facts("s-id", traversal_id))
    assert told == {state: count for state, count in picture.counts.items() if count}
    assert operation == picture.operation
    return told


def test_a_tally_counts_what_the_graph_shows(bench: Bench) -> None:
    a, c, d = bench.begin({"a": set(), "b": {"a"}, "c": set(), "d": set(), "e": {"b", "c", "d"}})
    assert counts(bench, "s-t1") == {"blocked": 2, "ready": 3}
    bench.run(a)
    bench.claim(c)
    assert counts(bench, "s-t1") == {"blocked": 1, "ready": 2, "running": 1, "done": 1}
    bench.finish(bench.claim(d), Ending.FAILED, reason="no room")
    assert counts(bench, "s-t1")["failed"] == 1
