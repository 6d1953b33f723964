"""The fence of an agent: no effect on its machine once its lease has run out, or another agent has it.

An agent that was stopped, or whose machine was suspended, does not notice: the next line runs as if no time had
passed. So every effect is preceded by :func:`check_fence`. While the lease is known to be valid this is a
comparison of clocks; afterwards the store of leases is queried. A change during which the lease has run out is
not continued even if this agent still gets the lease again: another may have had it in between.

The time since the last renewal is that of ``CLOCK_BOOTTIME``, which counts while the machine is suspended, or of the
wall clock where that has advanced further: a virtual machine that its host suspends counts nothing itself.
Only the standard library is used.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar


class Fenced(Exception):
    """An effect is refused: this agent does not hold the lease of its machine, or cannot learn whether it does."""


def boot_seconds() -> float:
    """Return the seconds since the machine booted, those of its suspensions included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Fence:
    """The validity of one agent's lease; thread-safe."""

    def __init__(
        self,
        lease_seconds: float,
        confirm: Callable[[], None],
        *,
        clock: Callable[[], float] = boot_seconds,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """Keep the arguments; the lease has run out until :meth:`renewed`.

        ``confirm`` renews the lease, or raises :class:`Fenced`.
        """
        self._lease_seconds, self._confirm = lease_seconds, confirm
        self._clock, self._wall_clock = clock, wall_clock
        self._confirming = threading.Lock()
        #: When the last successful renewal began, by both clocks; None: there was none.
        self._renewed: tuple[float, float] | None = None
        self._lost = ""
        self._term = 0
        #: When the store last did not answer, by ``clock``.
        self._silent_at: float | None = None

    @property
    def term(self) -> int:
        """The number of times that the lease has run out, as far as was noticed."""
        return self._term

    def now(self) -> tuple[float, float]:
        """Return the time by both clocks, for :meth:`renewed`."""
        return self._clock(), self._wall_clock()

    def renewed(self, began: tuple[float, float]) -> None:
        """Record a renewal of the lease that began at ``began``."""
        if self.seconds_left() <= 0:
            self._term += 1
        self._renewed = began

    def lost(self, reason: str) -> None:
        """Refuse all effects from now on."""
        self._lost = reason

    @property
    def is_lost(self) -> bool:
        """Whether another agent has the lease, as far as is known without a query."""
        return bool(self._lost)

    def seconds_left(self) -> float:
        """Return for how long the lease is certainly valid; 0: it may have run out."""
        if self._lost or self._renewed is None:
            return 0.0
        boot, wall = (now - then for now, then in zip(self.now(), self._renewed, strict=True))
        return max(0.0, self._lease_seconds - max(boot, wall))

    def check(self, term: int | None = None) -> None:
        """Return if the lease is valid; query the store of leases where that is not certain.

        ``term``: that in which the present change began; it must not have ended.

        Raises:
            Fenced: the lease is not valid, or the term has ended, or the store does not answer.
        """
        if self.seconds_left() <= 0:
            self._require()
        if term not in (None, self._term):
            raise Fenced("the lease of the node's agent has run out during the change: it has to begin anew")

    def may_answer(self) -> bool:
        """Return whether reads may be answered: unless another agent is known to have the lease.

        The store is queried once the lease may have run out; if it does not answer, not again for as long as a lease.
        """
        silent_at = self._silent_at
        if self.seconds_left() > 0 or (
            silent_at is not None and self._clock() - silent_at < self._lease_seconds and not self._lost
        ):
            return True
        with suppress(Fenced):
            self._require()
        return not self._lost

    def _require(self) -> None:
        with self._confirming:
            if self._lost:
                raise Fenced(self._lost)
            if self.seconds_left() <= 0:
                began = self.now()
                try:
                    self._confirm()
                except Fenced:
                    self._silent_at = self._clock()
                    raise
                self.renewed(began)


#: The fence of the change that the present thread carries out, and its term when the change began; None: it needs
#: none, as in embedded mode.
_fence: ContextVar[tuple[Fence, int] | None] = ContextVar("fence", default=None)


@contextmanager
def fenced(fence: Fence | None) -> Iterator[None]:
    """Have the effects of the body checked by a fence; None: they are not.

    Raises:
        Fenced: the lease is not valid; the body has not begun.
    """
    if fence is not None:
        fence.check()
    token = _fence.set(None if fence is None else (fence, fence.term))
    try:
        yield
    finally:
        _fence.reset(token)


def check_fence() -> None:
    """Check the fence of the present change; must directly precede each of its effects.

    Raises:
        Fenced: the effect must not happen.
    """
    if (found := _fence.get()) is not None:
        fence, term = found
        fence.check(term)


def fence_ends_at() -> float | None:
    """Return until when, by :func:`boot_seconds`, another process may complete an effect; None: without limit."""
    found = _fence.get()
    return None if found is None else boot_seconds() + found[0].seconds_left()
