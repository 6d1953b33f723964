"""What every store promises about what was counted of nodes."""

from orchestrator.store.installation.cache_counters import NodeTotals
from tests.unit.orchestrator.store.conftest import Bench


def test_what_processes_counted_is_added_up_until_a_reset(bench: Bench) -> None:
    counters = bench.store.node_counters
    assert counters.read() == NodeTotals()
    began = bench.clock.now
    counters.add({"hits": 2, "misses.aged": 1})
    bench.clock.pass_(60)
    counters.add({})
    counters.add({"hits": 3, "asked seconds": 0.5})
    found = NodeTotals(since=began, amounts={"asked seconds": 0.5, "hits": 5, "misses.aged": 1})
    assert counters.read() == found
    assert counters.reset() == found
    assert counters.read() == NodeTotals()
    counters.add({"hits": 1})
    assert counters.read() == NodeTotals(since=bench.clock.now, amounts={"hits": 1})
