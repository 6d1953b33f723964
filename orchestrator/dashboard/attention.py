"""Data of the page Attention: findings of the store, of nodes and of caches, each asked by itself.

What needs no database, the broker and the caches, is shown while the database is away.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from orchestrator.config.settings import Settings
from orchestrator.dashboard.plain_errors import plain_sentence
from orchestrator.dashboard.recent import Answer, Recent
from orchestrator.errors import IsothermError
from orchestrator.queries.attention import of_project, stored_attention, with_installation
from orchestrator.queries.findings import broker_finding, database_finding, unknown_finding
from orchestrator.service import Service
from orchestrator.store.retrying import impatient
from orchestrator.store.store import Store
from orchestrator.views.attention import AttentionView, Finding
from orchestrator.views.nodes import NodeView
from orchestrator.views.times import iso

T = TypeVar("T")

#: How long answers are kept, however many pages are open.
KEEP_SECONDS: Final = 4.0
#: How long a query is retried while the database is unreachable.
PATIENCE_SECONDS: Final = 2.0
#: How long the number of findings is shown on other pages after it was found.
SHOWN_SECONDS: Final = 60.0


class Attention:
    """Recent findings. Used on one event loop."""

    def __init__(self, service: Service, store: Store, settings: Settings) -> None:
        self._settings = settings
        self._executor = ThreadPoolExecutor(3, thread_name_prefix="attention")
        moment = _impatient(store.observations.moment)
        self._stored = self._recent(_impatient(lambda: stored_attention(store, settings)), moment)
        self._nodes = self._recent(_impatient(lambda: tuple(service.nodes.all())), moment)
        self._caches = self._recent(lambda: tuple(service.cache_faults()), lambda: (0, time.time()))
        self._total: tuple[int, float] | None = None

    @property
    def total(self) -> int | None:
        """The number of findings when it was last read; None if that is long ago."""
        if self._total is None or time.monotonic() - self._total[1] > SHOWN_SECONDS:
            return None
        return self._total[0]

    async def data(self, *, broker_away_since: float | None, sees_fleet: bool) -> dict[str, Any]:
        """Return the findings as JSON, with their age; ``trouble`` is why those of the database are not newer."""
        stored, nodes, caches = await asyncio.gather(
            _asked(self._stored), _asked(self._nodes), _asked(self._caches)
        )
        view = AttentionView(project=self._settings.project, as_of=time.time())
        age: dict[str, Any] = {"as_of": None, "now": iso(time.time()), "trouble": ""}
        if isinstance(stored, Answer):
            view, age = stored.value, stored.to_dict()
        else:
            age["trouble"] = plain_sentence(stored)
        findings = [
            database_finding(age["trouble"]) if age["trouble"] else None,
            None
            if self._settings.embedded or broker_away_since is None
            else broker_finding(broker_away_since),
            # Without a database nodes are unknown, which is no fault of theirs.
            None if age["trouble"] else _unknown("machine", "nodes", "stacks/nodes", nodes),
            _unknown("cache", "caches", "stacks/cache", caches),
        ]
        known_nodes: tuple[NodeView, ...] = nodes.value if isinstance(nodes, Answer) else ()
        whole = with_installation(
            view, findings, nodes=known_nodes, caches=caches.value if isinstance(caches, Answer) else ()
        )
        self._total = whole.total, time.monotonic()
        shown = whole if sees_fleet else of_project(whole)
        return {**shown.to_dict(), **age}

    def close(self) -> None:
        """Stop querying, without waiting for queries that hang."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _recent(self, question: Callable[[], T], moment: Callable[[], tuple[int, float]]) -> Recent[T]:
        return Recent(question, moment, self._executor, keep_seconds=KEEP_SECONDS)


def _unknown(kind: str, subject: str, page: str, answer: object) -> Finding | None:
    """Return the finding that something cannot be read; None if it can."""
    if not isinstance(answer, IsothermError):
        return None
    return unknown_finding(kind, subject, page, plain_sentence(answer))


async def _asked(recent: Recent[T]) -> Answer[T] | IsothermError:
    try:
        return await recent.get()
    except IsothermError as error:
        return error


def _impatient(question: Callable[[], T]) -> Callable[[], T]:
    def asked() -> T:
        with impatient(PATIENCE_SECONDS):
            return question()

    return asked
