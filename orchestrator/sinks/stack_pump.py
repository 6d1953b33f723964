"""Pump of a process for the event sinks that environments of stacks name."""

import threading
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Final

from hooks.events import EventSink
from hooks.loading.calling import call_within
from orchestrator.config.periodic import Periodic
from orchestrator.sinks.delivery import GATHER_SECONDS, LOOK_SECONDS, POLL_SECONDS, Delivery, complain
from orchestrator.sinks.environments import EnvironmentSinks
from orchestrator.sinks.pump import Threads
from orchestrator.store.installation.sink_cursors import CursorClaim, Due, SinkCursors

#: How many sinks are served in parallel.
MOST_AT_ONCE: Final = 8
#: How many of these may be sinks that failed the last time: each may take long to fail again.
MOST_FAILING_AT_ONCE: Final = 4
#: How many batches one sink gets before others have their turn.
MOST_BATCHES: Final = 4
#: How often failed sinks that are due again are looked for without new events.
RETRY_SECONDS: Final = 1.0
#: The pause after a look-up of due sinks, as a multiple of its duration.
REST: Final = 10.0
#: How often cursors of deleted stacks are removed.
TIDY_SECONDS: Final = 10.0


class StackPump(Threads):
    """Delivers events to the sinks that environments name, a bounded number in parallel."""

    def __init__(
        self,
        cursors: SinkCursors,
        sinks: EnvironmentSinks,
        *,
        owner: str,
        is_dead: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._cursors, self._sinks, self._owner, self._is_dead = cursors, sinks, owner, is_dead
        thread = Periodic(
            "pump of stacks",
            lambda: GATHER_SECONDS + self._look(),
            every_seconds=LOOK_SECONDS,
            least_seconds=GATHER_SECONDS,
            last=self._drain,
            complaint="events of a sink are delivered later",
        )
        super().__init__([thread])
        self._changing = threading.Lock()
        #: The cursors that threads of this process serve, and those of them whose sink failed the last time.
        self._served: set[str] = set()
        self._failing: set[str] = set()
        self._looked_at = float("-inf")
        self._tidied_at = float("-inf")
        self._rests_until = float("-inf")
        self._seen = 0

    def _drain(self, thread: Periodic) -> None:
        while monotonic() < self._until:
            self._looked_at = self._rests_until = float("-inf")
            self._look()
            if not self._served and not self._due(failing=False) and not self._due(failing=True):
                break
            thread.rest(GATHER_SECONDS)

    def _look(self) -> float:
        """Start deliveries to due sinks, as far as threads are free; return the seconds until the next look."""
        now = monotonic()
        if now - self._tidied_at > TIDY_SECONDS:
            self._tidied_at = now
            self._cursors.remove_done()
        up_to = self._cursors.horizon.look()
        if up_to == self._seen and now - self._looked_at < RETRY_SECONDS:
            return GATHER_SECONDS if self._cursors.horizon.is_behind else POLL_SECONDS
        free = MOST_AT_ONCE - len(self._served)
        if not free or now < self._rests_until:
            return POLL_SECONDS
        hale, failing = self._due(failing=False), self._due(failing=True)
        # With many sinks the look-up takes a while: it is done less often then.
        self._rests_until = now + REST * (monotonic() - now)
        again = failing[: min(free, MOST_FAILING_AT_ONCE - len(self._failing))]
        first = hale[: free - len(again)]
        for each in again:
            self._begin(each, failing=True)
        for each in first:
            self._begin(each, failing=False)
        if (first, again) == (hale, failing):
            self._seen, self._looked_at = up_to, now
        return POLL_SECONDS

    def _due(self, *, failing: bool) -> list[Due]:
        """Return due sinks that no process serves, at least as many as threads are free if there are."""
        up_to = self._cursors.horizon.look()
        # The result includes those that are served already.
        found = self._cursors.due(self._sinks.enabled, up_to=up_to, limit=2 * MOST_AT_ONCE, failing=failing)
        return [each for each in found if each.name not in self._served and self._is_free(each)]

    def _is_free(self, due: Due) -> bool:
        return due.owner is None or self._is_dead(due.owner)

    def _begin(self, due: Due, *, failing: bool) -> None:
        with self._changing:
            self._served.add(due.name)
            if failing:
                self._failing.add(due.name)
        threading.Thread(target=self._deliver, args=(due,), name=f"sink {due.name}", daemon=True).start()

    def _deliver(self, due: Due) -> None:
        try:
            delivery = Delivery(
                due.name,
                self._make,
                cursors=self._cursors,
                owner=self._owner,
                limit_seconds=self._sinks.limit_seconds(due.type),
                is_dead=self._is_dead,
                # One thread at most is left to a sink that hangs.
                call=partial(call_within, most_left=1),
            )
            try:
                for _ in range(MOST_BATCHES):
                    delivery.step()
                    if delivery.is_done():
                        break
            finally:
                delivery.leave()
        except Exception as error:  # noqa: BLE001  # as above
            complain(due.name, error)
        finally:
            with self._changing:
                self._served.discard(due.name)
                self._failing.discard(due.name)
            # Look again: it may have more events, and a thread is free for others.
            self._seen = 0
            self.wake()

    def _make(self, claim: CursorClaim) -> EventSink:
        return self._sinks.make(claim.type, claim.options)
