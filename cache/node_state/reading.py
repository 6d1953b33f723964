"""How an answer about a node is found: out of the store, from somebody who asks just now, or from the node.

Goes on without a store that fails: nodes are asked then, and nothing is kept.
"""

import threading
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

import structlog

from cache.node_state.counts import Tally
from cache.node_state.entry import Entry, joined, only
from cache.node_state.errors import (
    NodeError,
    NodeOffline,
    NodeTimeout,
    NodeUnreachable,
    StateStoreFailed,
)
from cache.node_state.requests import Snapshot, SnapshotRequest
from cache.node_state.store import Fill, Kept, Look, NodeStateStore, Tokens
from cache.node_state.verdict import Hit, Miss, Question, judge, lease_in, refusal
from cache.stores.single_flight import Flight, Flights
from cache.stores.suggestion import suggestion

#: Asks a node: its name, what for, and how long at most, in seconds. Raises a NodeError.
Fetch = Callable[[str, SnapshotRequest, float], Snapshot]

#: A node that did not answer is left alone for so long, twice as long after each further time, and at most so long.
FIRST_FAILURE_SECONDS: Final = 5.0
LONGEST_FAILURE_SECONDS: Final = 30.0
#: How long a store that failed is left alone by those who only read.
PAUSE_SECONDS: Final = 2.0
#: How often it is looked whether what another process asks for has come: at first, and at last.
_FIRST_NAP_SECONDS: Final = 0.002
_LONGEST_NAP_SECONDS: Final = 0.05
#: So many nodes are asked at once for one caller.
_AT_ONCE: Final = 32

log = structlog.get_logger()


