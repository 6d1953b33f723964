"""Ask once whether something exists in an outside system, for all who want to know.

A *yes* is the id that a name stands for, and is kept for a while. A *no* is never kept: what is missing may be made
the next second. One asks for all workers at once: the threads of its process share its answer, also a no, and other
processes find it in the store. Nothing that happens to the store is an error here (:mod:`cache.fail_open`).

What makes an answer one that may be given:

* It was asked for no longer ago than the expiration, counted from before the question. It is not given while another
  asks anew: dogpile's ``get_or_create`` would do that, and would date an answer from its arrival.
* It carries the region's *generation*, a random token that stands beside it in the store and was read before the
  question. A flush is a new generation: what was asked for before is not found after it, whoever stores it when.
* Nobody has learnt a no since (:mod:`cache.claims`).
"""

import os
import random
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote

from dogpile.cache import CacheRegion
from dogpile.cache.api import NO_VALUE, CantDeserializeException

from cache.codec import entry_of, value_in
from cache.counters import Counters, Counts
from cache.fail_open import PAUSE_SECONDS, FailOpen
from cache.flights import Flights
from cache.keys import key_of
from cache.regions import LASTING, MAX_ENTRIES, make_region, masked, stored_key

#: How answers are written: this number, their generation, when they were asked for, the id. Another number is that
#: of another version of this program, whose answers are replaced.
FORMAT = 1
EXPIRATION_SECONDS = 60.0
#: How long a worker that was killed while it asked may hold up the others.
LOCK_SECONDS = 20.0
#: Nobody waits longer for others than so many lives of a lock: the first may be that of a dead worker's.
PATIENCE = 2
#: How often to look whether another worker has its answer: at first, and at last.
NAP_SECONDS = 0.005
LONGEST_NAP_SECONDS = 0.1

#: How to ask the outside system: returns the id, or raises.
Ask = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Description:
    """What a cache is, and how it is."""

    client: str
    backend: str
    #: Where the store is, without what may be a password.
    url: str
    expiration_seconds: float
    max_entries: int
    #: How many answers the store holds; None where it cannot tell.
    entries: int | None
    #: Whether the store answers now.
    reachable: bool


