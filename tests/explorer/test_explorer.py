"""The explorer finds faults that are put into the store: a lost wake-up, and two ways of waiting for each other."""

from collections.abc import Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.model.messages import CheckOrder
from orchestrator.store import tables
from orchestrator.store.nodes import link_statement, run_statements, statements
from orchestrator.store.nodes.orders import NodeOrders
from orchestrator.store.traversals.sweeping import Sweeper
from tests.explorer.ground import Ground
from tests.explorer.scenes import SCENES
from tests.explorer.verdicts import Verdict, exploring


def explored(ground: Ground, scene: str, names: Sequence[str], *, row_gates: bool) -> Verdict:
    (found,) = (each for each in SCENES if each.name == scene)
    with exploring(ground, found) as exploration:
        return exploration.all_orders(names, row_gates=row_gates, preemptions=1)


def test_a_wake_up_in_two_statements_is_lost_between_them(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not explored(ground, "creating", ["v waits", "signal x"], row_gates=False).faults

    def wake(self: NodeOrders, which: str, values: dict[str, Any]) -> Sequence[CheckOrder]:
        ready = f"UPDATE node SET state = 'ready' WHERE {which} AND state = 'waiting' RETURNING *"
        running = f"UPDATE node SET woken = true WHERE {which} AND state = 'running'"
        with self._db.write() as connection:
            rows = connection.execute(sa.text(ready), values).all()
            connection.execute(sa.text(running), values)
        place = tables.stack.select().with_only_columns(sa.literal("s-id").label("stack_id"))
        place = place.add_columns(sa.literal("s").label("stack"), sa.literal("s-t1").label("traversal_id"))
        return self.orders(rows, self._db.one(place))

    monkeypatch.setattr(NodeOrders, "_wake", wake)
    verdict = explored(ground, "creating", ["v waits", "signal x"], row_gates=False)
    assert "it ends as no serial order does" in verdict.faults[0]


def test_finishes_that_lock_only_their_first_dependent_wait_for_each_other(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not explored(ground, "creating", ["a ends", "k ends"], row_gates=True).faults
    locks_all = statements.PG_END_AND_RELEASE.sql
    locks_first = locks_all.replace("(SELECT count(*) FROM locked) > 0", "EXISTS (SELECT 1 FROM locked)")
    assert locks_first != locks_all
    monkeypatch.setattr(statements, "PG_END_AND_RELEASE", statements.Statement(locks_first))
    verdict = explored(ground, "creating", ["a ends", "k ends"], row_gates=True)
    assert any("deadlock" in fault for fault in verdict.faults)


def test_sweepers_that_change_what_the_other_holds_wait_for_each_other(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = ["sweep a full queue", "sweep a full queue"]
    assert not explored(ground, "late", full, row_gates=False).faults

    def postpone(self: Sweeper, connection: sa.Connection, now: float) -> None:
        sent = sa.text("UPDATE node SET due_at = :later WHERE due_at <= :now AND state = 'ready'")
        connection.execute(sent, {"now": now, "later": now + 1000})

    monkeypatch.setattr(Sweeper, "_postpone", postpone)
    verdict = explored(ground, "late", full, row_gates=False)
    assert any("deadlock" in fault for fault in verdict.faults)


def test_a_link_that_reads_the_status_before_its_locks_begins_a_step_of_a_failed_operation(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [["a ends, b begins", other] for other in ("d fails", "cancel", "give way")]
    for names in pairs:
        assert not explored(ground, "linking", names, row_gates=False).faults
    unlocked = link_statement.LINK.sql.replace("FOR SHARE", "")
    assert unlocked != link_statement.LINK.sql
    monkeypatch.setattr(link_statement, "LINK", statements.Statement(unlocked))
    for names in pairs:
        verdict = explored(ground, "linking", names, row_gates=False)
        assert any("began after its operation had failed: (b)" in fault for fault in verdict.faults)


def test_a_run_that_does_not_hold_the_operation_begins_steps_of_a_failed_one(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [["a, b and c run", other] for other in ("d fails", "cancel", "give way")]
    for names in pairs:
        assert not explored(ground, "linking", names, row_gates=False).faults
    unguarded = run_statements.PASS.sql.replace("AND status = 'IN_PROGRESS' FOR SHARE", "")
    assert unguarded != run_statements.PASS.sql
    monkeypatch.setattr(run_statements, "PASS", statements.Statement(unguarded))
    for names in pairs:
        verdict = explored(ground, "linking", names, row_gates=False)
        assert any("began after its operation had failed: (b)" in fault for fault in verdict.faults)
