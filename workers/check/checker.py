"""The check: claim a node, take one step, finish it, and continue with nodes that became ready.

May run any number of times, on any worker, in any order: the claim refuses what is not due, and the attempt number
fences off a late finish. Nodes whose steps are quick are claimed and finished together, in one transaction each; a
process learns from its own steps which types are quick. Links of a chain whose types declare that they only compute are
not even claimed before their steps are taken (:mod:`orchestrator.store.nodes.runs`).
"""

import random
import time
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from orchestrator.config.limits import Limits
from orchestrator.config.log_context import about_attempt, about_order
from orchestrator.config.logger import get_logger
from orchestrator.config.periodic import Periodic
from orchestrator.config.replacement import NO_REPLACEMENT, Replacement
from orchestrator.config.settings import Settings
from orchestrator.definition import LazyFiles, StackSource
from orchestrator.engine.coordinator import Coordinator
from orchestrator.engine.nested_stacks import NestedStacks
from orchestrator.engine.publisher import Publisher, publish_or_leave
from orchestrator.model.codec import UnreadableValue
from orchestrator.model.messages import END, JOIN, OBSERVE, CheckOrder
from orchestrator.planning.stored_templates import load_source
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.resource import Resource
from orchestrator.sandbox.budget import shared_time
from orchestrator.store.nodes.batches import Ended, NodeBatches
from orchestrator.store.nodes.claims import Claim, Ending, Finished, FinishedBatch, Outcome
from orchestrator.store.nodes.runs import Run
from orchestrator.store.retrying import unstorable_kinds
from orchestrator.store.stacks.stacks import ResourceRow
from orchestrator.store.store import Store
from orchestrator.tracing.tracer import OFF, Tracing
from workers.check.batch import PATIENCE_SECONDS, Batch
from workers.check.context import CheckContext
from workers.check.gate import unread_inputs, unstorable
from workers.check.heartbeat import Heartbeat
from workers.check.pace import Pace
from workers.check.remembered import Remembered
from workers.check.step import take_step

if TYPE_CHECKING:
    from orchestrator.engine.stack_outputs import OutputSource
    from workers.check.observing import StackObserver

log = get_logger()

