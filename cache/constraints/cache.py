"""Ask once whether something exists in an outside system, for all who want to know.

A *yes* is the id that a name stands for, and is kept for a while. A *no* is never kept: what is missing may be made
the next second; it also ends an earlier yes, and one that somebody asked for before and has not stored yet
(:mod:`cache.stores.fill_locks`). One asks for all workers at once: the threads of its process share its answer, also
a no (:mod:`cache.stores.single_flight`), and other processes find it in the store. Nothing that happens to the
store is an error here.

dogpile's own ``get_or_create`` is not used: it gives an old answer while another asks anew, dates an answer by its
arrival, which lets it survive a flush that came before that, and waits for a lock for ever.
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
        client: The name of the client plugin that speaks to that system.
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
        before = here.flights.under_way(key)
        # None as long as it has not been asked.
        token = before.token if before else None
        found = here.answers.look(key)
        if found.answer is not None:
            here.counters.add("hits")
            return found.answer

        def fits(flight: Flight[bytes | None, str]) -> bool:
            # What was asked for before this began is of use as long as nobody has flushed or learnt a no since, in
            # whatever process: its claim stands.
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
        here, key, token = self._here(), self._key(entity, name, scope), new_token()
        claimed = bool(here.answers.claim(key, token))
        answer = self._ask(here, key, ask, token, here.answers.look(key).generation, claimed=claimed)
        if not claimed and here.answers.look(key).answer not in (None, answer):
            # Whoever has the claim asked earlier, and so did who kept this.
            here.answers.forget(key, token)
        here.flights.leave(key)
        return answer

    def forget(self, entity: str, name: str, scope: Sequence[str]) -> None:
        """Let nobody find what stood for ``name`` any more: whoever changed the outside system knows better.

        What somebody is asking for just now is not kept either.
        """
        here, key = self._here(), self._key(entity, name, scope)
        here.answers.forget(key, new_token())
        here.flights.leave(key)

    def flush(self) -> bool:
        """Forget all answers of this system, for every process that uses the same store.

        Returns:
            Whether the store did so; False if it failed.
        """
        here = self._here()
        done = here.answers.renew()
        # Also if the store fails: of this process nobody joins what is under way.
        here.flights.leave_all()
        return done

    @property
    def counters(self) -> Counts:
        """What this process has counted since the last :meth:`take`."""
        return self._here().counters.now()

    def take(self) -> Counts:
        """Return what this process has counted since the last call."""
        return self._here().counters.take()

    def describe(self) -> Description:
        """Return what this cache is, and how it is; asks the store."""
        answers = self._here().answers
        reachable = answers.answers()
        return Description(
            client=self.client,
            backend=self.backend,
            # Memory is nowhere, whatever the settings say.
            url="" if self.backend == "memory" else masked(self._url),
            expiration_seconds=self.expiration_seconds,
            max_entries=self._max_entries,
            entries=answers.count() if reachable else None,
            reachable=reachable,
        )

    def _here(self) -> "_Process":
        """Return what belongs to this process: after a fork no connection, lock or count of its parent's is used."""
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
        """Ask for all processes, or wait for one that does so already."""
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
        # Another may have kept its answer since this was looked for, or flushed the region.
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
        """Ask; keep a yes if ``claimed``."""
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
    """Remembers whether it was asked."""

    ask: Ask
    asked: bool = False

    def __call__(self) -> str:
        self.asked = True
        return self.ask()


@dataclass(frozen=True, slots=True)
class _Process:
    """What belongs to one process."""

    answers: Answers
    counters: Counters
    flights: Flights[bytes | None, str] = field(default_factory=Flights)
    pid: int = field(default_factory=os.getpid)