class ConstraintCache:
    """The answers of one outside system; for many threads, and made anew in a process that was forked.

    Args:
        client: The name of the client plug-in that speaks to that system.
        backend: memory, redis, memcached, file, or the name of any dogpile.cache backend.
        url: Where the store is; not used by memory.
        arguments: What else the backend is told.
        expiration_seconds: How old an answer may be.
        max_entries: The oldest answers go when there are more; memcached, and dogpile's own, have limits of their own.
        lock_seconds: How long the others wait for a worker that was killed while it asked. An answer that takes longer
            is given but not kept, and asked for by others meanwhile.
        pause_seconds: How long a store is left alone after it failed.
        clock: Seconds since the epoch.

    Raises:
        CacheMisconfigured: no cache can be made of that; the sentence says why.
    """

    def __init__(
        self,
        client: str,
        *,
        backend: str = "memory",
        url: str = "",
        arguments: dict[str, Any] | None = None,
        expiration_seconds: float = EXPIRATION_SECONDS,
        max_entries: int = MAX_ENTRIES,
        lock_seconds: float = LOCK_SECONDS,
        pause_seconds: float = PAUSE_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.client = client
        self.backend = backend
        self._url, self._arguments = url, arguments
        self._expiration_seconds, self._max_entries = expiration_seconds, max_entries
        self._lock_seconds, self._pause_seconds = lock_seconds, pause_seconds
        self._clock = clock
        self._process = self._begin_process()

    def get(self, entity: str, name: str, scope: Sequence[str], ask: Ask) -> str:
        """Return the id of what ``name`` stands for, asking only if nobody did so lately.

        Args:
            entity: What kind of thing is looked up.
            name: Its name or id.
            scope: Whatever else the answer depends on: the project first, then endpoint, region, user.
            ask: Asks the outside system; called at most once, in this thread.

        Raises:
            Exception: what ``ask`` raised, here or in another thread that asked the same just then.
        """
        here, key = self._here(), self._key(entity, name, scope)
        found = self._look(here, key)
        if found.answer is not None:
            here.counters.add("hits")
            return found.answer
        question = _Question(ask)
        try:
            return here.flights.join(
                # After a flush nobody shares what was asked for before it.
                (here.flushes, found.generation, key),
                lambda: self._ask_for_all(here, key, question),
                # Whoever leads may wait for others and then ask.
                (PATIENCE + 1) * self._lock_seconds,
            )
        finally:
            here.counters.add("misses" if question.asked else "hits")

    def refresh(self, entity: str, name: str, scope: Sequence[str], ask: Ask) -> str:
        """Ask whatever is known, waiting for nobody, and let all others know.

        Raises:
            Exception: what ``ask`` raised; nothing is known any more then.
        """
        here, key = self._here(), self._key(entity, name, scope)
        token = _new_token()
        claimed = here.store.claim(here.stored(key), token, self._lock_seconds)
        answer = self._ask(here, key, ask, token if claimed else None, self._look(here, key).generation)
        if not claimed and self._look(here, key).answer not in (None, answer):
            # Whoever has the claim asked earlier.
            here.store.forget(here.stored(key))
        return answer

    def forget(self, entity: str, name: str, scope: Sequence[str]) -> None:
        """Let nobody find what stood for ``name`` any more: whoever changed the outside system knows better."""
        here = self._here()
        here.store.forget(here.stored(self._key(entity, name, scope)))

    def flush(self) -> bool:
        """Forget all answers of this system, for every process that uses the same store.

        Returns:
            Whether the store did so; False if it failed.
        """
        here = self._here()
        here.flushes += 1
        return here.store.renew(here.stored(LASTING), entry_of(_new_token()))

    @property
    def counters(self) -> Counts:
        """What this process has counted since the last :meth:`take`."""
        return self._here().counters.now()

    def take(self) -> Counts:
        """Return what this process has counted since the last call."""
        return self._here().counters.take()

    def describe(self) -> Description:
        """Return what this cache is, and how it is; asks the store."""
        store = self._here().store
        reachable = store.answers(self._here().stored(LASTING))
        return Description(
            client=self.client,
            backend=self.backend,
            url=masked(self._url),
            expiration_seconds=self._expiration_seconds,
            max_entries=self._max_entries,
            entries=store.count() if reachable else None,
            reachable=reachable,
        )

    def _here(self) -> "_Process":
        """Return what belongs to this process: after a fork no connection, lock or count of its parent's is used."""
        if self._process.pid != os.getpid():
            self._process = self._begin_process()
        return self._process

    def _begin_process(self) -> "_Process":
        counters = Counters()
        name = f"constraints:{quote(self.client, safe='')}"
        region = make_region(
            self.backend,
            self._url,
            name=name,
            expiration_seconds=self._expiration_seconds,
            max_entries=self._max_entries,
            arguments=self._arguments,
            pause_seconds=self._pause_seconds,
            count=counters.add,
        )
        return _Process(region_name=name, region=region, counters=counters)

    def _key(self, entity: str, name: str, scope: Sequence[str]) -> str:
        return key_of([self.client, entity, name, *scope])

    def _look(self, here: "_Process", key: str) -> "_Found":
        """Return what the store knows, in one step."""
        lasting, value = here.region.get_multi(  # type: ignore[no-untyped-call]  # dogpile's own
            [LASTING, key], ignore_expiration=True
        )
        generation = lasting if isinstance(lasting, bytes) else None
        if value is NO_VALUE:
            return _Found(None, generation)
        match value:
            case [int(written), bytes(of), float(asked_at), str(answer)] if written == FORMAT:
                # What comes from a clock that is too far ahead is not taken either, nor what is no time at all.
                if of == generation and abs(self._clock() - asked_at) <= self._expiration_seconds:
                    return _Found(answer, generation)
            case _:
                here.store.say_garbage("an answer of another version of this program, or of another program")
        return _Found(None, generation)

    def _generation(self, here: "_Process") -> bytes | None:
        """Return the region's generation, beginning one where there is none; None if the store cannot tell."""
        mine = _new_token()
        there = here.store.begin(here.stored(LASTING), entry_of(mine))
        if there is None:
            return None
        with suppress(CantDeserializeException):
            generation = value_in(there)
            if isinstance(generation, bytes):
                return generation
        here.store.say_garbage("a generation that nobody here wrote")
        return mine if here.store.renew(here.stored(LASTING), entry_of(mine)) else None

    def _ask_for_all(self, here: "_Process", key: str, question: "_Question") -> str:
        """Ask for all processes, or wait for one that does so already."""
        token = _new_token()
        deadline = time.monotonic() + PATIENCE * self._lock_seconds
        nap_seconds = NAP_SECONDS
        while (claimed := here.store.claim(here.stored(key), token, self._lock_seconds)) is False:
            if time.monotonic() > deadline:
                break
            time.sleep(nap_seconds * random.uniform(0.5, 1.5))
            nap_seconds = min(2 * nap_seconds, LONGEST_NAP_SECONDS)
            found = self._look(here, key)
            if found.answer is not None:
                return found.answer
        if not claimed:
            return self._ask(here, key, question, None, None)
        found = self._look(here, key)
        if found.answer is not None:
            here.store.release(here.stored(key), token)
            return found.answer
        return self._ask(here, key, question, token, found.generation)

    def _ask(
        self, here: "_Process", key: str, ask: Ask, token: bytes | None, generation: bytes | None
    ) -> str:
        """Ask, and keep a yes if ``token`` has the claim."""
        if token is not None and generation is None:
            generation = self._generation(here)
        asked_at = float(self._clock())
        try:
            answer = ask()
        except Exception:
            here.counters.add("refused")
            here.store.forget(here.stored(key))
            raise
        except BaseException:
            if token is not None:
                here.store.release(here.stored(key), token)
            raise
        here.counters.add("generated")
        if token is not None and generation is not None and isinstance(answer, str):
            here.store.keep(here.stored(key), entry_of([FORMAT, generation, asked_at, answer]), token)
        elif token is not None:
            here.store.release(here.stored(key), token)
        return answer


class _Found(NamedTuple):
    answer: str | None
    generation: bytes | None


@dataclass(slots=True)
class _Question:
    """Remembers whether it was asked."""

    ask: Ask
    asked: bool = False

    def __call__(self) -> str:
        self.asked = True
        return self.ask()


@dataclass(slots=True)
class _Process:
    """What belongs to one process."""

    region_name: str
    region: CacheRegion
    counters: Counters
    pid: int = field(default_factory=os.getpid)
    flights: Flights = field(default_factory=Flights)
    #: How often this process has flushed the region.
    flushes: int = 0

    @property
    def store(self) -> FailOpen:
        store: FailOpen = self.region.backend
        return store

    def stored(self, key: str) -> str:
        """Return what a key is called in the store."""
        return stored_key(self.region_name, key)


def _new_token() -> bytes:
    return secrets.token_bytes(16)
