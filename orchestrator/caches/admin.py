"""Administration of the constraint caches of all processes: statistics and flushes.

Shared stores are read and emptied directly. The memory of other processes is out of reach: a flush is recorded in the
database, which every process with cached answers reads about once a second (:mod:`orchestrator.caches.process`).
"""

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from cache.constraints.cache import ConstraintCache
from cache.constraints.counters import Counts
from hooks.values.nearest import did_you_mean
from orchestrator.caches.process import COMMON_STORES
from orchestrator.errors import InvalidInput, NotFound
from orchestrator.store.installation.cache_counters import CacheCounters, CacheFlushes, CacheTotals
from orchestrator.views.caches import CacheView, FlushView

#: Stores that are a process's own memory.
PROCESS_STORES: Final = frozenset({"memory", "dogpile.cache.memory", "dogpile.cache.memory_pickle"})
#: How many stores are queried in parallel: one that is down takes until its timeout.
_AT_ONCE: Final = 16


class CacheAdmin:
    """The constraint caches of an installation, by client plugin.

    ``make`` makes the cache of a client from the settings, None if it is disabled; or raises InvalidInput. ``named``
    are the clients that the settings name.
    """

    def __init__(
        self,
        make: Callable[[str], ConstraintCache | None],
        clients: Collection[str],
        named: Collection[str],
        counters: CacheCounters,
        flushes: CacheFlushes,
    ) -> None:
        self._make = make
        #: The installed client plugins.
        self.clients = tuple(clients)
        self._named = named
        self._counters, self._flushes = counters, flushes

    def stats(self, client: str | None = None, *, reset: bool = False) -> list[CacheView]:
        """Return the state and the totals of each cache, or of one client's.

        With ``reset``, the totals are set to zero afterwards.

        Raises:
            NotFound: there is no such client; the message names the nearest.
            Unavailable: the database does not answer.
        """
        totals = self._counters.read()
        names = self._names(client, {*self._named, *totals})
        if reset:
            totals = self._counters.reset(client)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(lambda name: self._view(name, totals.get(name)), names))

    def faults(self) -> list[CacheView]:
        """Return the caches that cannot be used: unreachable, or with wrong settings. It needs no database."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            views = pool.map(lambda name: self._view(name, None), self._names(None, self._named))
            return [view for view in views if view.state not in ("ok", "disabled")]

    def flush(self, client: str | None = None) -> list[FlushView]:
        """Flush all caches, or that of one client; return the result of each.

        Raises:
            NotFound: there is no such client; the message names the nearest.
            Unavailable: the database does not answer; nothing was flushed.
        """
        names = self._names(client)
        caches: dict[str, ConstraintCache | FlushView] = {name: self._made(name) for name in names}
        # Before the stores are emptied: a process that flushes early loses nothing by it.
        self._flushes.note(
            [
                name
                for name, cache in caches.items()
                if not isinstance(cache, FlushView) and cache.backend not in COMMON_STORES
            ]
        )
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(lambda name: _flushed(name, caches[name]), names))

    def _names(self, client: str | None, others: Collection[str] = ()) -> list[str]:
        names = sorted({*self.clients, *others})
        if client is None:
            return names
        if client not in names:
            raise NotFound(f"there is no client plugin {client!r} here{did_you_mean(client, names)}")
        return [client]

    def _made(self, client: str) -> ConstraintCache | FlushView:
        try:
            cache = self._make(client)
        except InvalidInput as error:
            return FlushView(client=client, state="wrong", detail=str(error))
        if cache is None:
            return FlushView(client=client, state="disabled", detail="nothing is remembered of this client")
        return cache

    def _view(self, client: str, totals: CacheTotals | None) -> CacheView:
        counters = totals.counts if totals else Counts()
        since = totals.since if totals else None
        if client not in self.clients:
            detail = "there is no such client plugin here" + did_you_mean(client, self.clients)
            return CacheView(client=client, state="unknown", detail=detail, since=since, counters=counters)
        cache = self._made(client)
        if isinstance(cache, FlushView):
            return CacheView(
                client=client, state=cache.state, detail=cache.detail, since=since, counters=counters
            )
        described = cache.describe()
        own = described.backend in PROCESS_STORES
        return CacheView(
            client=client,
            state="ok" if described.reachable else "unreachable",
            backend=described.backend,
            url=described.url,
            detail=_sharers(described.backend),
            expiration_seconds=described.expiration_seconds,
            max_entries=described.max_entries,
            # The entries of this process mean nothing for the others.
            entries=None if own else described.entries,
            since=since,
            counters=counters,
        )


def _sharers(backend: str) -> str:
    if backend in PROCESS_STORES:
        return "each process has its own"
    if backend in COMMON_STORES:
        return "all processes share it"
    return "shared by those that reach the same store"


def _flushed(client: str, cache: ConstraintCache | FlushView) -> FlushView:
    if isinstance(cache, FlushView):
        return cache
    if cache.backend in PROCESS_STORES:
        detail = "each process has its own, and empties it within seconds"
        return FlushView(client=client, state="ordered", detail=detail)
    if not cache.flush():
        detail = "the store does not answer: what it holds may come back with it, until it expires"
        return FlushView(client=client, state="unreachable", detail=detail)
    if cache.backend in COMMON_STORES:
        return FlushView(client=client, state="flushed", detail="for all processes")
    detail = "here; processes elsewhere empty theirs within seconds"
    return FlushView(client=client, state="flushed", detail=detail)
