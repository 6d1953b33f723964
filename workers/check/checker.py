"""The check: claim a node, take one step, finish it, and continue with one of the nodes that became ready.

May run any number of times, on any worker, in any order: the claim refuses what is not due, and the attempt number
fences off a late finish.
"""

import random
from collections.abc import Mapping
from functools import lru_cache, partial

import structlog

from orchestrator.config.limits import Limits
from orchestrator.config.log_context import about_attempt, about_order
from orchestrator.config.replacement import NO_REPLACEMENT, Replacement
from orchestrator.config.settings import Settings
from orchestrator.definition import LazyFiles, StackSource
from orchestrator.engine.coordinator import Coordinator
from orchestrator.engine.nested_stacks import NestedStacks
from orchestrator.engine.publisher import Publisher, publish_or_leave
from orchestrator.model.codec import UnreadableValue
from orchestrator.model.messages import END, JOIN, CheckOrder
from orchestrator.planning.stored_templates import load_source
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.resource import Resource
from orchestrator.sandbox.budget import shared_time
from orchestrator.store.database import UNSTORABLE
from orchestrator.store.nodes.claims import Claim, Finished, Outcome
from orchestrator.store.store import Store
from orchestrator.tracing.tracer import OFF, Tracing
from workers.check.context import CheckContext
from workers.check.gate import unread_inputs, unstorable
from workers.check.heartbeat import Heartbeat
from workers.check.step import take_step

log = structlog.get_logger()

#: The most nodes per message, so that work spreads over workers and the queue shows it.
CARRY_ON = 16
#: The number of traversals' contexts, and of files, cached in a process. Neither ever changes.
REMEMBERED = 64


class Checker:
    """Carries out check orders on one store; thread-safe."""

    def __init__(
        self,
        *,
        store: Store,
        types: Mapping[str, type[Resource]],
        settings: Settings,
        publisher: Publisher,
        worker: str,
        heartbeat: Heartbeat | None = None,
        chance: random.Random | None = None,
        coordinator: Coordinator | None = None,
        clients: Clients | None = None,
        tracing: Tracing = OFF,
        replacement: Replacement = NO_REPLACEMENT,
    ) -> None:
        """Keep the arguments.

        ``coordinator`` begins the operations of nested stacks; ``replacement`` replaces the process when a step hangs.
        """
        self._store = store
        self._types = types
        self._settings = settings
        self._publisher = publisher
        self._worker = worker
        self._tracing = tracing
        self._heartbeat = heartbeat or Heartbeat(
            store.nodes.heartbeat,
            lease_seconds=store.timings.lease_seconds,
            step_timeout_seconds=settings.step_timeout_seconds,
            replacement=replacement,
        )
        self._random = chance or random.Random()  # jitter, no secret
        self._clients = clients or Clients(settings)
        self._children = NestedStacks(
            coordinator
            or Coordinator(
                store=store,
                types=types,
                settings=settings,
                publisher=publisher,
                name=worker,
                clients=self._clients,
            ),
            store,
            settings,
            types,
        )
        self._context = lru_cache(REMEMBERED)(store.traversals.context)
        self._file = lru_cache(REMEMBERED)(store.templates.file)
        self._source = lru_cache(REMEMBERED)(self._load_source)

    def check(self, order: CheckOrder) -> None:
        """Carry out an order, then up to ``CARRY_ON`` of the nodes it made ready, one after the other."""
        for _ in range(CARRY_ON):
            ready = self.step(order)
            mine = next((each for each in ready if each.phase not in (END, JOIN)), None)
            # Published before this worker continues: other workers depend neither on its speed nor on its survival.
            publish_or_leave(self._publisher, [each for each in ready if each is not mine])
            if mine is None:
                return
            order = mine
        publish_or_leave(self._publisher, [order])

    def step(self, order: CheckOrder) -> tuple[CheckOrder, ...]:
        """Take one step of one node; return the orders for the ready nodes, joins already passed on."""
        if order.phase == JOIN:
            return self._pass_on(self._store.nodes.release_join(order).ready)
        with about_order(order):
            claim = self._store.nodes.claim(order, worker=self._worker)
            return () if claim is None else self._carry_out(claim)

    def _carry_out(self, claim: Claim) -> tuple[CheckOrder, ...]:
        order = claim.order
        with about_attempt(claim.attempt), self._tracing.check(claim, self._worker) as traced:
            with self._heartbeat.beating((order.traversal_id, order.no, claim.attempt), claim.type):
                outcome = self.act(claim)
            traced.came_to(outcome)
            return self.report(claim, outcome)

    def act(self, claim: Claim) -> Outcome:
        """Carry out the claimed action on the object; nothing is recorded yet."""
        order = claim.order
        try:
            inputs = self._store.nodes.inputs(claim)
        except UnreadableValue as error:
            return unread_inputs(claim, error)
        try:
            context = self._context(order.traversal_id)
        except UnreadableValue as error:
            return unread_inputs(claim, error, of="what all resources of this operation need")
        check = CheckContext(
            types=self._types,
            settings=self._settings,
            context=context,
            inputs=inputs,
            files=self._files,
            metadata_of=lambda reference: self._store.stacks.metadata_of(order.stack_id, reference),
            annotations_of=partial(self._store.annotations.when_looked_at, order.stack_id),
            random=self._random,
            child_of=self._children.of,
            clients=self._clients,
            source=partial(self._source, order.traversal_id),
            applied=partial(self._store.histories.applied, claim.resource_id),
        )
        with shared_time(Limits.of(self._settings)):
            return take_step(claim, check)

    def report(self, claim: Claim, outcome: Outcome) -> tuple[CheckOrder, ...]:
        """Record the outcome of a claim, unless it is fenced off; return the orders for the ready nodes."""
        return self._pass_on(self._finish(claim, outcome).ready)

    def close(self) -> None:
        """Stop the heartbeat."""
        self._heartbeat.close()

    def _files(self, digests: Mapping[str, str]) -> Mapping[str, str]:
        return LazyFiles(digests, self._file) if digests else {}

    def _load_source(self, traversal_id: str) -> StackSource:
        template_id, _ = self._store.traversals.definition(traversal_id)
        return load_source(self._store, template_id, self._context(traversal_id), self._settings)

    def _finish(self, claim: Claim, outcome: Outcome) -> Finished:
        try:
            return self._store.nodes.finish(claim, outcome)
        except UNSTORABLE as error:
            # What the gate does not know fails the resource, not the worker.
            log.warning(
                "the store refused an outcome", resource=claim.order.key, type=claim.type, exc_info=error
            )
            return self._store.nodes.finish(claim, unstorable(claim, outcome, error))

    def _pass_on(self, ready: tuple[CheckOrder, ...]) -> tuple[CheckOrder, ...]:
        """Finish joins at once, and complete a traversal whose end became ready."""
        passed: list[CheckOrder] = []
        waiting = list(ready)
        while waiting:
            order = waiting.pop()
            if order.phase == JOIN:
                waiting.extend(self._store.nodes.release_join(order).ready)
                continue
            if order.phase == END:
                self._store.traversals.complete(order.traversal_id)
            passed.append(order)
        return tuple(passed)
