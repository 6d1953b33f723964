"""The answers of one outside system in a store: how they are written, and which may be given.

An answer may be given if it was asked for no longer ago than the expiration, and if it carries the region's
*generation*: a random token that stands beside the answers and was read before the question. A flush is a new
generation: what was asked for before is not found after it, whoever stores it when.
"""

import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import quote

from dogpile.cache.api import NO_VALUE, CantDeserializeException

from cache.codec import entry_of, value_in
from cache.fail_open import FailOpen
from cache.keys import key_of
from cache.regions import LASTING, make_region, stored_key

#: How answers are written: this number, their generation, when they were asked for, the id. Another number is that
#: of another version of this program, whose answers are replaced.
FORMAT = 1


class Found(NamedTuple):
    """What a store knows."""

    #: None if it may not be given, or there is none.
    answer: str | None
    #: That of the region now; None if the store cannot tell.
    generation: bytes | None


class Answers:
    """One region, as one process sees it; whatever happens to the store, nothing is raised (:mod:`cache.fail_open`).

    Args:
        client: The name of the client plug-in that asks.
        backend: See :func:`cache.regions.make_region`, as for ``url``, ``arguments``, ``max_entries``,
            ``pause_seconds`` and ``count``.
        expiration_seconds: How old an answer may be.
        lock_seconds: How long a claim lives.
        clock: Seconds since the epoch.

    Raises:
        CacheMisconfigured: no region can be made of that.
    """

    def __init__(
        self,
        client: str,
        *,
        backend: str,
        url: str,
        arguments: Mapping[str, Any] | None,
        expiration_seconds: float,
        max_entries: int,
        lock_seconds: float,
        pause_seconds: float,
        clock: Callable[[], float],
        count: Callable[[str], None],
    ) -> None:
        # memcached takes 250 characters, of which this may have half.
        short = quote(client, safe="")
        self._name = f"constraints:{short if len(short) <= 100 else key_of([client])}"
        self._expiration_seconds, self._lock_seconds = expiration_seconds, lock_seconds
        self._clock = clock
        self.region = make_region(
            backend,
            url,
            name=self._name,
            expiration_seconds=expiration_seconds,
            max_entries=max_entries,
            arguments=arguments,
            pause_seconds=pause_seconds,
            count=count,
        )
        self.store: FailOpen = self.region.backend

    def stored_key(self, key: str) -> str:
        """Return what a key is called in the store."""
        return stored_key(self._name, key)

    def look(self, key: str) -> Found:
        """Return what is known, in one step; a region without a generation gets one."""
        lasting, value = self.region.get_multi(  # type: ignore[no-untyped-call]  # dogpile's own
            [LASTING, key], ignore_expiration=True
        )
        generation = lasting if isinstance(lasting, bytes) else self._begin()
        if value is NO_VALUE:
            return Found(None, generation)
        match value:
            case [int(written), bytes(of), float(asked_at), str(answer)] if written == FORMAT:
                # What comes from a clock that is too far ahead is not taken either, nor what is no time at all.
                if of == generation and abs(self._clock() - asked_at) <= self._expiration_seconds:
                    return Found(answer, generation)
            case _:
                self.store.say_garbage("an answer of another version of this program, or of another program")
        return Found(None, generation)

    def renew(self) -> bool:
        """Begin a new generation; False if the store cannot."""
        return self.store.renew(self.stored_key(LASTING), entry_of(new_token()))

    def claim(self, key: str, token: bytes) -> bool | None:
        """Mark that ``token`` asks now; False while another does, None if the store cannot tell."""
        return self.store.claim(self.stored_key(key), token, self._lock_seconds)

    def keep(self, key: str, token: bytes, generation: bytes, asked_at: float, answer: str) -> None:
        """Keep an answer if the claim is still ``token``'s; it is over then."""
        entry = entry_of([FORMAT, generation, asked_at, answer])
        self.store.keep(self.stored_key(key), entry, token)

    def release(self, key: str, token: bytes) -> None:
        """End the claim."""
        self.store.release(self.stored_key(key), token)

    def forget(self, key: str, token: bytes) -> None:
        """Remove the answer, and the claim whosever it is."""
        self.store.forget(self.stored_key(key), token)

    def answers(self) -> bool:
        """Return whether the store answers now."""
        return self.store.answers(self.stored_key(LASTING))

    def count(self) -> int | None:
        """Return how many answers there are; None if the store cannot tell."""
        return self.store.count()

    def _begin(self) -> bytes | None:
        """Return the generation that the region has by now; None if the store cannot tell."""
        mine = new_token()
        there = self.store.begin(self.stored_key(LASTING), entry_of(mine))
        if there is None:
            return None
        with suppress(CantDeserializeException):
            generation = value_in(there)
            if isinstance(generation, bytes):
                return generation
        self.store.say_garbage("a generation that nobody here wrote")
        return mine if self.store.renew(self.stored_key(LASTING), entry_of(mine)) else None


def new_token() -> bytes:
    """Return bytes that nobody else has."""
    return secrets.token_bytes(16)
