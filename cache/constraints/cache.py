"""The constraint cache: whether something exists in an external system, one look-up for all callers.

A *yes* is the id that a name stands for, and is kept for a while. A *no* is never kept: what is missing may be made
the next second. A no also removes an earlier yes, and prevents the storing of one whose question began before it
(:mod:`cache.stores.fill_locks`). One thread looks up for all workers: the threads of its process share its answer,
a no included (:mod:`cache.stores.single_flight`), and other processes find it in the store. A failure of the store
is never an error here.

dogpile's own ``get_or_create`` is not used: it serves an expired answer while another caller refreshes it, dates an
answer by its arrival, so that it survives a flush that came before, and waits for a lock without end.
"""

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cache.constraints.answers import Answers, new_token
from cache.constraints.counters import Counters, Counts
from cache.stores.fail_open import PAUSE_SECONDS
from cache.stores.keys import key_of
from cache.stores.regions import MAX_ENTRIES, masked
from cache.stores.single_flight import Flight, Flights

EXPIRATION_SECONDS = 60.0
#: How long a worker that was killed during a look-up may hold up the others.
LOCK_SECONDS = 20.0
#: The longest wait for another worker, in lives of a lock: the first lock may be a dead worker's.
PATIENCE = 2
#: The pause between two looks for another worker's answer: at first, and at most.
NAP_SECONDS = 0.005
LONGEST_NAP_SECONDS = 0.1

#: Looks up in the external system: returns the id, or raises.
Ask = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Description:
    """The configuration and the present state of a cache."""

    client: str
    backend: str
    #: Where the store is, with passwords masked.
    url: str
    expiration_seconds: float
    max_entries: int
    #: How many answers the store holds; None where it cannot count them.
    entries: int | None
    #: Whether the store can be reached now.
    reachable: bool


