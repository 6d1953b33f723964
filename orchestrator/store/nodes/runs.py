"""Runs: links of a chain whose steps are taken before the nodes are claimed, and recorded in one transaction.

Only for steps that change nothing but what is recorded of them: should a node not be as it was read, or the traversal
be over, the outcomes are dropped, and the nodes are claimed one by one.
"""

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from orchestrator.model.codec import Codec
from orchestrator.store.database import Database
from orchestrator.store.direct import Direct
from orchestrator.store.nodes import batch_statements, run_statements
from orchestrator.store.nodes.batches import Ended, NodeBatches
from orchestrator.store.nodes.claiming import NodeClaims
from orchestrator.store.nodes.claims import Claim, FinishedBatch, Outcome
from orchestrator.store.nodes.endings import NodeEndings
from orchestrator.store.nodes.orders import NodeOrders
from orchestrator.store.repository import Repository, Timings
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import AnyRow, Values

#: What a claim reads that may differ from what was read ahead of it; the times are always others.
_COMPARED: Final = (
    *(
        "no",
        "key",
        "phase",
        "quiet",
        "lost",
        "planned",
        "attempt",
        "retries",
        "fragment",
        "wanted",
        "dependents",
    ),
    *("requirements", "needs", "resource_id", "node_data", "changed", "hooks", "action", "was_action"),
    *("was_status", "looks", "type", "physical_id", "on_node", "properties", "data", "metadata", "token"),
    "requires",
)


class Run:
    """A claimed node and the links behind it: those whose steps were taken, in order, and those that were only read."""

    def __init__(self, ahead: Sequence[AnyRow]) -> None:
        """Keep the rows that were read, the nearest first."""
        self.ended: list[Ended] = []
        #: What the finish of each but the last is about, and the row of each but the first.
        self.values: list[Values] = []
        self.rows: list[AnyRow] = []
        self.ahead = deque(ahead)

    def add(self, claim: Claim, outcome: Outcome) -> None:
        """Add the outcome of the node that was claimed, or of the link that came last."""
        self.ended.append((claim, outcome))

    @property
    def passed(self) -> int:
        """How many links there are besides the first node."""
        return len(self.ended) - 1


class _Overtaken(Exception):
    """A node of a run is not as it was read, or the traversal is over."""


class NodeRuns(Repository):
    """Reads of the links ahead of a claimed node, and finishes of those whose steps were taken."""

    def __init__(
        self,
        database: Database,
        codec: Codec,
        timings: Timings,
        *,
        claims: NodeClaims,
        endings: NodeEndings,
        orders: NodeOrders,
        batches: NodeBatches,
    ) -> None:
        super().__init__(database, codec, timings)
        self._claims, self._endings, self._orders, self._batches = claims, endings, orders, batches

    @retrying
    def ahead(self, claim: Claim, *, types: Collection[str], most: int) -> Run:
        """Read at most ``most`` links behind a node, which are resources of these ``types`` to be created.

        Each depends on the one before it, as on the last of what is not done yet, and all but the last have one
        dependent.
        """
        if len(claim.dependents) != 1 or not types or most < 1:
            return Run(())
        mark = run_statements.MARK
        values: dict[str, Any] = {
            "traversal_id": claim.order.traversal_id,
            "no": claim.order.no,
            "dependents": f"[{claim.dependents[0]}]",
            "kinds": f"{mark}{mark.join(types)}{mark}",
            "mark": mark,
            "most": most,
        }
        statement = run_statements.PG_AHEAD if self._db.postgres else run_statements.SQLITE_AHEAD
        with self._db.direct() as direct:
            return Run(direct.rows(statement.at(self._db.now), values))

    def next(self, run: Run) -> Claim | None:
        """Return what a claim of the next link of a run will find; None if there is none that is known in advance."""
        if not run.ahead:
            return None
        before, outcome = run.ended[-1]
        values = self._endings.values_of(before, outcome)
        row = run.ahead.popleft()
        row = row._replace(changed=bool(row.changed) or outcome.changed)
        known = {before.order.no: values["node_data"]} if values["node_data"] is not None else {}
        (order,) = self._orders.orders([row], before.order, known)
        if order.node_data is None:
            # The step would read them from the store, where those of this run are not yet.
            return None
        run.values.append(values)
        run.rows.append(row)
        return self._claims.claim_of(order, row, before.worker)

    def finish(self, run: Run, *, types: Collection[str], most: int) -> FinishedBatch | None:
        """Record a run, and claim what it made ready, as :meth:`NodeBatches.finish` does for its last link.

        None, with nothing recorded, if a node is not as it was read, or if the traversal is not in progress. Safe to
        repeat: the second time, the first node does not run any more.
        """

        def passes(direct: Direct) -> None:
            if self._db.postgres:
                self._pass_postgres(direct, run)
            else:
                self._pass_sqlite(direct, run, types)

        try:
            finished = self._batches.finish(run.ended[-1:], types=types, most=most, after=passes)
        except _Overtaken:
            return None
        return FinishedBatch(ready=finished.ready, claims=finished.claims, passed=run.passed)

    def _pass_postgres(self, direct: Direct, run: Run) -> None:
        first, last = run.ended[0][0], run.ended[-1][0]
        values, rows = run.values[: run.passed], run.rows[: run.passed]
        after = [outcome.changed for _, outcome in run.ended[: run.passed]]
        statement = run_statements.PASS.at(self._db.now)
        passed = direct.rows(
            statement,
            {
                **{name: [each[name] for each in values] for name in batch_statements.FINISHED},
                **{name: values[0][name] for name in ("stack_id", "traversal_id", "worker")},
                "first": first.order.no,
                "first_attempt": first.attempt,
                "first_resource": first.resource_id,
                "last": last.order.no,
                "last_attempt": last.attempt,
                "last_name": last.order.key,
                "last_resource": last.resource_id,
                "last_type": last.type,
                "last_after": after[-1],
                "links": [row.no for row in rows],
                "resources": [row.resource_id for row in rows],
                "node_versions": [row.node_version for row in rows],
                "resource_versions": [row.resource_version for row in rows],
                "behind": list(last.dependents),
                "after": [False, *after[:-1]],
                "many": len(rows),
                "lease_seconds": self._timings.lease_seconds,
            },
        )
        if not passed:
            raise _Overtaken

    def _pass_sqlite(self, direct: Direct, run: Run, types: Collection[str]) -> None:
        links = zip(run.ended, run.values, run.rows, strict=False)
        for (claim, outcome), values, row in list(links)[: run.passed]:
            finished = self._endings.finish_sqlite(direct, outcome, values)
            if finished is None or finished[0] != "IN_PROGRESS":
                raise _Overtaken
            next_values = self._batches.claim_values(
                claim.order, [row.no], worker=claim.worker, types=types, most=1
            )
            claimed = self._batches.claim_sqlite(direct, next_values)
            if not claimed or _compared(claimed[0]) != _compared(row):
                raise _Overtaken


def _compared(row: AnyRow) -> Mapping[str, Any]:
    found = {name: getattr(row, name) for name in _COMPARED}
    # SQLite has no truth values.
    return {**found, **{name: bool(found[name]) for name in ("quiet", "changed", "looks")}}
