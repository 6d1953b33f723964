"""Lease of a traversal's end: extended while its post-operation work goes on, such as the planning of a rollback."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic

from orchestrator.config.periodic import Periodic

#: What identifies the claim of an end: traversal id, node number, attempt.
Held = tuple[str, int, int]


@contextmanager
def extended(
    extend: Callable[[Iterable[Held]], None],
    held: Held,
    *,
    lease_seconds: float,
    longest_seconds: float,
    clock: Callable[[], float] = monotonic,
) -> Iterator[None]:
    """Extend the lease of an end every third of it while the block runs, for ``longest_seconds`` at most.

    Work that hangs for longer is taken over by another process.
    """
    until = clock() + longest_seconds
    pause = lease_seconds / 3

    def act() -> None:
        if clock() < until:
            extend([held])

    thread = Periodic(
        "lease of an end",
        act,
        every_seconds=pause,
        first_seconds=pause,
        complaint="could not extend the lease of an end",
    )
    thread.start()
    try:
        yield
    finally:
        thread.stop(0)
