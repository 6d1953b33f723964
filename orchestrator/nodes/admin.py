"""Administration of machines: list, show, refresh, flush, drain, undrain and forget."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from cache.node_state.errors import NodeError, NodeUnreachable, StateStoreFailed
from cache.node_state.lease import Lease
from cache.node_state.requests import OK, MachineState
from hooks.values.nearest import Nearest
from orchestrator.config.logger import get_logger
from orchestrator.errors import Conflict, NotFound, Unavailable
from orchestrator.nodes.inquiry import Answer, NodeInquiry, reached
from orchestrator.nodes.presentation import instance_views, node_view, resident_view, section_views
from orchestrator.nodes.rpc.reports import report_of
from orchestrator.nodes.statistics import NodeStatistics
from orchestrator.store.machines.machines import MachineReport, MachineRow, Machines
from orchestrator.views.nodes import FAILING, UP, AskedView, InstancesView, NodeDetails, NodeStats, NodeView

log = get_logger()

#: The offline reason of a drained machine if the operator gave none.
DRAINED: Final = "it is drained"

#: Reserved amounts, by machine and kind.
Promised = Mapping[tuple[str, str], int]


class NodeAdmin:
    """The machines of an installation.

    ``booted_at`` is the boot time of the only machine where no watcher runs.
    """

    def __init__(
        self,
        asking: NodeInquiry,
        machines: Machines,
        promised: Callable[[Sequence[str]], Promised],
        tally: NodeStatistics,
        *,
        booted_at: float | None = None,
    ) -> None:
        self._asking, self._cache = asking, asking.nodes.cache
        self._machines, self._promised, self._tally = machines, promised, tally
        self._booted_at = booted_at

    def all(self) -> list[NodeView]:
        """Return all machines, by name; queries those whose state is not cached.

        Raises:
            Unavailable: the database, or the machine-state store, does not answer.
        """
        rows, leases = self._known()
        return self._views(rows, leases, self._asking.remembered(rows, leases))

    def show(self, name: str, *, project: str = "") -> NodeDetails:
        """Return one machine with its whole state and the resources on it: of all projects, or of one.

        Raises:
            NotFound: there is no such machine; the message names the nearest.
            Unavailable: the database, or the machine-state store, does not answer.
        """
        rows, leases = self._known([name])
        found = self._asking.remembered(rows, leases)
        [view] = self._views(rows, leases, found)
        answer = found[name]
        agent = self._asking.agent(name) if view.state == UP else {}
        return NodeDetails(
            node=view,
            sections=tuple(section_views(answer)) if isinstance(answer, MachineState) else (),
            residents=tuple(resident_view(each) for each in self._machines.residents(name, project=project)),
            version=agent.get("version", ""),
            bumps=agent.get("bumps", {}),
            flushes=agent.get("flushes", {}),
        )

    def refresh(self, names: Sequence[str] = ()) -> list[AskedView]:
        """Query machines past the cache, all if none is named; return the result of each.

        Raises:
            NotFound: there is no such machine; none was queried.
            Unavailable: the database, or the machine-state store, does not answer.
        """
        rows, leases = self._known(names)
        found = self._asking.anew(rows, leases)
        views = self._views(rows, leases, found)
        return [
            AskedView(node=view.name, state="refreshed", detail=_caching(found[view.name], view))
            if view.state == UP
            else AskedView(node=view.name, state=view.state, detail=view.reason)
            for view in views
        ]

    def flush(self, names: Sequence[str] = ()) -> list[AskedView]:
        """Invalidate the cached states of machines, of all if none is named; return the result of each.

        Raises:
            NotFound: there is no such machine; nothing was invalidated.
            Unavailable: the database, or the machine-state store, does not answer.
        """
        rows, _ = self._known(names)
        with reached():
            if names:
                for row in rows:
                    self._cache.bump(row.name, "operator")
            else:
                self._cache.flush("operator")
        self._tally.persist()
        return [
            AskedView(node=row.name, state="flushed", detail="it is asked when its state is needed next")
            for row in rows
        ]

    def drain(self, name: str, reason: str = "") -> NodeView:
        """Take a machine out of placement, and return it; resources on it stay.

        Works without the machine-state store.

        Raises:
            NotFound: there is no such machine; the message names the nearest.
            Unavailable: the database does not answer.
        """
        if self._machines.find(name) is None:
            self._known([name])
        self._machines.drain(name, reason)
        self._set_offline(name, reason or DRAINED)
        return self._shown(name)

    def undrain(self, name: str) -> NodeView:
        """Put a machine back into placement, and return it.

        Works without the machine-state store.

        Raises:
            NotFound: there is no such machine; the message names the nearest.
            Unavailable: the database does not answer.
        """
        if self._machines.find(name) is None:
            self._known([name])
        self._machines.undrain(name)
        self._set_offline(name, "")
        return self._shown(name)

    def forget(self, name: str, *, lost: bool = False) -> None:
        """Remove a machine that is gone for good; an agent of the same name would register it again.

        With ``lost``, resources on it count as lost: the next update of their stacks replaces them elsewhere.

        Raises:
            NotFound: there is no such machine; the message names the nearest.
            Conflict: its agent runs, or resources are on it; with ``lost``, one of their stacks is busy.
            Unavailable: the database, or the machine-state store, does not answer.
        """
        _, leases = self._known([name])
        if name in leases:
            raise Conflict(
                f"node {name!r} has an agent: end it first, for it would make the node known again"
            )
        hindrance = self._machines.forget(name, lost=lost)
        if hindrance:
            raise Conflict(f"node {name!r} cannot be forgotten: {hindrance}")
        with reached():
            self._cache.forget(name)

    def instances(self, name: str, *, project: str = "") -> InstancesView:
        """Return the instances of a machine; if it cannot be queried now, those of its cached state.

        Of one project, only those that belong to its stacks: whose another instance is, is not known.

        Raises:
            NotFound: there is no such machine; the message names the nearest.
            Unavailable: it cannot be queried and no state is cached; or the database does not answer.
        """
        rows, leases = self._known([name])
        answer = self._asking.remembered(rows, leases)[name]
        self._tally.persist()
        if isinstance(answer, NodeError):
            raise Unavailable(str(answer)) from answer
        residents = {each.id: each for each in self._machines.residents(name, project=project)}
        instances = instance_views(answer, residents)
        faults = [
            f"hypervisor {section.name!r}: {section.status}"
            + (f": {section.message}" if section.message else "")
            for section in section_views(answer)
            if section.kind == "hypervisor" and section.status != OK
        ]
        return InstancesView(
            node=name,
            instances=tuple(each for each in instances if each.stack or not project),
            age_seconds=answer.age_seconds,
            stale=answer.stale,
            faults=tuple(faults),
        )

    def stats(self, *, reset: bool = False) -> NodeStats:
        """Return the totals of all processes; with ``reset``, set them to zero afterwards.

        Raises:
            Unavailable: the database does not answer.
        """
        return self._tally.read(reset=reset)

    def _set_offline(self, name: str, why: str) -> None:
        """Copy a drain to the machine-state store; the row is authoritative, and the watcher repeats what fails."""
        try:
            self._cache.set_offline(name, why)
        except StateStoreFailed as error:
            log.warning("a drain is copied to the machine-state store later", node=name, reason=str(error))

    def _shown(self, name: str) -> NodeView:
        try:
            return self.show(name).node
        except Unavailable as error:
            row = self._machines.find(name)
            if row is None:
                raise
            view = node_view(row, {}, NodeUnreachable(name, str(error)), {}, booted=False)
            return replace(view, state=FAILING, reason=str(error))

    def _known(self, names: Sequence[str] = ()) -> tuple[list[MachineRow], Mapping[str, Lease]]:
        """Return the machines of these names, or all of them, and the leases of all."""
        leases = self._asking.leases()
        self._machines.note(report_of(lease) for lease in leases.values())
        rows = {row.name: row for row in self._machines.all()}
        if strays := self._strays(rows):
            self._machines.note(strays)
            rows = {row.name: row for row in self._machines.all()}
        for name in names:
            if name not in rows:
                others = f"there are: {', '.join(rows)}" if rows else "no agent has been there yet"
                raise NotFound(f"there is no node {name!r}; {Nearest().hint(name, rows, others)}")
        wanted = dict.fromkeys(names) or rows
        return [rows[name] for name in wanted], leases

    def _strays(self, rows: Mapping[str, MachineRow]) -> list[MachineReport]:
        """Return reports of machines that have no row: their agents started and ended between two look-ups."""
        with reached():
            names = self._cache.store.names()
        return [MachineReport(name=name, incarnation="", boot_id="") for name in sorted(names - rows.keys())]

    def _views(
        self, rows: Sequence[MachineRow], leases: Mapping[str, Lease], found: Mapping[str, Answer]
    ) -> list[NodeView]:
        self._tally.persist()
        promised: dict[str, dict[str, int]] = {row.name: {} for row in rows}
        for (name, kind), amount in self._promised(list(promised)).items():
            promised[name][kind] = amount
        return [
            node_view(
                row,
                leases,
                found[row.name],
                promised[row.name],
                booted=self._has_booted(row, leases.get(row.name)),
            )
            for row in rows
        ]

    def _has_booted(self, row: MachineRow, lease: Lease | None) -> bool:
        """Return whether a machine has booted since its resources were checked last."""
        if self._booted_at is not None:
            return not self._machines.is_looked_at_since(row.name, self._booted_at)
        return lease is not None and lease.boot_id != row.boot_id


def _caching(answer: Answer, view: NodeView) -> str:
    if isinstance(answer, MachineState) and answer.unsettled:
        return "it is being changed: its answer is not remembered"
    return "it is drained: its answer is not remembered" if view.drained else "its answer is remembered"
