"""The engine, in one thread: the real store, coordinator and checker, with messages in a list and a clock that is set.

A message lies there until it is delivered. A process that dies loses the message that it was at, and whatever it knew;
its lease ends, and another goes on.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import Any, Final

from hooks.lifecycle import LifecyclePlugin
from isotherm.testing.watching import Crash, Watch
from orchestrator.config.settings import Settings
from orchestrator.engine.coordinator import Coordinator
from orchestrator.engine.signals import Signals
from orchestrator.errors import Conflict
from orchestrator.lifecycle.engine_plugin import joined
from orchestrator.model.messages import (
    END,
    OPERATE_JOBS,
    CheckOrder,
    DeleteJob,
    DetectDriftJob,
    Job,
    StackJob,
    UpdateJob,
)
from orchestrator.model.observation_policy import ObservationPolicy
from orchestrator.placement.joining import engine_of
from orchestrator.plugins.client_plugin import ClientPlugin
from orchestrator.plugins.clients import ClientPlugins, Clients
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.plugins.resource import Resource
from orchestrator.queries.drift import drift_view
from orchestrator.queries.stacks import StackQueries
from orchestrator.store.database import Database
from orchestrator.store.repository import Timings
from orchestrator.store.stacks.observation_turns import LEASE_SECONDS, ObservationTurn
from orchestrator.store.stacks.stacks import ResourceRow
from orchestrator.store.store import Store
from orchestrator.store.tables import metadata
from orchestrator.views.drift import DriftView
from orchestrator.views.stacks import StackView
from workers.check.checker import Checker
from workers.check.heartbeat import Heartbeat
from workers.check.pace import Pace

__all__ = ["Crash", "Engine"]

#: An engine that is not at rest after so many messages never will be.
_MOST_TURNS: Final = 20_000
#: An observation that dies so often is never completed.
_MOST_OBSERVATIONS: Final = 100
#: The policy under which all drift is repaired.
_REPAIRING: Final = ObservationPolicy(mode="repair", replace=True, repairs_per_hour=10_000)
#: What a test does not want to wait for, unless it says so.
_QUICK: Final[Mapping[str, Any]] = {
    "broker_url": "",
    "cleanup_retry_limit": 0,
    "constraint_cache": {"enabled": False},
    "retry_base_seconds": 0.01,
}


class Engine:
    """One installation, of which every process is this one."""

    def __init__(
        self,
        types: Mapping[str, type[Resource]] | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        clients: Mapping[str, type[ClientPlugin]] | None = None,
        plugins: Sequence[LifecyclePlugin] = (),
        poll_seconds: float = 0.0,
    ) -> None:
        """Make an installation with nothing in it, to be closed.

        Args:
            types: Resource types by name, besides those that are installed; these are watched.
            settings: What differs from the defaults.
            clients: Client plugins by name, besides those that are installed.
            plugins: Lifecycle plugins, in the order in which they are asked.
            poll_seconds: How long to wait, really, before a step is taken again that was not finished.
        """
        self.watch = Watch()
        self.now = time.time()
        self.messages: list[CheckOrder] = []
        self._poll_seconds = poll_seconds
        self._state = TemporaryDirectory(prefix="isotherm-testing-")
        self.settings = Settings(**{**_QUICK, "state_directory": self._state.name, **(settings or {})})
        database = Database("sqlite://", clock=lambda: self.now)
        with database.write() as connection:
            metadata.create_all(connection)
        timings = Timings(lease_seconds=60, redeliver_seconds=10, locked_seconds=5)
        self.store = Store(database, timings=timings)
        watched = {name: self.watch.over(kind) for name, kind in (types or {}).items()}
        self.types = ResourceTypes({**ResourceTypes.load(), **watched})
        known = {**ClientPlugins.load(), **(clients or {})}

        def delegated(project: str, credential: str) -> tuple[str, Mapping[str, Any]]:
            return self.store.credentials.options(credential, project=project)

        #: The clients of its processes.
        self.clients = Clients(self.settings, known, lambda _: None, delegated)
        placing = engine_of(self.settings, store=lambda: self.store, types=lambda: self.types)
        self._coordinator = Coordinator(
            store=self.store,
            types=self.types,
            settings=self.settings,
            publisher=self,
            name="coordinator",
            plugins=joined(plugins, placing),
            clients=self.clients,
            clock=lambda: self.now,
        )
        self._checker = Checker(
            store=self.store,
            types=self.types,
            settings=self.settings,
            publisher=self,
            worker="worker",
            chance=random.Random(0),  # jitter, the same each time
            heartbeat=Heartbeat(lambda _: None, lease_seconds=1e9, step_timeout_seconds=1e9),
            # The order of steps does not depend on how fast the machine is.
            pace=Pace(quick_seconds=-1.0),
            patience_seconds=1e6,
            coordinator=self._coordinator,
            clients=self.clients,
        )
        #: What there is in the installation, as faces see it.
        self.queries = StackQueries(self.settings, self.store)

    def close(self) -> None:
        """End the installation; what its resources have made stays."""
        self._checker.close()
        self.clients.close()
        self.store.close()
        self._state.cleanup()

    # -- messages ----------------------------------------------------------------------------------------------

    def publish(self, orders: Sequence[CheckOrder]) -> None:
        """Put messages on the network, as they travel."""
        self.messages += [CheckOrder.from_wire(order.to_wire()) for order in orders]

    def backlog(self) -> int:
        """Count the messages on the network."""
        return len(self.messages)

    def deliver(self) -> None:
        """Deliver the first message; the process that gets it may die of it."""
        order = self.messages.pop(0)
        with suppress(Crash):
            if order.phase == END:
                self._coordinator.finish(order)
            else:
                self._checker.check((order,))

    def settle(self, signals: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Deliver, with time passing, until nothing is due; ``signals`` are given to resources that take them by then.

        Raises:
            AssertionError: the engine never comes to rest.
        """
        waiting = dict(signals or {})
        for _ in range(_MOST_TURNS):
            while self.messages:
                self.deliver()
            if self._signal(waiting):
                continue
            due = self.store.sweeper.next_due()
            if due is None:
                return
            if due:
                time.sleep(self._poll_seconds)
            self.now += due + 0.001
            with suppress(Crash):
                self._coordinator.sweep()
        raise AssertionError("the engine never comes to rest: a check is never complete")

    def _signal(self, waiting: dict[str, Mapping[str, Any]]) -> bool:
        """Give the first signal that is taken; return whether one was."""
        for stack in self.store.stacks.all(project="default"):
            for name in [name for name in waiting if stack.status == "IN_PROGRESS"]:
                with suppress(Conflict):
                    signals = Signals(self.store, self.types, self.settings)
                    self.publish(signals.send(stack, name, waiting[name]))
                    del waiting[name]
                    return True
        return False

    # -- stacks ------------------------------------------------------------------------------------------------

    def create(self, name: str, template: str, **signals: Mapping[str, Any]) -> StackView | None:
        """Create a stack, and return it as it is in the end."""
        return self._run(StackJob(name=name, template=template), name, signals)

    def update(self, name: str, template: str, **signals: Mapping[str, Any]) -> StackView | None:
        """Give a stack a new definition, and return it as it is in the end."""
        return self._run(UpdateJob(name=name, template=template), name, signals)

    def update_or_roll_back(self, name: str, template: str) -> StackView | None:
        """Give a stack a new definition, which is taken back if it fails; return the stack as it is in the end."""
        return self._run(UpdateJob(name=name, template=template, rollback=True), name, {})

    def operate(self, action: str, name: str) -> StackView | None:
        """Check (``CHECK``), ``SUSPEND`` or ``RESUME`` a stack, and return it as it is in the end."""
        return self._run(OPERATE_JOBS[action](name=name), name, {})

    def delete(self, name: str) -> StackView | None:
        """Delete a stack; return None, or what is left of it."""
        return self._run(DeleteJob(name=name), name, {})

    def observe(self, name: str) -> list[DriftView]:
        """Observe a stack, as ``isotherm stack drift detect`` does, and return its drift.

        Raises:
            AssertionError: something could not be observed.
        """
        for _ in range(_MOST_OBSERVATIONS):
            stack_id = self._coordinator.detect_drift(DetectDriftJob(name=name))
            self.settle()
            turn = self._turn(stack_id)
            if turn.is_begun:
                # The process died meanwhile.
                self.now += LEASE_SECONDS
                continue
            assert not turn.trouble, turn.trouble
            return [drift_view(row) for row in self.store.drifts.of_tree(stack_id)]
        raise AssertionError("the observation is never completed")

    def repair(self, name: str) -> list[DriftView]:
        """Observe a stack, and repair its drift, by replacements where its types need them; return what is left.

        Raises:
            AssertionError: something could not be observed.
        """
        stack_id, turns = self.store.stacks.find(name, project="default").id, self.store.observation_turns
        turn = turns.read(stack_id)
        # Resources that were repaired often have another chance by that.
        turns.set_policy(stack_id, _REPAIRING, due_at=None)
        self.observe(name)
        while self._turn(stack_id).repair_traversal is not None:
            # More than the pause between two looks for what is due.
            self.now += self.store.timings.lease_seconds
            with suppress(Crash):
                self._coordinator.sweep()
        self.settle()
        turns.set_policy(stack_id, turn.policy if turn else ObservationPolicy(), due_at=None)
        return self.observe(name)

    def _turn(self, stack_id: str) -> ObservationTurn:
        turn = self.store.observation_turns.read(stack_id)
        assert turn is not None
        return turn

    def resource(self, stack: str, name: str) -> ResourceRow:
        """Return what is on record of a resource, its private data included."""
        return self.store.stacks.resource(self.store.stacks.find(stack, project="default").id, name)

    def run(self, job: Job) -> None:
        """Carry out a job of any kind."""
        self._run(job, job.name, {})

    def _run(self, job: Job, name: str, signals: Mapping[str, Mapping[str, Any]]) -> StackView | None:
        while not self._survives(lambda: self._coordinator.begin(job)):
            # The broker delivers the job again: it is one and the same.
            self.now += self.store.timings.lease_seconds
        self.settle(signals)
        stacks = [each for each in self.queries.stacks() if each.name == name]
        return self.queries.stack(stacks[0].id) if stacks else None

    @staticmethod
    def _survives(act: Callable[[], object]) -> bool:
        try:
            act()
        except Crash:
            return False
        return True
