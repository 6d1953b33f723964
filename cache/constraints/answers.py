"""Cached answers of one external system: how they are stored, and which of them may be served.

An answer may be served if its look-up began no longer ago than the expiration, and if it carries the region's
*generation*: a random token that is stored beside the answers and read before the question. A flush replaces the
generation, so that no answer to an earlier question is found afterwards, whenever it is stored. All that decides is
read in one step. dogpile.cache's settings give the expiration.
"""

import secrets
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from dogpile.cache.api import CantDeserializeException

from cache.stores.codec import entry_of, value_in
from cache.stores.keys import key_of
from cache.stores.regions import LASTING, make_region, stored_key

#: The format of a stored answer: this version, its generation, the time of the look-up, the id. Answers of another
#: version of this program are replaced.
FORMAT = 1


class Found(NamedTuple):
    """What the store holds for one key."""

    #: None if it may not be served, or there is none.
    answer: str | None
    #: The region's current generation; None if the store cannot be read.
    generation: bytes | None
    #: The token of the current holder of the fill lock; None if it is free, or the store cannot be read.
    holder: bytes | None


class Answers:
    """One region, as one process sees it. A failing store raises nothing here (:mod:`cache.stores.fail_open`).

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
        self.store = make_region(
            backend,
            url,
            name=self._name,
            expiration_seconds=expiration_seconds,
            max_entries=max_entries,
            arguments=arguments,
            pause_seconds=pause_seconds,
            count=count,
        )

    def look(self, key: str) -> Found:
        """Return what the store holds, read in one step; a region without a generation gets one."""
        seen = self.store.look(self._lasting_key, self._stored_key(key))
        generation = self._generation_in(seen.lasting) or self._begin()
        answer = None if seen.entry is None else self._answer_in(seen.entry, generation)
        return Found(answer, generation, seen.holder)

    def renew(self) -> bool:
        """Begin a new generation; False if the store cannot."""
        return self.store.renew(self._lasting_key, entry_of(new_token()))

    def claim(self, key: str, token: bytes) -> bool | None:
        """Acquire the fill lock for ``token``; False while another token holds it, None if the store failed."""
        return self.store.claim(self._stored_key(key), token, self._lock_seconds)

    def keep(self, key: str, token: bytes, generation: bytes, asked_at: float, answer: str) -> None:
        """Store an answer and release the fill lock, if ``token`` still holds it."""
        entry = entry_of([FORMAT, generation, asked_at, answer])
        self.store.keep(self._stored_key(key), entry, token)

    def release(self, key: str, token: bytes) -> None:
        """Release the fill lock."""
        self.store.release(self._stored_key(key), token)

    def forget(self, key: str, token: bytes) -> None:
        """Remove the answer, and the fill lock whichever token holds it."""
        self.store.forget(self._stored_key(key), token)

    def answers(self) -> bool:
        """Return whether the store can be reached now."""
        return self.store.answers(self._lasting_key)

    def count(self) -> int | None:
        """Return how many answers are stored; None if the store cannot count them."""
        return self.store.count()

    def _stored_key(self, key: str) -> str:
        return stored_key(self._name, key)

    def _begin(self) -> bytes | None:
        """Return the generation that the region has by now; None if the store failed."""
        mine = new_token()
        stored = self.store.begin(self._lasting_key, entry_of(mine))
        if stored is None:
            return None
        generation = self._generation_in(stored)
        if generation is None:
            # Written by another program; it stays until it is replaced.
            return mine if self.store.renew(self._lasting_key, entry_of(mine)) else None
        return generation

    def _generation_in(self, entry: bytes | None) -> bytes | None:
        if entry is None:
            return None
        value = self._value_in(entry)
        if isinstance(value, bytes):
            return value
        self._report_garbage(value)
        return None

    def _answer_in(self, entry: bytes, generation: bytes | None) -> str | None:
        match self._value_in(entry):
            case [int(written), bytes(of), float(asked_at), str(answer)] if written == FORMAT:
                # A time in the future (another machine's clock is ahead) is refused, as is a value that is no time.
                if of == generation and abs(self._clock() - asked_at) <= self._expiration_seconds:
                    return answer
            case other:
                self._report_garbage(other)
        return None

    def _value_in(self, entry: bytes) -> object:
        try:
            return value_in(entry)
        except CantDeserializeException as error:
            return error

    def _report_garbage(self, value: object) -> None:
        known = isinstance(value, CantDeserializeException)
        self.store.report_garbage(
            str(value) if known else "a value of another version of this program, or of another"
        )


def new_token() -> bytes:
    """Return a token that no other caller has."""
    return secrets.token_bytes(16)
