"""What every store promises about the log lines of steps."""

from dataclasses import replace

from orchestrator.config.step_log import LogLine, StepLines
from orchestrator.model.purge import Purge
from orchestrator.store import tables
from orchestrator.store.nodes.claims import Claim
from orchestrator.store.nodes.step_logs import StepLogRow
from tests.unit.orchestrator.store.conftest import Bench

DAY = 86400.0


def lines(*messages: str, left_out: int = 0) -> StepLines:
    found = (LogLine(at=5.25, level="info", message=each) for each in messages)
    return StepLines(lines=tuple(found), left_out=left_out)


def claimed(bench: Bench, stack: str = "s") -> Claim:
    (order,) = bench.begin({"a": set()}, stack=stack)
    return bench.claim(order)


def add(bench: Bench, claim: Claim, log: StepLines, *, most: int = 1000, days: float = 14) -> None:
    bench.store.step_logs.add([(claim, log)], most=most, seconds=days * DAY)


def read(
    bench: Bench, *, limit: int = 100, days: float = 14, traversal: str | None = None
) -> list[StepLogRow]:
    return bench.store.step_logs.of("s-id", "a", limit=limit, seconds=days * DAY, traversal_id=traversal)


def texts(rows: list[StepLogRow]) -> list[list[str]]:
    return [[line.message for line in row.log.lines] for row in rows]


def test_lines_are_read_as_they_were_recorded_in_the_order_of_the_steps(bench: Bench) -> None:
    claim = claimed(bench)
    add(bench, claim, lines("one", "two", left_out=3))
    bench.clock.pass_(1)
    add(bench, replace(claim, attempt=2, worker="other"), lines("three"))
    first, second = read(bench)
    assert first.log == lines("one", "two", left_out=3)
    assert (first.action, first.attempt, first.worker) == (claim.action, 1, "w")
    assert (second.worker, second.log) == ("other", lines("three"))
    assert texts(read(bench, limit=1)) == [["three"]]
    assert texts(read(bench, traversal="another")) == []
    assert len(read(bench, traversal="s-t1")) == 2


def test_recording_a_step_again_changes_nothing(bench: Bench) -> None:
    claim = claimed(bench)
    for _ in range(2):
        add(bench, claim, lines("one"))
    assert texts(read(bench)) == [["one"]]


def test_lines_of_another_resource_and_of_another_stack_are_not_read_nor_removed(bench: Bench) -> None:
    claim, other = claimed(bench), claimed(bench, "t")
    beside = replace(claim, order=replace(claim.order, key="b", no=7))
    bench.store.step_logs.add([(claim, lines("mine")), (beside, lines("beside"))], most=1, seconds=DAY)
    add(bench, other, lines("theirs"))
    bench.clock.pass_(1)
    add(bench, replace(claim, attempt=2), lines("mine again"), most=1)
    assert texts(read(bench)) == [["mine again"]]
    found = bench.store.step_logs.of("s-id", "b", limit=9, seconds=DAY)
    assert texts(found) == [["beside"]]
    assert texts(bench.store.step_logs.of("t-id", "a", limit=9, seconds=DAY)) == [["theirs"]]


def test_the_newest_lines_of_a_resource_stay_and_older_ones_go(bench: Bench) -> None:
    claim = claimed(bench)
    for attempt in range(6):
        bench.clock.pass_(1)
        add(bench, replace(claim, attempt=attempt), lines("x", "y"), most=4)
    assert [row.attempt for row in read(bench)] == [4, 5]
    # A step with more lines than may be kept is not lost as a whole.
    add(bench, replace(claim, attempt=9), lines(*"abcdefgh"), most=4)
    assert [row.attempt for row in read(bench)][-1] == 9


def test_old_lines_are_not_read_and_the_next_step_removes_them(bench: Bench) -> None:
    claim = claimed(bench)
    add(bench, claim, lines("old"))
    bench.clock.pass_(2 * DAY)
    assert texts(read(bench, days=1)) == []
    assert texts(read(bench)) == [["old"]]
    add(bench, replace(claim, attempt=2), lines("new"), days=1)
    assert texts(read(bench)) == [["new"]]


def test_a_purge_removes_old_lines_of_its_project_alone(bench: Bench) -> None:
    claim = claimed(bench)
    add(bench, claim, lines("old"))
    bench.clock.pass_(2 * DAY)
    add(bench, replace(claim, attempt=2), lines("new"))

    def purged(**more: object) -> int:
        wanted = Purge(older_than_seconds=DAY, max_events_per_stack=10**6, **more)  # type: ignore[arg-type]
        return sum(each.count for each in bench.store.purger.purge(wanted) if each.kind == "logs")

    assert purged(logs_older_than_seconds=3 * DAY) == 0
    assert purged(project="another") == 0
    assert purged(dry_run=True) == 1
    assert texts(read(bench)) == [["old"], ["new"]]
    assert purged() == 1
    assert texts(read(bench)) == [["new"]]


def test_lines_are_packed(bench: Bench) -> None:
    add(bench, claimed(bench), lines("plainly-written"))
    (row,) = bench.store.database.rows(tables.step_log.select())
    assert isinstance(row.lines, bytes)
