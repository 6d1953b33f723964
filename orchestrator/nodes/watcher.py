"""Machine watcher: refreshes cached machine states, reports missing agents, and checks stacks after reboots.

Any number of coordinators may run it: each machine is claimed by one of them.
"""

import uuid
from collections.abc import Callable
from typing import Final

from cache.node_state.errors import NodeError
from orchestrator.config.logger import get_logger
from orchestrator.errors import IsothermError, NotFound, Unavailable
from orchestrator.model.messages import CheckJob
from orchestrator.nodes.admin import DRAINED
from orchestrator.nodes.inquiry import EVERYTHING, Nodes
from orchestrator.nodes.rpc.reports import heard_seconds, report_of
from orchestrator.nodes.statistics import NodeStatistics
from orchestrator.store.machines.machines import MachineRow, StackOnMachine
from orchestrator.store.store import Store

log = get_logger()

#: How many machines are claimed at a time; they are queried in parallel.
AT_ONCE: Final = 32
#: The UUID namespace of the job ids of checks after a reboot; the same boot begins one check of a stack.
_BOOTS: Final = uuid.UUID("5a3c5f5e-5a58-4c0e-9a0e-6f0b1d6b9b57")


class NodeWatcher:
    """Watches the machines of an installation."""

    def __init__(
        self,
        store: Store,
        nodes: Nodes,
        check: Callable[[CheckJob], object],
        tally: NodeStatistics,
        *,
        every_seconds: float,
        refresh_after_seconds: float,
    ) -> None:
        self._store, self._nodes, self._check, self._tally = store, nodes, check, tally
        self._every_seconds, self._refresh_after_seconds = every_seconds, refresh_after_seconds

    def look(self) -> None:
        """Watch every machine that is due and not claimed by another coordinator.

        Raises:
            Unavailable: the database does not answer.
            StateStoreFailed: the machine-state store does not answer.
        """
        leases = self._nodes.leases()
        self._store.machines.note(report_of(lease) for lease in leases.values())
        while rows := self._store.machines.claim_to_watch(every_seconds=self._every_seconds, limit=AT_ONCE):
            for row in rows:
                lease = leases.get(row.name)
                if lease is None:
                    self._miss(row, heard_seconds(row, leases))
                elif lease.boot_id != row.boot_id:
                    self._check_after_boot(row, lease.boot_id)
            self._repeat_drains(rows)
            self._refresh([row for row in rows if row.name in leases and not row.is_drained])
        if left := self._store.reservations.settle_left_over():
            log.warning("room on nodes was left unsettled", stacks=left)
        self._tally.persist()

    def _miss(self, row: MachineRow, seconds: float) -> None:
        report = log.info if row.is_drained else log.warning
        report("a node has no agent", node=row.name, missing_seconds=round(seconds))

    def _repeat_drains(self, rows: list[MachineRow]) -> None:
        """Copy drains to the machine-state store again, which may have lost them, or never got them."""
        looks = self._nodes.cache.store.look([row.name for row in rows], entries=False)
        for row, look in zip(rows, looks, strict=True):
            if row.is_drained != bool(look.offline):
                self._nodes.cache.set_offline(
                    row.name, (row.drain_reason or DRAINED) if row.is_drained else ""
                )

    def _refresh(self, rows: list[MachineRow]) -> None:
        names = [row.name for row in rows]
        if not names:
            return
        # Fresh states cost no call; stale ones are served to others until the machine has answered.
        found = self._nodes.cache.machine_states(
            names, EVERYTHING, max_age_seconds=self._refresh_after_seconds
        )
        for name, answer in sorted(found.items()):
            if isinstance(answer, NodeError):
                log.warning("the state of a node cannot be read", node=name, reason=str(answer))

    def _check_after_boot(self, row: MachineRow, boot_id: str) -> None:
        """Invalidate the cached state of a machine that has booted, and begin checks of the stacks on it."""
        self._nodes.cache.bump(row.name, "boot")
        stacks = self._store.machines.stacks_on(row.name)
        log.warning("a node has booted", node=row.name, stacks=[stack.name for stack in stacks])
        # All of them are tried; a busy stack is tried again the next time.
        is_settled = [self._is_settled(stack, row.name, boot_id) for stack in stacks]
        if all(is_settled):
            self._store.machines.booted(row.name, boot_id)

    def _is_settled(self, stack: StackOnMachine, node: str, boot_id: str) -> bool:
        job = CheckJob(
            name=stack.id,
            project=stack.project,
            job_id=str(uuid.uuid5(_BOOTS, f"{stack.id} {node} {boot_id}")),
        )
        try:
            self._check(job)
        except NotFound:
            return True
        except Unavailable:
            raise
        except IsothermError as error:
            now = self._store.stacks.find(stack.id, project=stack.project)
            is_busy = now.status == "IN_PROGRESS" and now.action != "DELETE"
            log.info(
                "a stack on a node that has booted cannot be checked",
                stack_name=stack.name,
                node=node,
                is_tried_again=is_busy,
                reason=str(error),
            )
            return not is_busy
        return True