#: How often a worker continues with what it made ready, so that work spreads over workers and the queue shows it.
CARRY_ON = 16
#: How often more if a quick step makes one other ready: in a chain there is nothing to spread.
LINKS = 8
_DAY = 86400.0
#: How many steps a process takes of a message before it calls what it does not know slow.
TRIALS = 2
#: The resources that failed in the check that this thread carries out; None outside of one.
_failed: ContextVar[list[str] | None] = ContextVar("failed", default=None)


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
        pace: Pace | None = None,
        patience_seconds: float | None = None,
    ) -> None:
        """Keep the arguments.

        ``coordinator`` begins the operations of nested stacks; ``replacement`` replaces the process when a step hangs;
        after ``patience_seconds`` (by default a second) a claim that was not begun is given back.
        """
        self._store = store
        self._types = types
        self._settings = settings
        self._limits = Limits.of(settings)
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
        self._most = settings.batch_size
        # A span is of a step that counts, which is not certain of one that is taken ahead.
        self._run_size = settings.run_size if tracing is OFF else 1
        self._pace = pace or Pace(quick_seconds=settings.quick_step_seconds)
        self._patience_seconds = patience_seconds
        self._batches: set[Batch] = set()
        self._watch = Periodic(
            "batches",
            self.hand_back,
            every_seconds=(patience_seconds or PATIENCE_SECONDS) / 2,
            first_seconds=(patience_seconds or PATIENCE_SECONDS) / 2,
            complaint="could not give claims back",
        )
        remembered = self._remembered = Remembered(settings.check_cache_mib * 2**20)
        self._context = partial(remembered.get, store.traversals.context)
        self._file = partial(remembered.get, store.templates.file)
        self._source = partial(remembered.get, self._load_source)

    def check(self, orders: Sequence[CheckOrder]) -> tuple[str, ...]:
        """Carry out the orders of one message, then up to ``CARRY_ON`` times what they made ready, or longer a chain.

        What becomes ready is published before this worker continues, but for what it continues with itself: other
        workers depend neither on its speed nor on its survival.

        Returns the names of the resources that failed for good.
        """
        if orders and orders[0].phase == OBSERVE:
            self._observe(orders)
            return ()
        failed: list[str] = []
        token = _failed.set(failed)
        try:
            self._check(orders)
        finally:
            _failed.reset(token)
        return tuple(dict.fromkeys(failed))

    def _check(self, orders: Sequence[CheckOrder]) -> None:
        mine, claims, left = orders, tuple[Claim, ...](), (CARRY_ON - 1) * LINKS
        # How many links may be taken ahead; none where a look has found none.
        links = 0
        while True:
            most = self._most if left > 0 else 0
            done = self._carry_out_batch(claims, most, links) if claims else self._begin(mine, most)
            ready, claims, mine = done.ready, tuple(done.claims), ()
            if not claims and left > 0:
                first = next((each for each in ready if each.phase not in (END, JOIN)), None)
                mine = () if first is None else (first,)
            self._publish(each for each in ready if each not in mine)
            if not claims and not mine:
                return
            is_link = len(claims) == 1 and not ready
            left -= done.passed + (1 if is_link else LINKS)
            looks = is_link and self._is_pure(claims[0].type) and (done.passed or not links)
            links = min(self._run_size, left) - 1 if looks else 0

    @cached_property
    def _observer(self) -> "StackObserver":
        # Few processes observe anything.
        from workers.check.observing import StackObserver

        return StackObserver(
            store=self._store,
            types=self._types,
            settings=self._settings,
            clients=self._clients,
            children=self._children,
            context=self._context,
            files=self._files,
            source=self._source,
        )

    @cached_property
    def _outputs(self) -> "OutputSource":
        # Few stacks read outputs of others.
        from orchestrator.engine.stack_outputs import OutputSource

        return OutputSource(self._store, self._settings)

    def _observe(self, orders: Sequence[CheckOrder]) -> None:
        """Observe some stacks, one after the other; an error with one stops no other."""
        for order in orders:
            with self._heartbeat.beating((f"observation of {order.key}", 0, order.no), "an observation"):
                try:
                    self._observer.observe(order)
                except Exception as error:  # the next turn tries again
                    log.warning("a stack could not be observed", stack_id=order.key, exc_info=error)

    def step(self, order: CheckOrder) -> tuple[CheckOrder, ...]:
        """Take one step of one node; return the orders for the ready nodes, joins already passed on."""
        if order.phase == JOIN:
            return self._pass_on(self._store.nodes.release_join(order).ready)
        with about_order(order):
            claim = self._store.nodes.claim(order, worker=self._worker)
        return () if claim is None else self.report(claim, self._outcome(claim))

    def _begin(self, orders: Sequence[CheckOrder], most: int) -> FinishedBatch:
        """Begin with the orders of a message; of those that are not quick, one, and only if no other is."""
        ready = [order for join in orders if join.phase == JOIN for order in self.step(join)]
        waiting = [order for order in orders if order.phase != JOIN]
        for _ in range(TRIALS):
            if len(waiting) > 1 and not self._pace.quick:
                # Its pace is that of the others, as far as this process can know.
                self._publish(self.step(waiting.pop(0)))
        claims: Sequence[Claim] = ()
        if len(waiting) > 1:
            taken = self._store.nodes.claim_batch(waiting, worker=self._worker, types=self._pace.quick)
            claims = taken.claims
            # What is claimed does not wait for what may last.
            waiting, others = list(taken.left[: not claims]), taken.left[not claims :]
            self._publish(replace(order, alone=True) for order in others)
        if waiting:
            with about_order(waiting[0]):
                claim = self._store.nodes.claim(waiting[0], worker=self._worker)
            if claim is not None and claim.type in self._pace.quick:
                claims = [claim]
            elif claim is not None:
                ready += self.report(claim, self._outcome(claim))
        self._publish(ready if claims else ())
        return self._carry_out_batch(claims, most) if claims else FinishedBatch(ready=tuple(ready))

    def _carry_out_batch(self, claims: Sequence[Claim], most: int, links: int = 0) -> FinishedBatch:
        """Take the steps of quick nodes one after the other; claim at most ``most`` of what they made ready.

        Of one that is alone, take at most so many ``links`` behind it ahead.
        """
        run = Run(())
        batch = Batch(claims, patience_seconds=self._patience_seconds)
        self._batches.add(batch)
        self._watch.start()
        try:
            while (claim := batch.next()) is not None:
                outcome = self._outcome(claim)
                if NodeBatches.fits(outcome):
                    batch.add(claim, outcome)
                    if links > 0 and outcome.log is None:
                        run = self._run(batch, claim, outcome, links)
                        break
                elif len(claims) == 1:
                    # As without batches, this worker continues with it: with the other half of a replacement, say.
                    return FinishedBatch(ready=self.report(claim, outcome))
                else:
                    self._publish(self.report(claim, outcome))
                if due := batch.due():
                    self._publish(self._record(due).ready)
            ended, late = batch.rest()
            self._give_back(late)
            return (self._record_run(run, most) if ended and run.passed > 0 else None) or self._record(
                ended, most
            )
        except Exception:
            self._leave(batch)
            raise
        finally:
            self._batches.discard(batch)

    def _is_pure(self, name: str) -> bool:
        kind = self._types.get(name)
        return kind is not None and kind.pure

    def _run(self, batch: Batch, claim: Claim, outcome: Outcome, most: int) -> Run:
        """Take the steps of links behind a node that is done, as long as its outcome may wait; none is claimed yet."""
        types = [name for name in self._pace.quick if self._is_pure(name)]
        run = self._store.nodes.run_ahead(claim, types=types, most=most)
        run.add(claim, outcome)
        while batch.may_wait() and (link := self._store.nodes.next_of_run(run)) is not None:
            outcome = self._outcome(link, held=claim)
            if outcome.log is not None or not NodeBatches.fits(outcome):
                # It is taken again once it is claimed.
                break
            run.add(link, outcome)
        return run

    def _record_run(self, run: Run, most: int) -> FinishedBatch | None:
        """Record a run in one transaction; None if that is not possible, and its first node is to be ended alone."""
        try:
            finished = self._store.nodes.finish_run(run, types=self._pace.quick, most=most)
        except unstorable_kinds():
            return None
        return finished and replace(finished, ready=self._pass_on(finished.ready))

    def hand_back(self) -> None:
        """Record the outcomes, and give back the claims, that wait for too long because of a step that lasts."""
        for batch in tuple(self._batches):
            ended, late = batch.overdue()
            self._publish(self._record(ended).ready)
            self._give_back(late)

    def _leave(self, batch: Batch) -> None:
        """Do for the others what can be done after an error with one."""
        ended, claims = batch.rest()
        try:
            self._publish(self._record(ended).ready)
            self._give_back(claims)
        except Exception as error:  # noqa: BLE001  # the first error is raised
            log.warning("the other checks of a message are left to the sweep", reason=str(error))

    def _give_back(self, claims: Iterable[Claim]) -> None:
        for claim in claims:
            orders = self._store.nodes.give_back(claim)
            self._publish(replace(order, alone=True) for order in orders)

    def _record(self, ended: Sequence[Ended], most: int = 0) -> FinishedBatch:
        """Record outcomes in one transaction; those that it leaves out one by one."""
        if not ended:
            return FinishedBatch()
        if len(ended) == 1 and not (most and ended[0][0].dependents):
            return FinishedBatch(ready=self.report(*ended[0]))
        if logged := [each for each in ended if each[1].log is not None]:
            self._keep_logs(logged)
        try:
            finished = self._store.nodes.finish_batch(ended, types=self._pace.quick, most=most)
        except unstorable_kinds():
            finished = FinishedBatch(left=ended)
        if not finished.ready and not finished.left:
            return finished
        left = [order for each in finished.left for order in self._pass_on(self._finish(*each).ready)]
        return replace(finished, ready=(*self._pass_on(finished.ready), *left), left=())

    def _publish(self, orders: Iterable[CheckOrder]) -> None:
        publish_or_leave(self._publisher, tuple(orders))

    def _outcome(self, claim: Claim, *, held: Claim | None = None) -> Outcome:
        """Take the step of a claim, with its lease extended as long as it lasts.

        Of a link that is not claimed yet, extend that of the claim ``held``; whether it failed is not known until then.
        """
        order = claim.order
        beat = (order.traversal_id, (held or claim).order.no, (held or claim).attempt)
        begun = time.monotonic()
        with (
            about_attempt(order, claim.attempt),
            self._tracing.check(claim, self._worker) as traced,
        ):
            with self._heartbeat.beating(beat, claim.type):
                outcome = self.act(claim)
            is_over = held is None and outcome.ending in (Ending.FAILED, Ending.FAULT)
            if is_over and (failed := _failed.get()) is not None:
                failed.append(order.key)
            traced.came_to(outcome)
        self._pace.took(claim.type, time.monotonic() - begun)
        return outcome

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
            limits=self._limits,
            context=context,
            inputs=inputs,
            files=self._files,
            metadata_of=lambda reference: self._store.stacks.metadata_of(order.stack_id, reference),
            annotations_of=partial(self._store.annotations.when_looked_at, order.stack_id),
            random=self._random,
            child_of=self._children.of,
            clients=self._clients,
            software=lambda: self._store.resource_software.of_claim(claim, context["project"]),
            outputs=lambda: self._outputs.of_claim(claim, context["project"]),
            source=partial(self._source, order.traversal_id),
            applied=partial(self._store.histories.applied, claim.resource_id),
            rows=self._rows,
            given_up=self._store.stacks.record_given_up,
        )
        with shared_time(self._limits):
            return take_step(claim, check)

    def report(self, claim: Claim, outcome: Outcome) -> tuple[CheckOrder, ...]:
        """Record the outcome of a claim, unless it is fenced off; return the orders for the ready nodes."""
        if outcome.log is not None:
            self._keep_logs(((claim, outcome),))
        return self._pass_on(self._finish(claim, outcome).ready)

    def _keep_logs(self, ended: Sequence[Ended]) -> None:
        """Record the log lines of steps, before their outcomes: they help most if those cannot be recorded."""
        settings = self._settings
        try:
            self._store.step_logs.add(
                [(claim, outcome.log) for claim, outcome in ended if outcome.log is not None],
                most=settings.max_log_lines_per_resource,
                seconds=settings.keep_log_lines_days * _DAY,
            )
        except Exception as error:  # noqa: BLE001  # the outcomes matter more
            log.warning("log lines of steps cannot be kept", reason=str(error))

    def close(self) -> None:
        """Stop the threads."""
        self._heartbeat.close()
        self._watch.stop()

    def _files(self, digests: Mapping[str, str]) -> Mapping[str, str]:
        return LazyFiles(digests, self._file) if digests else {}

    def _rows(self, ids: Sequence[str]) -> list[ResourceRow]:
        found = map(self._store.stacks.row, ids)
        return [row for row in found if row is not None]

    def _load_source(self, traversal_id: str) -> StackSource:
        template_id, _ = self._store.traversals.definition(traversal_id)
        return load_source(self._store, template_id, self._context(traversal_id), self._settings)

    def _finish(self, claim: Claim, outcome: Outcome) -> Finished:
        try:
            return self._store.nodes.finish(claim, outcome)
        except unstorable_kinds() as error:
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
