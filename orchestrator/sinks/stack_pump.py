"""The threads of one process that tell the event sinks that environments of stacks name."""

import threading
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Final

from hooks.events import EventSink
from hooks.loading.calling import call_within
from orchestrator.config.periodic import Periodic
from orchestrator.sinks.environments import EnvironmentSinks
from orchestrator.sinks.teller import GATHER_SECONDS, LOOK_SECONDS, POLL_SECONDS, Teller, complain
from orchestrator.store.installation.sink_cursors import CursorClaim, Due, SinkCursors

#: So many sinks are told at the same time.
MOST_AT_ONCE: Final = 8
#: Of these so many that failed the last time: each may take long to fail again, and there may be many.
MOST_FAILING_AT_ONCE: Final = 4
#: One sink is told so many batches before others have their turn.
MOST_BATCHES: Final = 4
#: How often it is looked for those that failed and are due again, though nothing new has happened.
RETRY_SECONDS: Final = 1.0
#: After it was looked for those that are due, so many times as long passes before it is done again.
REST: Final = 10.0
#: How often the cursors of deleted stacks are looked for.
TIDY_SECONDS: Final = 10.0


class StackPump:
    """Tells the sinks that environments name: a bounded number at once, so that a few slow ones delay no other.

    Args:
        cursors: Where the cursors are.
        sinks: Makes them.
        owner: What this process is called.
        is_dead: Tells of the name of a process whether it surely is there no more.
    """

    def __init__(
        self,
        cursors: SinkCursors,
        sinks: EnvironmentSinks,
        *,
        owner: str,
        is_dead: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._cursors, self._sinks, self._owner, self._is_dead = cursors, sinks, owner, is_dead
        self._until = 0.0
        self._thread = Periodic(
            "pump of stacks",
            lambda: GATHER_SECONDS + self._look(),
            every_seconds=LOOK_SECONDS,
            least_seconds=GATHER_SECONDS,
            last=self._drain,
            complaint="an event sink is told later",
        )
        self._telling = threading.Lock()
        #: The cursors that threads of this process are at, and of which of them the sink failed the last time.
        self._told: set[str] = set()
        self._failing: set[str] = set()
        self._looked_at = float("-inf")
        self._tidied_at = float("-inf")
        self._rests_until = float("-inf")
        self._seen = 0

    def start(self) -> None:
        """Start to tell, unless that was done."""
        self._thread.start()

    def wake(self) -> None:
        """Say that something may have been committed; costs next to nothing."""
        self._thread.wake()

    def stop(self, until: float) -> None:
        """Have everything told that can be until then, by the monotonic clock, and nothing after it."""
        self._until = until
        self._thread.stop(0)

    def join(self) -> None:
        """Return when it has stopped, or its time is over."""
        self._thread.stop(max(0.0, self._until - monotonic()))

    def _drain(self, thread: Periodic) -> None:
        while monotonic() < self._until:
            self._looked_at = self._rests_until = float("-inf")
            self._look()
            if not self._told and not self._due(failing=False) and not self._due(failing=True):
                break
            thread.rest(GATHER_SECONDS)

    def _look(self) -> float:
        """Have told what is due, as far as there are hands; return for how long nothing is to be done."""
        now = monotonic()
        if now - self._tidied_at > TIDY_SECONDS:
            self._tidied_at = now
            self._cursors.remove_done()
        up_to = self._cursors.horizon.look()
        if up_to == self._seen and now - self._looked_at < RETRY_SECONDS:
            return GATHER_SECONDS if self._cursors.horizon.is_behind else POLL_SECONDS
        free = MOST_AT_ONCE - len(self._told)
        if not free or now < self._rests_until:
            return POLL_SECONDS
        hale, failing = self._due(failing=False), self._due(failing=True)
        # Where many stacks name sinks, looking for those that are due takes a while: it is done less often then.
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
        """Return sinks for which events wait and that nobody tells; as many as there are hands, if there are."""
        up_to = self._cursors.horizon.look()
        # Those that are told already are found again.
        found = self._cursors.due(self._sinks.told, up_to=up_to, limit=2 * MOST_AT_ONCE, failing=failing)
        return [each for each in found if each.name not in self._told and self._is_free(each)]

    def _is_free(self, due: Due) -> bool:
        return due.owner is None or self._is_dead(due.owner)

    def _begin(self, due: Due, *, failing: bool) -> None:
        with self._telling:
            self._told.add(due.name)
            if failing:
                self._failing.add(due.name)
        threading.Thread(target=self._tell, args=(due,), name=f"sink {due.name}", daemon=True).start()

    def _tell(self, due: Due) -> None:
        try:
            teller = Teller(
                due.name,
                self._make,
                cursors=self._cursors,
                owner=self._owner,
                limit_seconds=self._sinks.limit_seconds(due.type),
                is_dead=self._is_dead,
                # There may be many such sinks: one that hangs is left alone, and it alone.
                call=partial(call_within, most_left=1),
            )
            try:
                for _ in range(MOST_BATCHES):
                    teller.step()
                    if teller.is_done():
                        break
            finally:
                teller.leave()
        except Exception as error:  # noqa: BLE001  # as above
            complain(due.name, error)
        finally:
            with self._telling:
                self._told.discard(due.name)
                self._failing.discard(due.name)
            # There may be more for it, and there is a hand free for others.
            self._seen = 0
            self._thread.wake()

    def _make(self, claim: CursorClaim) -> EventSink:
        return self._sinks.make(claim.type, claim.options)