class ConstraintCache:
    """The cached answers of one external system; thread-safe, and set up anew in a forked process.

    Args:
        client: The name of the client plugin that calls the system.
        backend: memory, redis, memcached, file, or the name of any dogpile.cache backend.
        url: Where the store is; not used by memory.
        arguments: Further arguments of the backend.
        expiration_seconds: How old an answer may be.
        max_entries: The oldest answers are evicted beyond it; memcached and dogpile's own backends have other limits.
        lock_seconds: How long the others wait for a worker that was killed during a look-up. An answer that takes
            longer is returned but not stored, and others look it up meanwhile.
        pause_seconds: How long a store is left out after a failure.
        clock: Seconds since the epoch.

    Raises:
        CacheMisconfigured: no cache can be made from these settings.
    """

    def __init__(
        self,
        client: str,
        *,
        backend: str = "memory",
        url: str = "",
        arguments: Mapping[str, Any] | None = None,
        expiration_seconds: float = EXPIRATION_SECONDS,
        max_entries: int = MAX_ENTRIES,
        lock_seconds: float = LOCK_SECONDS,
        pause_seconds: float = PAUSE_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.client = client
        self.backend = backend
        self._url, self._arguments = url, arguments
        self.expiration_seconds, self._max_entries = expiration_seconds, max_entries
        self._lock_seconds, self._pause_seconds = lock_seconds, pause_seconds
        self._clock = clock
        self._process = self._begin_process()

    def get(self, entity: str, name: str, scope: Sequence[str], ask: Ask) -> str:
        """Return the id of what ``name`` stands for: the cached one, or else that of a look-up now.

        Args:
            entity: What kind of thing is looked up.
            name: Its name or id.
            scope: All else that the answer depends on: the project first, then endpoint, region, user.
            ask: Looks up in the external system; called at most once, in this thread.

        Raises:
            Exception: what ``ask`` raised, here or in another thread with the same look-up under way.
        """
        here, key = self._here(), self._key(entity, name, scope)
        before = here.flights.under_way(key)
        # None until it was read.
        token = before.token if before else None
        found = here.answers.look(key)
        if found.answer is not None:
            here.counters.add("hits")
            return found.answer

        def fits(flight: Flight[bytes | None, str]) -> bool:
            # The answer to an earlier question will do unless a flush or a no came since, in any process: its fill
            # lock is still held.
            of_old = flight is before and token is not None
            return flight.generation == found.generation and (not of_old or token == found.holder)

        question = _Question(ask)
        mine: Flight[bytes | None, str] = Flight(found.generation)
        try:
            return here.flights.join(
                key,
                mine,
                fits,
                lambda: self._ask_for_all(here, key, question, mine),
                # A leader may first wait for other processes.
                (PATIENCE + 1) * self._lock_seconds,
            )
        finally:
            here.counters.add("misses" if question.asked else "hits")

    def refresh(self, entity: str, name: str, scope: Sequence[str], ask: Ask) -> str:
        """Look up now whatever is cached, without waiting for others, and store the answer for all.

        Raises:
            Exception: what ``ask`` raised; nothing is cached any more then.
        """
        here, key, token = self._here(), self._key(entity, name, scope), new_token()
        claimed = bool(here.answers.claim(key, token))
        answer = self._ask(here, key, ask, token, here.answers.look(key).generation, claimed=claimed)
        if not claimed and here.answers.look(key).answer not in (None, answer):
            # The look-ups of the fill lock's holder, and of the writer of the stored answer, began earlier.
            here.answers.forget(key, token)
        here.flights.leave(key)
        return answer

    def forget(self, entity: str, name: str, scope: Sequence[str]) -> None:
        """Remove the cached answer for ``name``, for a caller that has changed the external system.

        Look-ups under way are not stored either.
        """
        here, key = self._here(), self._key(entity, name, scope)
        here.answers.forget(key, new_token())
        here.flights.leave(key)

    def flush(self) -> bool:
        """Invalidate all answers of this system, for every process that uses the same store.

        Returns:
            Whether the store did it; False if it failed.
        """
        here = self._here()
        done = here.answers.renew()
        # Even if the store fails, no thread of this process joins an earlier look-up.
        here.flights.leave_all()
        return done

    @property
    def counters(self) -> Counts:
        """This process's counters since the last :meth:`take`."""
        return self._here().counters.now()

    def take(self) -> Counts:
        """Return this process's counters since the last call, and reset them."""
        return self._here().counters.take()

    def describe(self) -> Description:
        """Return the configuration and the present state of this cache; queries the store."""
        answers = self._here().answers
        reachable = answers.answers()
        return Description(
            client=self.client,
            backend=self.backend,
            # Memory has no address, whatever the settings name.
            url="" if self.backend == "memory" else masked(self._url),
            expiration_seconds=self.expiration_seconds,
            max_entries=self._max_entries,
            entries=answers.count() if reachable else None,
            reachable=reachable,
        )

    def _here(self) -> "_Process":
        """Return the state of this process: after a fork, no connection, lock or counter of the parent is used."""
        if self._process.pid != os.getpid():
            self._process = self._begin_process()
        return self._process

    def _begin_process(self) -> "_Process":
        counters = Counters()
        answers = Answers(
            self.client,
            backend=self.backend,
            url=self._url,
            arguments=self._arguments,
            expiration_seconds=self.expiration_seconds,
            max_entries=self._max_entries,
            lock_seconds=self._lock_seconds,
            pause_seconds=self._pause_seconds,
            clock=self._clock,
            count=counters.add,
        )
        return _Process(answers, counters)

    def _key(self, entity: str, name: str, scope: Sequence[str]) -> str:
        return key_of([self.client, entity, name, *scope])

    def _ask_for_all(
        self, here: "_Process", key: str, question: "_Question", flight: Flight[bytes | None, str]
    ) -> str:
        """Look up for all processes, or wait for one that does so already."""
        token = new_token()
        deadline = time.monotonic() + PATIENCE * self._lock_seconds
        nap_seconds = NAP_SECONDS
        while (claimed := here.answers.claim(key, token)) is False and time.monotonic() < deadline:
            time.sleep(nap_seconds * random.uniform(0.5, 1.5))
            nap_seconds = min(2 * nap_seconds, LONGEST_NAP_SECONDS)
            found = here.answers.look(key)
            if found.answer is not None:
                return found.answer
        if not claimed:
            return self._ask(here, key, question, token, None, claimed=False)
        flight.token = token
        # Another process may have stored its answer meanwhile, or flushed the region.
        found = here.answers.look(key)
        if found.answer is not None:
            here.answers.release(key, token)
            return found.answer
        return self._ask(here, key, question, token, found.generation, claimed=True)

    def _ask(
        self,
        here: "_Process",
        key: str,
        ask: Ask,
        token: bytes,
        generation: bytes | None,
        *,
        claimed: bool,
    ) -> str:
        """Look up; store a yes if the fill lock is ``claimed``."""
        asked_at = float(self._clock())
        try:
            answer = ask()
        except Exception:
            here.counters.add("refused")
            here.answers.forget(key, token)
            here.flights.leave(key)
            raise
        except BaseException:
            if claimed:
                here.answers.release(key, token)
            raise
        here.counters.add("generated")
        if claimed:
            if generation is not None and isinstance(answer, str):
                here.answers.keep(key, token, generation, asked_at, answer)
            else:
                here.answers.release(key, token)
        return answer


@dataclass(slots=True)
class _Question:
    """A look-up that remembers whether it was called."""

    ask: Ask
    asked: bool = False

    def __call__(self) -> str:
        self.asked = True
        return self.ask()


@dataclass(frozen=True, slots=True)
class _Process:
    """The state that belongs to one process."""

    answers: Answers
    counters: Counters
    flights: Flights[bytes | None, str] = field(default_factory=Flights)
    pid: int = field(default_factory=os.getpid)
