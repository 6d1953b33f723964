"""Reads of machine states: from the store, from another caller's call under way, or from the agent.

Goes on without a store that fails: then agents are called, and nothing is stored.
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
from cache.node_state.requests import MachineState, MachineStateRequest
from cache.node_state.store import Fill, Kept, Look, NodeStateStore, Tokens
from cache.node_state.verdict import Hit, Miss, Question, judge, lease_in, refusal
from cache.stores.single_flight import Flight, Flights
from cache.stores.suggestion import suggestion

#: Calls an agent: its node name, the request, and the time-out in seconds. Raises a NodeError.
Fetch = Callable[[str, MachineStateRequest, float], MachineState]

#: How long an agent that did not answer is left out: doubled after each further failure, up to the second figure.
FIRST_FAILURE_SECONDS: Final = 5.0
LONGEST_FAILURE_SECONDS: Final = 30.0
#: How long reads leave out a store that failed.
PAUSE_SECONDS: Final = 2.0
#: The pause between two looks for another process's answer: at first, and at most.
_FIRST_NAP_SECONDS: Final = 0.002
_LONGEST_NAP_SECONDS: Final = 0.05
#: The limit of concurrent calls of agents for one caller.
_AT_ONCE: Final = 32

log = structlog.get_logger()


class Reading:
    """Finds answers; thread-safe."""

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
        #: By node: the tokens and the request of the call under way.
        self._flights: Flights[tuple[Tokens | None, MachineStateRequest], MachineState] = Flights()
        #: The incarnation and boot id in each node's last reply.
        self._seen: dict[str, tuple[str, str]] = {}
        self._silent_until = float("-inf")
        self._closed = threading.Event()

    def look(self, nodes: Sequence[str]) -> Sequence[Look | None]:
        """Return what the store holds of each node; None for each if the store fails."""
        if time.monotonic() < self._silent_until:
            return [None] * len(nodes)
        try:
            return self._store.look(nodes)
        except StateStoreFailed as error:
            self._failed(error)
            return [None] * len(nodes)

    def answer(self, question: Question, look: Look | None) -> MachineState:
        """Return the answer to a question about a node of which the store holds ``look``.

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
                # This agent replaced the token when it started; only another agent's reply is news.
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
            return entry.machine_state(question.node, question.request, age_seconds=age_seconds, stale=True)

    def answers(
        self, questions: Sequence[Question], looks: Sequence[Look | None]
    ) -> Mapping[str, MachineState | NodeError]:
        """Return what :meth:`answer` returns or raises for each; agents are called concurrently."""

        def outcome(question: Question, look: Look | None) -> MachineState | NodeError:
            try:
                return self.answer(question, look)
            except NodeError as error:
                return error

        pairs = list(zip(questions, looks, strict=True))
        slow = [pair for pair in pairs if _must_ask(*pair)]
        if len(slow) < 2:
            return {question.node: outcome(question, look) for question, look in pairs}
        with ThreadPoolExecutor(min(len(slow), _AT_ONCE), thread_name_prefix="node-state") as pool:
            under_way = {question.node: pool.submit(outcome, question, look) for question, look in slow}
            return {
                question.node: under_way[question.node].result()
                if question.node in under_way
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
        """Note the agent and the boot that a reply names."""
        before = self._seen.get(node)
        self._seen[node] = (incarnation, boot_id)
        if before in (None, (incarnation, boot_id)):
            return
        look = self.look([node])[0]
        lease = lease_in(look) if look else None
        # An agent that took the name meanwhile has replaced the token itself.
        if lease is None or (lease.incarnation, lease.boot_id) != (incarnation, boot_id):
            self.void(node, "agent changed")

    def close(self) -> None:
        """Make waiting callers stop waiting."""
        self._closed.set()

    def _serve(self, question: Question, hit: Hit) -> MachineState:
        self._tally.hit(hit.age_seconds)
        return hit.entry.machine_state(
            question.node, question.request, age_seconds=hit.age_seconds, stale=False
        )

    def _join(self, question: Question, look: Look, entry: Entry | None) -> MachineState:
        """Call the agent, or join a call of another thread that began under the current tokens."""
        request, node = question.request, question.node
        mine: Flight[tuple[Tokens | None, MachineStateRequest], MachineState] = Flight((look.tokens, request))

        def fits(flight: Flight[tuple[Tokens | None, MachineStateRequest], MachineState]) -> bool:
            # Its reply is not older than the last change that had ended at this look: each change replaces a token.
            tokens, under_way = flight.generation
            return tokens is not None and tokens == look.tokens and under_way.everything >= request.everything

        led = False

        def lead() -> MachineState:
            nonlocal led
            led = True
            return self._fill(question, entry)

        machine_state = self._flights.join(node, mine, fits, lead, 2 * question.timeout_seconds + 1)
        if not led and not request.keys <= machine_state.sections.keys():
            return self._fill(question, entry)
        if not led:
            self._tally.add("shared")
        return replace(machine_state, sections=only(machine_state, request))

    def _fill(self, question: Question, entry: Entry | None) -> MachineState:
        """Call the agent, or wait for another process that does so already."""
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
                machine_state = self._late(question, owner)
                return machine_state or self._ask_for_all(question, request, owner, fill)
            if fill.dirty or time.monotonic() > patience_ends or self._closed.is_set():
                return self._ask(question, request)
            machine_state = self._wait(question, patience_ends)
            if machine_state is not None:
                return machine_state

    def _late(self, question: Question, owner: str) -> MachineState | None:
        """Return the answer that another process stored before this caller got its fill lock; None: none did."""
        look = self.look([question.node])[0]
        if look is None:
            return None
        try:
            machine_state = self._answer_of_another(question, look)
        except NodeError:
            self._best_effort(lambda: self._store.release(question.node, owner, answered=False))
            raise
        if machine_state is not None:
            self._best_effort(lambda: self._store.release(question.node, owner))
        return machine_state

    def _wait(self, question: Question, patience_ends: float) -> MachineState | None:
        """Return another process's answer; None: it will not do, or takes too long."""
        nap = _FIRST_NAP_SECONDS
        while not self._rest(nap) and time.monotonic() < patience_ends:
            nap = min(2 * nap, _LONGEST_NAP_SECONDS)
            look = self.look([question.node])[0]
            if look is None:
                return None
            machine_state = self._answer_of_another(question, look)
            if machine_state is not None:
                return machine_state
            if not look.filling or look.dirty:
                return None
        return None

    def _answer_of_another(self, question: Question, look: Look) -> MachineState | None:
        refused = refusal(question, look)
        if refused is not None:
            raise refused
        verdict = judge(question, look, _entry_in(look))
        if isinstance(verdict, Miss):
            return None
        self._tally.add("shared")
        age_seconds = verdict.age_seconds
        return verdict.entry.machine_state(
            question.node, question.request, age_seconds=age_seconds, stale=False
        )

    def _rest(self, seconds: float) -> bool:
        return self._closed.wait(seconds)

    def _ask_for_all(
        self, question: Question, request: MachineStateRequest, owner: str, fill: Fill
    ) -> MachineState:
        """Call the agent, and store its reply unless a token was replaced meanwhile."""
        node = question.node
        try:
            machine_state = self._ask(question, request)
        except NodeUnreachable as error:
            kind = "timeout" if isinstance(error, NodeTimeout) else "unreachable"
            self._best_effort(
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
            self._best_effort(lambda: self._store.release(node, owner, answered=answered))
            raise
        if machine_state.unsettled:
            self._tally.add("unsettled")
            self._best_effort(lambda: self._store.release(node, owner))
            return machine_state
        kept = Kept(tokens=fill.tokens, began_at=fill.now, data=Entry.of(machine_state, request).to_bytes())
        until = fill.now + self._ttl_seconds
        if self._best_effort(lambda: self._store.keep(node, owner, kept, until)) is False:
            self._tally.add("refused")
        return machine_state

    def _ask(self, question: Question, request: MachineStateRequest) -> MachineState:
        started = time.monotonic()
        try:
            machine_state = self._fetch(question.node, request, question.timeout_seconds)
        except NodeError:
            self._tally.add("unanswered")
            raise
        finally:
            self._tally.asked(time.monotonic() - started)
        self.seen(question.node, machine_state.incarnation, machine_state.boot_id)
        return machine_state

    def _widened(self, request: MachineStateRequest, entry: Entry | None) -> MachineStateRequest:
        wider = joined(request, entry.request) if entry else request
        return replace(wider, bootid=True, everything=True) if self._fill_full else wider

    def _best_effort(self, call: Callable[[], bool | None]) -> bool | None:
        """Call the store where its failure is no error; None if it failed."""
        try:
            return call()
        except StateStoreFailed as error:
            self._failed(error)
            return None

    def _failed(self, error: StateStoreFailed) -> None:
        self._tally.add("errors")
        if time.monotonic() >= self._silent_until:
            log.warning("machine-state cache unavailable, agents are called instead", reason=str(error))
        self._silent_until = time.monotonic() + PAUSE_SECONDS

    def _nearest(self, node: str) -> str:
        names: Collection[str] = ()
        with suppress(StateStoreFailed):
            names = self._store.names()
        known = f"there are: {', '.join(sorted(names)[:10]) or 'none'}"
        return f"; {suggestion(node, names, known)}"


def _entry_in(look: Look) -> Entry | None:
    return Entry.from_bytes(look.kept.data) if look.kept else None


def _must_ask(question: Question, look: Look | None) -> bool:
    """Return whether an answer may take long."""
    if look is None:
        return True
    return refusal(question, look) is None and isinstance(judge(question, look, _entry_in(look)), Miss)