class Reading:
    """Finds answers; safe for threads.

    Args:
        store: Where answers are kept.
        fetch: Asks a node.
        tally: Where all is counted.
        ttl_seconds: How long an answer is kept.
        rpc_timeout_seconds: How long a node may take to answer, if nothing else is said.
        fill_full: Whether a node that is asked at all is asked for everything.
    """

    def __init__(
        self,
        store: NodeStateStore,
        fetch: Fetch,
        tally: Tally,
        *,
        ttl_seconds: float,
        rpc_timeout_seconds: float,
        fill_full: bool,
    ) -> None:
        self._store = store
        self._fetch = fetch
        self._tally = tally
        self._ttl_seconds = ttl_seconds
        self._rpc_timeout_seconds = rpc_timeout_seconds
        self._fill_full = fill_full
        #: By node: under which tokens it is asked, and for what.
        self._flights: Flights[tuple[Tokens | None, SnapshotRequest], Snapshot] = Flights()
        #: Incarnation and boot id that each node's last answer had.
        self._seen: dict[str, tuple[str, str]] = {}
        self._silent_until = float("-inf")
        self._closed = threading.Event()

    def look(self, nodes: Sequence[str]) -> Sequence[Look | None]:
        """Return what there is of each node; None for each where the store cannot tell."""
        if time.monotonic() < self._silent_until:
            return [None] * len(nodes)
        try:
            return self._store.look(nodes)
        except StateStoreFailed as error:
            self._failed(error)
            return [None] * len(nodes)

    def answer(self, question: Question, look: Look | None) -> Snapshot:
        """Return an answer to a question about a node of which the store holds ``look``.

        Raises:
            NodeError: there is none.
        """
        if look is None:
            self._tally.add_labelled("misses", Miss.STORE)
            return self._ask(question, question.request)
        entry = _entry_in(look)
        try:
            refused = refusal(question, look, lambda: self._nearest(question.node))
            if refused is not None:
                raise refused
            verdict = judge(question, look, entry)
            if isinstance(verdict, Hit):
                return self._serve(question, verdict)
            self._tally.add_labelled("misses", Miss.FORCED if question.force else verdict)
            lease = lease_in(look)
            if question.leased and lease is not None:
                # This agent has seen to the token when it began; only an answer of another one is news.
                self._seen[question.node] = (lease.incarnation, lease.boot_id)
            return self._join(question, look, entry)
        except (NodeUnreachable, NodeOffline):
            if (
                not question.allow_stale
                or entry is None
                or not question.request.keys <= entry.sections.keys()
            ):
                raise
            age_seconds = max(0.0, look.now - look.kept.began_at) if look.kept else 0.0
            return entry.snapshot(question.node, question.request, age_seconds=age_seconds, stale=True)

    def answers(
        self, questions: Sequence[Question], looks: Sequence[Look | None]
    ) -> Mapping[str, Snapshot | NodeError]:
        """Return what :meth:`answer` returns or raises for each; nodes that have to be asked are asked at once."""

        def outcome(question: Question, look: Look | None) -> Snapshot | NodeError:
            try:
                return self.answer(question, look)
            except NodeError as error:
                return error

        pairs = list(zip(questions, looks, strict=True))
        slow = [pair for pair in pairs if _must_ask(*pair)]
        if len(slow) < 2:
            return {question.node: outcome(question, look) for question, look in pairs}
        with ThreadPoolExecutor(min(len(slow), _AT_ONCE), thread_name_prefix="node-state") as pool:
            asked = {question.node: pool.submit(outcome, question, look) for question, look in slow}
            return {
                question.node: asked[question.node].result()
                if question.node in asked
                else outcome(question, look)
                for question, look in pairs
            }

    def void(self, node: str, why: str) -> bool:
        """Replace a node's token; False: the store is out of reach."""
        try:
            self._store.bump(node)
        except StateStoreFailed as error:
            self._failed(error)
            return False
        self._silent_until = float("-inf")
        self._tally.add_labelled("bumps", why)
        return True

    def seen(self, node: str, incarnation: str, boot_id: str) -> None:
        """Heed what a reply tells of the node's agent."""
        before = self._seen.get(node)
        self._seen[node] = (incarnation, boot_id)
        if before in (None, (incarnation, boot_id)):
            return
        look = self.look([node])[0]
        lease = lease_in(look) if look else None
        # Who has taken the name in the meantime has seen to the token then.
        if lease is None or (lease.incarnation, lease.boot_id) != (incarnation, boot_id):
            self.void(node, "agent changed")

    def close(self) -> None:
        """Let nobody wait any longer for what others ask."""
        self._closed.set()

    def _serve(self, question: Question, hit: Hit) -> Snapshot:
        self._tally.hit(hit.age_seconds)
        return hit.entry.snapshot(question.node, question.request, age_seconds=hit.age_seconds, stale=False)

    def _join(self, question: Question, look: Look, entry: Entry | None) -> Snapshot:
        """Have the node asked, by this thread or by one that set out to do so since the tokens are what they are."""
        request, node = question.request, question.node
        mine: Flight[tuple[Tokens | None, SnapshotRequest], Snapshot] = Flight((look.tokens, request))

        def fits(flight: Flight[tuple[Tokens | None, SnapshotRequest], Snapshot]) -> bool:
            # What comes is not older than the last change that had ended when this was asked: each replaces a token.
            tokens, asked = flight.generation
            return tokens is not None and tokens == look.tokens and asked.everything >= request.everything

        led = False

        def lead() -> Snapshot:
            nonlocal led
            led = True
            return self._fill(question, entry)

        snapshot = self._flights.join(node, mine, fits, lead, 2 * question.timeout_seconds + 1)
        if not led and not request.keys <= snapshot.sections.keys():
            return self._fill(question, entry)
        if not led:
            self._tally.add("shared")
        return replace(snapshot, sections=only(snapshot, request))

    def _fill(self, question: Question, entry: Entry | None) -> Snapshot:
        """Have the node asked, by this process or by one that does so already."""
        request = self._widened(question.request, entry)
        node, owner = question.node, uuid.uuid4().hex
        patience_ends = time.monotonic() + question.timeout_seconds + 1
        while True:
            try:
                fill = self._store.begin_fill(node, owner, question.timeout_seconds + 1)
            except StateStoreFailed as error:
                self._failed(error)
                return self._ask(question, request)
            if fill.claimed:
                snapshot = self._late(question, owner)
                return snapshot or self._ask_for_all(question, request, owner, fill)
            if fill.dirty or time.monotonic() > patience_ends or self._closed.is_set():
                return self._ask(question, request)
            snapshot = self._wait(question, patience_ends)
            if snapshot is not None:
                return snapshot

    def _late(self, question: Question, owner: str) -> Snapshot | None:
        """Return what another had for an answer between this caller's look and its claim; None: nobody had.

        Raises:
            NodeError: another had none.
        """
        look = self.look([question.node])[0]
        if look is None:
            return None
        try:
            snapshot = self._answer_of_another(question, look)
        except NodeError:
            self._told(lambda: self._store.release(question.node, owner, answered=False))
            raise
        if snapshot is not None:
            self._told(lambda: self._store.release(question.node, owner))
        return snapshot

    def _wait(self, question: Question, patience_ends: float) -> Snapshot | None:
        """Return what another process has had for an answer; None: that will not do, or it takes too long.

        Raises:
            NodeError: it had none.
        """
        nap = _FIRST_NAP_SECONDS
        while not self._rest(nap) and time.monotonic() < patience_ends:
            nap = min(2 * nap, _LONGEST_NAP_SECONDS)
            look = self.look([question.node])[0]
            if look is None:
                return None
            snapshot = self._answer_of_another(question, look)
            if snapshot is not None:
                return snapshot
            if not look.filling or look.dirty:
                return None
        return None

    def _answer_of_another(self, question: Question, look: Look) -> Snapshot | None:
        refused = refusal(question, look)
        if refused is not None:
            raise refused
        verdict = judge(question, look, _entry_in(look))
        if isinstance(verdict, Miss):
            return None
        self._tally.add("shared")
        age_seconds = verdict.age_seconds
        return verdict.entry.snapshot(question.node, question.request, age_seconds=age_seconds, stale=False)

    def _rest(self, seconds: float) -> bool:
        """Wait for a moment; True: there is no more to wait for."""
        return self._closed.wait(seconds)

    def _ask_for_all(self, question: Question, request: SnapshotRequest, owner: str, fill: Fill) -> Snapshot:
        """Ask the node, and keep what it says if nothing has moved meanwhile."""
        node = question.node
        try:
            snapshot = self._ask(question, request)
        except NodeUnreachable as error:
            kind = "timeout" if isinstance(error, NodeTimeout) else "unreachable"
            self._told(
                partial(
                    self._store.fail,
                    *(node, owner, kind, str(error)),
                    first_seconds=FIRST_FAILURE_SECONDS,
                    longest_seconds=LONGEST_FAILURE_SECONDS,
                )
            )
            raise
        except BaseException as error:
            answered = isinstance(error, NodeError)
            self._told(lambda: self._store.release(node, owner, answered=answered))
            raise
        if snapshot.unsettled:
            self._tally.add("unsettled")
            self._told(lambda: self._store.release(node, owner))
            return snapshot
        kept = Kept(tokens=fill.tokens, began_at=fill.now, data=Entry.of(snapshot, request).to_bytes())
        until = fill.now + self._ttl_seconds
        if self._told(lambda: self._store.keep(node, owner, kept, until)) is False:
            self._tally.add("refused")
        return snapshot

    def _ask(self, question: Question, request: SnapshotRequest) -> Snapshot:
        """Ask the node and keep nothing."""
        started = time.monotonic()
        try:
            snapshot = self._fetch(question.node, request, question.timeout_seconds)
        except NodeError:
            self._tally.add("unanswered")
            raise
        finally:
            self._tally.asked(time.monotonic() - started)
        self.seen(question.node, snapshot.incarnation, snapshot.boot_id)
        return snapshot

    def _widened(self, request: SnapshotRequest, entry: Entry | None) -> SnapshotRequest:
        wider = joined(request, entry.request) if entry else request
        return replace(wider, bootid=True, everything=True) if self._fill_full else wider

    def _told(self, tell: Callable[[], bool | None]) -> bool | None:
        """Tell the store something that it may miss."""
        try:
            return tell()
        except StateStoreFailed as error:
            self._failed(error)
            return None

    def _failed(self, error: StateStoreFailed) -> None:
        self._tally.add("errors")
        if time.monotonic() >= self._silent_until:
            log.warning("what nodes said cannot be looked up or kept, they are asked", reason=str(error))
        self._silent_until = time.monotonic() + PAUSE_SECONDS

    def _nearest(self, node: str) -> str:
        names: Collection[str] = ()
        with suppress(StateStoreFailed):
            names = self._store.names()
        there = f"there are: {', '.join(sorted(names)[:10]) or 'none'}"
        return f"; {suggestion(node, names, there)}"


def _entry_in(look: Look) -> Entry | None:
    return Entry.from_bytes(look.kept.data) if look.kept else None


def _must_ask(question: Question, look: Look | None) -> bool:
    """Whether an answer may take long."""
    if look is None:
        return True
    return refusal(question, look) is None and isinstance(judge(question, look, _entry_in(look)), Miss)
