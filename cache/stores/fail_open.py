"""A cache that fails is a cache that is empty: slower, never an error.

A store that is down, slow or holds what nobody here wrote gives misses; it is said once, and once more when it works
again. After a failure it is left alone for a moment, so that a store that hangs does not cost a time-out at every
look; then one caller tries it, and the others only if that went well. Only what a wrong answer could come of is always
tried, deletions and the end of what was begun; and once more when the store works again.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Self, TypeVar

import structlog
from dogpile.cache.api import NO_VALUE, CacheBackend, CantDeserializeException, SerializedReturnType
from dogpile.cache.proxy import ProxyBackend

from cache.stores.codec import has_metadata, unpack
from cache.stores.fill_locks import BorrowedClaims, Claims, Seen

#: How long a store is left alone after it failed.
PAUSE_SECONDS = 2.0
#: So many calls that failed are remembered, to be made again.
OWED_CALLS = 1_000
#: A store of which every call has taken longer than this, for so long, is left alone as one that failed: to ask the
#: outside itself is as fast. Not after a single moment, and later where there are more threads than a worker usually
#: has: when a hundred begin at once, it is this process that is slow.
SLOW_SECONDS = 0.2
SLOW_FOR_SECONDS = 1.0
USUAL_THREADS = 8

#: Garbage is said no more often than this: every entry in a store may be some.
GARBAGE_SECONDS = 60.0
WARNING = "cache fails, going on without it"

MISS: SerializedReturnType = NO_VALUE

_log = structlog.get_logger()

Answer = TypeVar("Answer")


class FailOpen(ProxyBackend):
    """Stands between a region and its store; may be shared by threads.

    Args:
        region: The region's name, for the log.
        pause_seconds: How long the store is left alone after it failed.
        clock: Seconds that only go forward.
        count: Called with "errors" for each call of the store that failed or was too slow, with "garbage" for each
            entry that nobody here wrote, and with "evicted" for those that had to go for want of room; and with how
            many there were.
    """

    def __init__(
        self,
        region: str,
        *,
        pause_seconds: float = PAUSE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        count: Callable[[str, int], None] = lambda *_: None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # dogpile's own
        self._region = region
        self._pause_seconds = pause_seconds
        self._clock = clock
        self._count = count
        self._silent_until = float("-inf")
        #: When the first of the last calls, all slow, had its answer; None if the last was fast.
        self._slow_since: float | None = None
        self._garbage_is_known_until = float("-inf")
        #: What the store is to be told yet, by what it is about.
        self._owed: dict[str, Callable[[], object]] = {}
        #: What is wrong and has been said.
        self._said: set[str] = set()
        self._lock = threading.Lock()

    def wrap(self, backend: CacheBackend) -> Self:
        """Stand before a store."""
        self._claims = backend if isinstance(backend, Claims) else BorrowedClaims(backend)
        self._claims.on_evicted = partial(self._count, "evicted")
        return super().wrap(backend)

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

    def look(self, lasting_key: str, key: str) -> Seen:
        """Return a lasting entry, an entry, and who has the claim on that; nothing if the store cannot tell."""
        return self._try(lambda: self._claims.look(lasting_key, key), Seen(None, None, None))

    def claim(self, key: str, token: bytes, life_seconds: float) -> bool | None:
        """Mark that ``token`` asks now; False while another does, None if the store cannot tell."""
        claims = self._claims
        owed = partial(claims.release, key, token)
        return self._try(lambda: claims.claim(key, token, life_seconds), None, owing=(f"claim {key}", owed))

    def keep(self, key: str, entry: bytes, token: bytes) -> None:
        """Store an entry and end the claim, if it is still ``token``'s and the store can."""
        claims = self._claims
        owed = partial(claims.release, key, token)
        self._try(lambda: claims.keep(key, entry, token), None, always=True, owing=(f"claim {key}", owed))

    def release(self, key: str, token: bytes) -> None:
        """End the claim if the store can, else as soon as it can."""
        release = partial(self._claims.release, key, token)
        self._try(release, None, always=True, owing=(f"claim {key}", release))

    def forget(self, key: str, token: bytes) -> None:
        """Remove the entry, and the claim whosever it is, if the store can, else as soon as it can."""
        forget = partial(self._claims.forget, key, token)
        self._try(forget, None, always=True, owing=(f"entry {key}", forget))

    def begin(self, key: str, entry: bytes) -> bytes | None:
        """Return the lasting entry of this key, ``entry`` if there was none; None if the store cannot tell."""
        return self._try(lambda: self._claims.begin(key, entry), None)

    def renew(self, key: str, entry: bytes) -> bool:
        """Store a lasting entry; False if the store cannot."""

        def renew() -> bool:
            self._claims.renew(key, entry)
            return True

        return self._try(renew, False, always=True)

    def count(self) -> int | None:
        """Return how many entries the region has; None if the store cannot tell."""
        return self._try(self._claims.count, None)

    def answers(self, key: str) -> bool:
        """Return whether the store answers now: it is asked for an entry, even if it failed just before."""

        def ask() -> bool:
            self.proxied.get_serialized(key)
            return True

        return self._try(ask, False, always=True)

    def deserialize(self, payload: bytes) -> Any:
        """Return the value in an entry; the region calls it.

        Raises:
            CantDeserializeException: the entry is garbage, which dogpile takes for a miss.
        """
        try:
            value = unpack(payload)
        except CantDeserializeException as error:
            self.say_garbage(str(error))
            raise
        return value

    def say_garbage(self, what: str) -> None:
        """Count that an entry holds what nobody here wrote, and say it, once in a while."""
        self._count("garbage", 1)
        with self._lock:
            now = self._clock()
            if now < self._garbage_is_known_until:
                return
            self._garbage_is_known_until = now + GARBAGE_SECONDS
        _log.warning(WARNING, cache=self._region, fault="garbage", error=what)

    def _readable(self, entry: SerializedReturnType) -> SerializedReturnType:
        if entry is MISS or has_metadata(entry):
            return entry
        self.say_garbage("an entry that nobody here wrote")
        return MISS

    def _try(
        self,
        call: Callable[[], Answer],
        otherwise: Answer,
        *,
        always: bool = False,
        owing: tuple[str, Callable[[], object]] | None = None,
    ) -> Answer:
        """Return what ``call`` returns, or ``otherwise`` if the store fails or is left alone.

        Args:
            call: Asks the store.
            otherwise: What is returned instead.
            always: Try even a store that failed just now.
            owing: If it fails: what is to be called when the store works again, and what that is about.
        """
        begun = self._clock()
        if not always and not self._may_try(begun):
            return otherwise
        try:
            answer = call()
        except Exception as error:  # noqa: BLE001 (every store has its own errors, and none may come through)
            if owing and len(self._owed) < OWED_CALLS:
                self._owed[owing[0]] = owing[1]
            self._leave_alone("unreachable", error)
            return otherwise
        self._unsay("unreachable")
        self._judge(begun, self._clock())
        self._pay()
        return answer

    def _pay(self) -> None:
        """Do what was left undone, now that the store works."""
        while self._owed:
            try:
                what, call = self._owed.popitem()
            except KeyError:
                # Another thread was faster.
                return
            try:
                call()
            except Exception as error:  # noqa: BLE001 (as above)
                self._owed.setdefault(what, call)
                self._leave_alone("unreachable", error)
                return

    def _may_try(self, now: float) -> bool:
        if not self._said:
            return True
        with self._lock:
            if now < self._silent_until:
                return False
            # The others go on without until this one knows more.
            self._silent_until = now + self._pause_seconds
            return True

    def _judge(self, begun: float, ended: float) -> None:
        """Leave the store alone if it is slow, and not only now."""
        seconds = ended - begun
        if seconds <= SLOW_SECONDS or seconds <= SLOW_SECONDS * threading.active_count() / USUAL_THREADS:
            self._slow_since = None
            self._unsay("slow")
            return
        since = self._slow_since
        if since is None:
            self._slow_since = ended
        elif ended - since >= SLOW_FOR_SECONDS:
            self._leave_alone("slow", TimeoutError(f"{seconds:.1f} seconds for one call"))

    def _leave_alone(self, fault: str, error: Exception) -> None:
        self._count("errors", 1)
        self._say(fault, f"{type(error).__name__}: {error}")
        self._silent_until = self._clock() + self._pause_seconds

    def _say(self, fault: str, error: str) -> None:
        with self._lock:
            if fault in self._said:
                return
            self._said.add(fault)
        _log.warning(WARNING, cache=self._region, fault=fault, error=error)

    def _unsay(self, fault: str) -> None:
        # Looked at without the lock first: this is on the path of every hit.
        if fault not in self._said:
            return
        with self._lock:
            if fault not in self._said:
                return
            self._said.remove(fault)
            self._silent_until = float("-inf")
        _log.info("cache works again", cache=self._region, fault=fault)
