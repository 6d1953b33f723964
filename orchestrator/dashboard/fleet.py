"""Data of the pages about nodes, caches and workers: the same views as ``isotherm node`` and ``isotherm cache``.

Nodes and caches are queried in threads of their own: one that hangs blocks no other page.
"""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from orchestrator.dashboard.recent import Answer, Recent
from orchestrator.errors import IsothermError, Unavailable
from orchestrator.nodes.rpc.names import node_of_agent
from orchestrator.queries.observer import Observer
from orchestrator.queries.standstill import Standstill, standstill_of
from orchestrator.service import Service
from orchestrator.views.nodes import UP, InstancesView, NodeView
from orchestrator.views.operations import ProcessView

T = TypeVar("T")

#: The number of concurrent queries to nodes and caches, and the number of nodes whose answers are kept.
ASKERS: Final = 4
REMEMBERED_NODES: Final = 64
#: The number of stopped processes that are shown of each worker; every command without a broker is one.
STOPPED_SHOWN: Final = 5
_STOPPED: Final = "stopped"
#: How long answers of nodes and caches are kept: they cost more than a query to the database.
KEEP_SECONDS: Final = 4.0

JsonObject = Mapping[str, Any]


def heartbeats_of(workers: Mapping[str, Any], now: float | None = None) -> dict[str, JsonObject]:
    """Return the last heartbeats of Celery's workers, known only while the dashboard runs, as JSON by name.

    ``seen_seconds`` is the age, null once the worker has announced its end; ``alive`` is what Celery counts it as.
    """
    at = time.time() if now is None else now
    return {
        name: {
            "seen_seconds": max(0.0, at - worker.heartbeats[-1]) if worker.heartbeats else None,
            "alive": bool(worker.alive),
            "active": worker.active,
            "processed": worker.processed,
        }
        for name, worker in workers.items()
    }


def workers_data(processes: Iterable[ProcessView], heartbeats: Mapping[str, JsonObject]) -> list[JsonObject]:
    """Return Celery's workers with our processes in them; processes without a worker come last.

    A worker that only one side knows is included: it shows that something is wrong.
    """
    members: dict[str, list[ProcessView]] = {name: [] for name in heartbeats}
    for process in processes:
        members.setdefault(process.celery_name, []).append(process)
    return [
        _worker_data(name, members[name], heartbeats.get(name))
        for name in sorted(members, key=lambda name: (not name, name))
    ]


def _worker_data(name: str, members: Sequence[ProcessView], heartbeat: JsonObject | None) -> JsonObject:
    stopped = [each for each in members if each.state == _STOPPED]
    latest = sorted(stopped, key=lambda each: each.seen_at, reverse=True)[:STOPPED_SHOWN]
    shown = [*sorted((each for each in members if each.state != _STOPPED), key=_place), *latest]
    return {
        "name": name,
        # Agents have no database to register their processes in.
        "node": "" if members else node_of_agent(name),
        "heartbeat": heartbeat,
        "processes": [_process_data(each) for each in shown],
        "not_shown": len(members) - len(shown),
    }


def _place(process: ProcessView) -> tuple[bool, str, int]:
    return process.state != "present", process.host, process.pid


def _process_data(process: ProcessView) -> JsonObject:
    names = ("stack", "stack_id", "resource", "action", "since", "lease_until")
    plain = process.to_dict()
    return {**plain, "works_on": [dict(zip(names, each, strict=True)) for each in plain["works_on"]]}


def node_data(view: NodeView) -> JsonObject:
    """Return a node as JSON, with derived fields."""
    return {**view.to_dict(), "states": view.states, "is_up": view.state == UP}


class Fleet:
    """Recent states of nodes, caches and workers. Used on one event loop.

    ``moment`` returns the id of the last event before which none is missing, and the database's time.
    """

    def __init__(self, service: Service, observer: Observer, moment: Callable[[], tuple[int, float]]) -> None:
        self._service, self._observer, self._moment = service, observer, moment
        self._executor = ThreadPoolExecutor(ASKERS, thread_name_prefix="asking")
        self._nodes = self._recent(self._all_nodes)
        self._cache = self._recent(self._caches)
        # These come from the database alone, which answers or fails in time.
        self._workers = self._recent(self._processes, keep_seconds=1.0)
        self._present = self._recent(observer.processes, keep_seconds=1.0)
        self._node: OrderedDict[str, Recent[JsonObject]] = OrderedDict()

    async def nodes(self) -> JsonObject:
        """Return all nodes."""
        return _with_age(await self._nodes.get())

    async def node(self, name: str) -> JsonObject:
        """Return one node, with its report, its instances and its resources.

        Raises:
            NotFound: there is none of that name.
        """
        if name not in self._node:
            self._node[name] = self._recent(lambda: self._one_node(name))
            if len(self._node) > REMEMBERED_NODES:
                self._node.popitem(last=False)
        self._node.move_to_end(name)
        return _with_age(await self._node[name].get())

    async def caches(self) -> JsonObject:
        """Return the constraint caches and the counters of the node state cache."""
        return _with_age(await self._cache.get())

    async def workers(self, celery: Mapping[str, Any]) -> JsonObject:
        """Return the processes with the heartbeats of ``celery``, Celery's workers by name, and stuck resources."""
        answer = await self._workers.get()
        processes, stuck = answer.value
        return {
            **answer.to_dict(),
            "workers": workers_data(processes, heartbeats_of(celery)),
            "counts": Counter(each.state for each in processes),
            "stuck": [each.to_dict() for each in stuck],
        }

    async def standstill(self, stack: str, *, broker_away_since: float | None) -> Standstill | None:
        """Return why nothing works on a stack's operation in progress; None if something does, or that is unknown."""
        try:
            answer = await self._present.get()
        except IsothermError:
            # The page reports by itself that the database does not answer.
            return None
        embedded = self._service.settings.embedded
        return standstill_of(answer.value, stack, embedded=embedded, broker_away_since=broker_away_since)

    def close(self) -> None:
        """Stop querying, without waiting for queries that hang."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _recent(self, question: Callable[[], T], *, keep_seconds: float = KEEP_SECONDS) -> Recent[T]:
        return Recent(question, self._moment, self._executor, keep_seconds=keep_seconds)

    def _all_nodes(self) -> JsonObject:
        views = self._service.nodes.all()
        return {
            "nodes": [node_data(view) for view in views],
            "counts": Counter(view.states for view in views),
        }

    def _one_node(self, name: str) -> JsonObject:
        # Pages show what is of this project; of others, amounts alone.
        project = self._service.settings.project
        details = self._service.nodes.show(name, project=project)
        found, why = self._instances(name, project)
        return {
            **details.to_dict(),
            "project": project,
            "node": node_data(details.node),
            "instances": found.to_dict() if found else None,
            "no_instances": why,
        }

    def _instances(self, name: str, project: str) -> tuple[InstancesView | None, str]:
        """Return the project's instances on a node, or None and the reason why they are unknown."""
        try:
            return self._service.nodes.instances(name, project=project), ""
        except Unavailable as error:
            return None, str(error)

    def _caches(self) -> JsonObject:
        return {
            "caches": [view.to_dict() for view in self._service.cache_stats()],
            "node_states": self._service.nodes.stats().to_dict(),
        }

    def _processes(self) -> tuple[Any, Any]:
        return self._observer.processes(), self._observer.stuck()


def _with_age(answer: Answer[JsonObject]) -> JsonObject:
    return {**answer.to_dict(), **answer.value}
