"""What the pages about nodes, caches and workers tell: from the same views as ``isotherm node`` and ``isotherm cache``.

Nodes and caches are asked in threads of their own: one that hangs holds up no other page.
"""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from orchestrator.dashboard.recent import Answer, Recent
from orchestrator.errors import Unavailable
from orchestrator.nodes.rpc.names import node_of_agent
from orchestrator.queries.observer import Observer
from orchestrator.service import Service
from orchestrator.views.nodes import UP, InstancesView, NodeView
from orchestrator.views.operations import ProcessView

T = TypeVar("T")

#: How many questions about nodes and caches are under way at once, and of how many nodes answers are kept.
ASKERS: Final = 4
REMEMBERED_NODES: Final = 64
#: Of each worker, so many processes that have stopped are told, the latest: every command without a broker is one.
STOPPED_SHOWN: Final = 5
_STOPPED: Final = "stopped"
#: Asking a node, or a store, is dearer than a look at the database.
KEEP_SECONDS: Final = 4.0

Told = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """What Celery says of one of its workers; lost with the dashboard, and only heard while it runs."""

    #: How long ago it was heard of last; None: it said good-bye.
    seen_seconds: float | None
    #: Whether Celery counts it as there.
    alive: bool
    #: How many tasks it works on, and has worked on.
    active: int | None
    processed: int | None

    @classmethod
    def of(cls, worker: Any, now: float) -> "Heartbeat":
        """Return that of one of ``celery.events.state``'s workers."""
        heard = worker.heartbeats[-1] if worker.heartbeats else None
        return cls(
            seen_seconds=None if heard is None else max(0.0, now - heard),
            alive=bool(worker.alive),
            active=worker.active,
            processed=worker.processed,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {name: getattr(self, name) for name in ("seen_seconds", "alive", "active", "processed")}


def heartbeats_of(workers: Mapping[str, Any], now: float | None = None) -> dict[str, Heartbeat]:
    """Return what Celery says of its workers, by their names; ``now`` is the clock's time."""
    at = time.time() if now is None else now
    return {name: Heartbeat.of(worker, at) for name, worker in workers.items()}


def workers_told(processes: Iterable[ProcessView], heartbeats: Mapping[str, Heartbeat]) -> list[Told]:
    """Return Celery's workers with our processes in them, as both tell; what has no worker comes last.

    A worker that only one of the two knows is told all the same: that is where something is wrong.
    """
    members: dict[str, list[ProcessView]] = {name: [] for name in heartbeats}
    for process in processes:
        members.setdefault(process.celery_name, []).append(process)
    return [
        _worker_told(name, members[name], heartbeats.get(name))
        for name in sorted(members, key=lambda name: (not name, name))
    ]


def _worker_told(name: str, members: Sequence[ProcessView], heartbeat: Heartbeat | None) -> Told:
    stopped = [each for each in members if each.state == _STOPPED]
    latest = sorted(stopped, key=lambda each: each.seen_at, reverse=True)[:STOPPED_SHOWN]
    shown = [*sorted((each for each in members if each.state != _STOPPED), key=_place), *latest]
    return {
        "name": name,
        # An agent has no database in which its processes could say anything.
        "node": "" if members else node_of_agent(name),
        "heartbeat": heartbeat.to_dict() if heartbeat else None,
        "processes": [_process_told(each) for each in shown],
        "not_shown": len(members) - len(shown),
    }


def _place(process: ProcessView) -> tuple[bool, str, int]:
    return process.state != "present", process.host, process.pid


def _process_told(process: ProcessView) -> Told:
    names = ("stack", "stack_id", "resource", "action", "since", "lease_until")
    works_on = [dict(zip(names, each, strict=True)) for each in process.works_on]
    return {**process.to_dict(), "works_on": works_on}


def node_told(view: NodeView) -> Told:
    """Return a node as JSON, with what follows from its fields."""
    return {**view.to_dict(), "states": view.states, "is_up": view.state == UP}


class Fleet:
    """Nodes, caches and workers, as of a moment ago. Used on one event loop.

    Args:
        service: Knows nodes and caches.
        observer: Knows processes.
        moment: Returns the id of the last event that nothing is missing before, and the database's time.
    """

    def __init__(self, service: Service, observer: Observer, moment: Callable[[], tuple[int, float]]) -> None:
        self._service, self._observer, self._moment = service, observer, moment
        self._executor = ThreadPoolExecutor(ASKERS, thread_name_prefix="asking")
        self._nodes = self._recent(self._all_nodes)
        self._cache = self._recent(self._caches)
        # The database alone is asked for these, and always answers or fails in time.
        self._workers = self._recent(self._processes, keep_seconds=1.0)
        self._node: OrderedDict[str, Recent[Told]] = OrderedDict()

    async def nodes(self) -> Told:
        """Return all nodes."""
        return _told(await self._nodes.get())

    async def node(self, name: str) -> Told:
        """Return one node, with all that it says and all that is on it.

        Raises:
            NotFound: there is none of that name.
        """
        if name not in self._node:
            self._node[name] = self._recent(lambda: self._one_node(name))
            if len(self._node) > REMEMBERED_NODES:
                self._node.popitem(last=False)
        self._node.move_to_end(name)
        return _told(await self._node[name].get())

    async def caches(self) -> Told:
        """Return what is remembered of other systems and of nodes, and how well that serves."""
        return _told(await self._cache.get())

    async def workers(self, celery: Mapping[str, Any]) -> Told:
        """Return workers as they say themselves, and as Celery's ``celery`` says; and what is stuck."""
        answer = await self._workers.get()
        processes, stuck = answer.value
        return {
            **answer.to_dict(),
            "workers": workers_told(processes, heartbeats_of(celery)),
            "counts": Counter(each.state for each in processes),
            "stuck": [each.to_dict() for each in stuck],
        }

    def close(self) -> None:
        """Ask nothing more; what hangs is not waited for."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _recent(self, question: Callable[[], T], *, keep_seconds: float = KEEP_SECONDS) -> Recent[T]:
        return Recent(question, self._moment, self._executor, keep_seconds=keep_seconds)

    def _all_nodes(self) -> Told:
        views = self._service.nodes.all()
        return {
            "nodes": [node_told(view) for view in views],
            "counts": Counter(view.states for view in views),
        }

    def _one_node(self, name: str) -> Told:
        details = self._service.nodes.show(name)
        found, why = self._instances(name)
        return {
            **details.to_dict(),
            # What belongs to another project has no pages here.
            "project": self._service.settings.project,
            "node": node_told(details.node),
            "instances": found.to_dict() if found else None,
            "no_instances": why,
        }

    def _instances(self, name: str) -> tuple[InstancesView | None, str]:
        """Return the instances of a node, or why nobody can tell."""
        try:
            return self._service.nodes.instances(name), ""
        except Unavailable as error:
            return None, str(error)

    def _caches(self) -> Told:
        return {
            "caches": [view.to_dict() for view in self._service.cache_stats()],
            "node_states": self._service.nodes.stats().to_dict(),
        }

    def _processes(self) -> tuple[Any, Any]:
        return self._observer.processes(), self._observer.stuck()


def _told(answer: Answer[Told]) -> Told:
    return {**answer.to_dict(), **answer.value}
