"""The answers of one outside system in a store: how they are written, and which may be given.

An answer may be given if it was asked for no longer ago than the expiration, and if it carries the region's
*generation*: a random token that stands beside the answers and was read before the question. A flush is a new
generation: what was asked for before is not found after it, whoever stores it when. All that decides is read in one
step, from what dogpile.cache made of the settings.
"""

import secrets
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from dogpile.cache.api import CantDeserializeException

from cache.stores.codec import entry_of, value_in
from cache.stores.fail_open import FailOpen
from cache.stores.keys import key_of
from cache.stores.regions import LASTING, make_region, stored_key

#: How answers are written: this number, their generation, when they were asked for, the id. Another number is that
#: of another version of this program, whose answers are replaced.
FORMAT = 1


class Found(NamedTuple):
    """What a store knows."""

    #: None if it may not be given, or there is none.
    answer: str | None
    #: That of the region now; None if the store cannot tell.
    generation: bytes | None
    #: The token of who asks now; None if nobody does, or the store cannot tell.
    holder: bytes | None


class Answers:
    """One region, as one process sees it. A failing store raises nothing here (:mod:`cache.stores.fail_open`).

    Args:
        client: The name of the client plugin that asks.
        backend: See :func:`cache.stores.regions.make_region`, as for ``url``, ``arguments``, ``max_entries``,
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
        count: Callable[[str, int], None],
    ) -> None:
        # memcached takes 250 characters, of which this may have half.
        short = quote(client, safe="")
        self._name = f"constraints:{short if len(short) <= 100 else key_of([client])}"
        self._lasting_key = stored_key(self._name, LASTING)
        self._expiration_seconds, self._lock_seconds = expiration_seconds, lock_seconds
        self._clock = clock
        region = make_region(
            backend,
            url,
            name=self._name,
            expiration_seconds=expiration_seconds,
            max_entries=max_entries,
            arguments=arguments,
            pause_seconds=pause_seconds,
            count=count,
        )
        self.store: FailOpen = region.backend

    def look(self, key: str) -> Found:
        """Return what is known, in one step; a region without a generation gets one."""
        seen = self.store.look(self._lasting_key, self._stored_key(key))
        generation = self._generation_in(seen.lasting) or self._begin()
        answer = None if seen.entry is None else self._answer_in(seen.entry, generation)
        return Found(answer, generation, seen.holder)

    def renew(self) -> bool:
        """Begin a new generation; False if the store cannot."""
        return self.store.renew(self._lasting_key, entry_of(new_token()))

    def claim(self, key: str, token: bytes) -> bool | None:
        """Mark that ``token`` asks now; False while another does, None if the store cannot tell."""
        return self.store.claim(self._stored_key(key), token, self._lock_seconds)

    def keep(self, key: str, token: bytes, generation: bytes, asked_at: float, answer: str) -> None:
        """Keep an answer if the claim is still ``token``'s; it is over then."""
        entry = entry_of([FORMAT, generation, asked_at, answer])
        self.store.keep(self._stored_key(key), entry, token)

    def release(self, key: str, token: bytes) -> None:
        """End the claim."""
        self.store.release(self._stored_key(key), token)

    def forget(self, key: str, token: bytes) -> None:
        """Remove the answer, and the claim whosever it is."""
        self.store.forget(self._stored_key(key), token)

    def answers(self) -> bool:
        """Return whether the store answers now."""
        return self.store.answers(self._lasting_key)

    def count(self) -> int | None:
        """Return how many answers there are; None if the store cannot tell."""
        return self.store.count()

    def _stored_key(self, key: str) -> str:
        return stored_key(self._name, key)

    def _begin(self) -> bytes | None:
        """Return the generation that the region has by now; None if the store cannot tell."""
        mine = new_token()
        there = self.store.begin(self._lasting_key, entry_of(mine))
        if there is None:
            return None
        generation = self._generation_in(there)
        if generation is None:
            # It is not ours, and stays until it is replaced.
            return mine if self.store.renew(self._lasting_key, entry_of(mine)) else None
        return generation

    def _generation_in(self, entry: bytes | None) -> bytes | None:
        if entry is None:
            return None
        value = self._value_in(entry)
        if isinstance(value, bytes):
            return value
        self._say_garbage(value)
        return None

    def _answer_in(self, entry: bytes, generation: bytes | None) -> str | None:
        match self._value_in(entry):
            case [int(written), bytes(of), float(asked_at), str(answer)] if written == FORMAT:
                # What comes from a clock that is too far ahead is not taken either, nor what is no time at all.
                if of == generation and abs(self._clock() - asked_at) <= self._expiration_seconds:
                    return answer
            case other:
                self._say_garbage(other)
        return None

    def _value_in(self, entry: bytes) -> Any:
        """Return the value in an entry, or why there is none."""
        try:
            return value_in(entry)
        except CantDeserializeException as error:
            return error

    def _say_garbage(self, value: object) -> None:
        """Say that a value is none of ours."""
        known = isinstance(value, CantDeserializeException)
        self.store.say_garbage(
            str(value) if known else "a value of another version of this program, or of another"
        )


def new_token() -> bytes:
    """Return bytes that nobody else has."""
    return secrets.token_bytes(16)
