"""A cache that fails is a cache that is empty: slower, never an error.

A store that is down, slow or holds what nobody here wrote gives misses; it is said once, and once more when it works
again. After a failure it is left alone for a moment, so that a store that hangs does not cost a time-out at every
look. Only deletions are always tried: a lost one would leave a wrong value behind.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import structlog
from dogpile.cache.api import NO_VALUE, CantDeserializeException, SerializedReturnType
from dogpile.cache.proxy import ProxyBackend

from cache.codec import has_metadata, unpack

#: How long a store is left alone after it failed.
PAUSE_SECONDS = 2.0

MISS: SerializedReturnType = NO_VALUE

_log = structlog.get_logger()

Answer = TypeVar("Answer")


class FailOpen(ProxyBackend):
    """Stands between a region and its store; may be shared by threads.

    Args:
        region: The region's name, for the log.
        pause_seconds: How long the store is left alone after it failed.
        clock: Seconds that only go forward.
    """

    def __init__(
        self,
        region: str,
        *,
        pause_seconds: float = PAUSE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # dogpile's own
        self._region = region
        self._pause_seconds = pause_seconds
        self._clock = clock
        self._silent_until = float("-inf")
        #: What is wrong and has been said.
        self._said: set[str] = set()
        self._lock = threading.Lock()

    def get_serialized(self, key: str) -> SerializedReturnType:
        """Return an entry, or a miss."""
        return self._readable(self._try(lambda: self.proxied.get_serialized(key), MISS))

    def get_serialized_multi(self, keys: Iterable[str]) -> Sequence[SerializedReturnType]:
        """Return an entry or a miss for each key."""
        wanted = list(keys)
        misses: Sequence[SerializedReturnType] = [MISS] * len(wanted)
        entries = self._try(lambda: self.proxied.get_serialized_multi(wanted), misses)
        return [self._readable(entry) for entry in entries]

    def set_serialized(self, key: str, value: bytes) -> None:
        """Keep an entry if the store can."""
        self._try(lambda: self.proxied.set_serialized(key, value), None)

    def set_serialized_multi(self, mapping: Mapping[str, bytes]) -> None:
        """Keep entries if the store can."""
        if mapping:
            self._try(lambda: self.proxied.set_serialized_multi(mapping), None)

    def delete(self, key: str) -> None:
        """Forget an entry if the store can."""
        self._try(lambda: self.proxied.delete(key), None, always=True)

    def delete_multi(self, keys: Iterable[str]) -> None:
        """Forget entries if the store can."""
        unwanted = list(keys)
        if unwanted:
            self._try(lambda: self.proxied.delete_multi(unwanted), None, always=True)

    def get_mutex(self, key: str) -> None:
        """Return no lock, which makes dogpile use one of this process: a lock in a failing store would hang all."""

    def deserialize(self, payload: bytes) -> Any:
        """Return the value in an entry; the region calls it.

        Raises:
            CantDeserializeException: the entry is garbage, which dogpile takes for a miss.
        """
        try:
            value = unpack(payload)
        except CantDeserializeException as error:
            self._say("garbage", str(error))
            raise
        self._unsay("garbage")
        return value

    def _readable(self, entry: SerializedReturnType) -> SerializedReturnType:
        if entry is MISS or has_metadata(entry):
            return entry
        self._say("garbage", "an entry that nobody here wrote")
        return MISS

    def _try(self, call: Callable[[], Answer], otherwise: Answer, *, always: bool = False) -> Answer:
        if not always and self._clock() < self._silent_until:
            return otherwise
        try:
            answer = call()
        except Exception as error:  # noqa: BLE001 (every store has its own errors, and none may come through)
            self._silent_until = self._clock() + self._pause_seconds
            self._say("unreachable", f"{type(error).__name__}: {error}")
            return otherwise
        self._unsay("unreachable")
        return answer

    def _say(self, fault: str, error: str) -> None:
        with self._lock:
            if fault in self._said:
                return
            self._said.add(fault)
        _log.warning("cache fails, going on without it", cache=self._region, fault=fault, error=error)

    def _unsay(self, fault: str) -> None:
        # Looked at without the lock first: this is on the path of every hit.
        if fault not in self._said:
            return
        with self._lock:
            if fault not in self._said:
                return
            self._said.remove(fault)
        _log.info("cache works again", cache=self._region, fault=fault)
