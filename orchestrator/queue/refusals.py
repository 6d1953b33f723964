"""Refused messages of a process: counted, and a sample kept, in the database where the process has one.

A process may be sent millions of them. Its log has a line now and then, and what is not written yet is bounded.
"""

import hashlib
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, Final

from orchestrator.config.logger import get_logger
from orchestrator.config.periodic import Periodic
from orchestrator.keys.envelope import Refused
from orchestrator.store.installation.refused_messages import RefusedMessage, RefusedMessages

log = get_logger()

#: How often they are written and logged, and how many are kept from one time to the next; others are only counted.
WRITE_SECONDS: Final = 1.0
LOG_SECONDS: Final = 10.0
MOST_AT_ONCE: Final = 20
_LONGEST_NAME: Final = 100


class Refusals:
    """The refused messages that are not written yet; thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._unlogged: Counter[tuple[str, str]] = Counter()
        self._samples: deque[RefusedMessage] = deque(maxlen=MOST_AT_ONCE)
        self._logged_at = float("-inf")
        self._last: str = ""
        self._store: Callable[[], RefusedMessages] | None = None
        self._writer: Periodic | None = None

    def keep_in(self, store: Callable[[], RefusedMessages]) -> None:
        """Have them written to a database; ``store`` is called at the first refusal."""
        self._store = store

    def add(self, place: str, why: Refused, body: object = b"", headers: object = None) -> None:
        """Count a refused message of a queue or mailbox, and keep a trace of it; its content is not kept."""
        data = body if isinstance(body, bytes) else repr(type(body)).encode()
        known = headers if isinstance(headers, dict) else {}
        sample = RefusedMessage(
            received_at=time.time(),
            place=_name(place),
            reason=why.reason,
            sentence=str(why),
            task=_name(known.get("task")),
            message_id=_name(known.get("id")),
            size_bytes=len(data),
            digest=hashlib.sha256(data).hexdigest(),
        )
        with self._lock:
            key = (sample.place, sample.reason)
            self._counts[key] += 1
            self._unlogged[key] += 1
            self._last = sample.sentence
            if len(self._samples) < MOST_AT_ONCE:
                self._samples.append(sample)
            self._start()
        if self._clock() - self._logged_at >= LOG_SECONDS:
            self._log()

    def flush(self) -> None:
        """Write what is not written yet; after an error, it is tried again with the next."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
            samples, self._samples = [*self._samples], deque(maxlen=MOST_AT_ONCE)
        if not counts or self._store is None:
            # Without a database, the log is all that is left of them.
            return
        try:
            self._store().add(counts, samples)
        except Exception:
            with self._lock:
                self._counts.update(counts)
            raise

    def _log(self) -> None:
        with self._lock:
            unlogged, self._unlogged = self._unlogged, Counter()
            self._logged_at = self._clock()
            last = self._last
        for (place, reason), count in sorted(unlogged.items()):
            log.warning("messages were refused", place=place, reason=reason, count=count, last=last)

    def _start(self) -> None:
        if self._writer is None:
            # In a thread, made at the first refusal: most processes refuse nothing, and some fork.
            self._writer = Periodic(
                "refused messages", self._write, every_seconds=WRITE_SECONDS, first_seconds=WRITE_SECONDS
            )
            self._writer.start()

    def _write(self) -> float:
        self.flush()
        if self._unlogged and self._clock() - self._logged_at >= LOG_SECONDS:
            self._log()
        return WRITE_SECONDS


#: Those of this process.
refusals: Final = Refusals()


def _name(value: Any) -> str:
    """Return a name of a message that proved nothing, as it may be shown."""
    if not isinstance(value, str):
        return ""
    return "".join(each if each.isprintable() else "?" for each in value[:_LONGEST_NAME])
