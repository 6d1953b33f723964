"""The simulated engine: the real core on an in-memory store, with a network, a clock and a cloud made of lists.

Messages lie in a list until a test delivers, repeats or drops them. A crash can be set for any instruction that
matters: before or after each transaction, each call of a plugin, each publication.
"""

import random
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar

import sqlalchemy as sa

from hooks.lifecycle import LifecyclePlugin
from hooks.loading.ordering import in_order
from orchestrator.config.settings import Settings
from orchestrator.engine.breakpoints import clear_hooks
from orchestrator.engine.coordinator import Coordinator
from orchestrator.model.check_batch import batches_of, from_wire, to_wire
from orchestrator.model.messages import (
    CHECKED_PHASES,
    END,
    AdoptJob,
    CancelJob,
    CheckJob,
    CheckOrder,
    DeleteJob,
    DeleteSnapshotJob,
    DetectDriftJob,
    ImportJob,
    RestoreJob,
    ResumeJob,
    SnapshotJob,
    StackJob,
    SuspendJob,
)
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.resource import Resource
from orchestrator.store.database import Database
from orchestrator.store.nodes.claims import Claim, Outcome
from orchestrator.store.repository import Timings
from orchestrator.store.store import Store
from orchestrator.store.tables import metadata
from tests.drivers import driver_of
from tests.scenarios.cloud import Cloud, Crash, cloud_type
from workers.check.checker import Checker
from workers.check.heartbeat import Heartbeat
from workers.check.pace import Pace

#: The longest pause of what polls, and how long the sweep waits, in a world without redelivery, before it repairs
#: what was lost.
LONGEST_PAUSE_SECONDS, NEVER_SECONDS = 1000.0, 1e9


class Place:
    """An in-memory database with a clock, where one world may be after the other.

    What takes longest about a new database is not that it is empty but that every statement is compiled for it anew:
    hence a world moves in where another one has been.
    """

    #: Those where no world is.
    empty: ClassVar[list["Place"]] = []

    def __init__(self) -> None:
        self.now = 0.0
        self.before_transaction: Callable[[], None] = _nothing
        self.database = Database("sqlite://", clock=lambda: self.now)
        self.database.before_direct = self._begin
        with self.database.write() as connection:
            metadata.create_all(connection)
        self._nothing_there = self.picture()

    @classmethod
    def free(cls) -> "Place":
        """Return a place with nothing in it."""
        return cls.empty.pop() if cls.empty else cls()

    def leave(self) -> None:
        """Take everything away."""
        self.before_transaction = _nothing
        self.become(self._nothing_there)
        self.empty.append(self)

    def picture(self) -> bytes:
        """Return all that the database holds; it is mostly room, which is left out."""
        with driver_of(self.database) as driver:
            return zlib.compress(driver.serialize(), 1)

    def become(self, picture: bytes) -> None:
        """Let the database hold what another one held."""
        with closing(sqlite3.connect(":memory:")) as other, driver_of(self.database) as driver:
            other.deserialize(zlib.decompress(picture))
            # The statements that the driver keeps outlive a backup, and would not outlive deserialize().
            other.backup(driver)

    def _begin(self) -> None:
        self.before_transaction()


def _nothing() -> None:
    """Do nothing."""


_known_settings: dict[str, Settings] = {}


def _settings(values: Mapping[str, Any]) -> Settings:
    """Return settings; to look for each of them in all places takes as long as to create a stack."""
    key = repr(values)
    if key not in _known_settings:
        _known_settings[key] = Settings(**values)
    return _known_settings[key]


class Steady(Pace):
    """A pace that does not depend on the machine: these types are quick."""

    def __init__(self, types: Iterable[str]) -> None:
        super().__init__(quick_seconds=0.0)
        self._quick = frozenset(types)

    def took(self, kind: str, seconds: float) -> None:
        """Learn nothing."""


class World:
    """The engine, its messages, its clock, its cloud."""

    #: Those not closed yet.
    open: ClassVar[list["World"]] = []

    def __init__(
        self,
        types: Mapping[str, type[Resource]] | None = None,
        *,
        place: Place | None = None,
        redelivers: bool = True,
        together: bool = True,
        **settings: Any,
    ) -> None:
        """Make a world; ``types`` are there besides that of the objects in its cloud.

        Unless it ``redelivers``, its sweep repairs nothing: it neither publishes again what was ready, nor comes to
        what waits for a lock or a lease. Such a world settles only if every message was sent, and every waiting node
        woken. ``together``: its resources are quick, and are checked together.
        """
        self.open.append(self)
        self._types, self._settings = types, {**settings, "redelivers": redelivers, "together": together}
        self.redelivers = redelivers
        self._packed: tuple[float, bytes] | None = None
        self.cloud = Cloud()
        self._place = place or Place.free()
        self.now = 1_000_000.0
        self.messages: list[CheckOrder] = []
        #: Whether its sweeps begin observations that are due.
        self.looks_for_drift = False
        #: Steps whose worker did its work and then stood still, perhaps for longer than its lease.
        self.stalled: list[tuple[Claim, Outcome]] = []
        self.store = Store(
            self._place.database,
            timings=Timings(
                lease_seconds=60 if redelivers else NEVER_SECONDS,
                redeliver_seconds=10 if redelivers else NEVER_SECONDS,
                locked_seconds=5 if redelivers else NEVER_SECONDS,
                lost_attempts=settings.get("lost_attempt_limit", 5),
            ),
        )
        # The instants before and after each transaction are instructions at which a process may die.
        self._place.before_transaction = self.cloud.instruction
        types = {"Cloud::Object": cloud_type(self.cloud), **(types or {})}
        # Where nobody asks for more patience, what fails has failed.
        # A purge by itself has tests of its own, in which it is set.
        made = _settings({"cleanup_retry_limit": 0, "purge_after_days": 0, **settings})
        #: One process's, though messages may be delivered to many.
        self.clients = Clients(made)
        self.coordinator = Coordinator(
            store=self.store,
            types=types,
            settings=made,
            publisher=self,
            name="coordinator",
            clients=self.clients,
            clock=lambda: self.now if self.looks_for_drift else -1.0,
        )
        self.checker = Checker(
            store=self.store,
            types=types,
            settings=made,
            publisher=self,
            worker="worker",
            chance=random.Random(0),
            heartbeat=Heartbeat(lambda _: None, lease_seconds=1e9, step_timeout_seconds=1e9),
            pace=Steady(types if together else ()),
            patience_seconds=1e6,
            coordinator=self.coordinator,
            clients=self.clients,
        )

    def pack(self) -> None:
        """Leave, but keep what was here: this world can be copied still, and nothing else."""
        self._packed = (self.now, self._place.picture())
        self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> "World":
        """Return a world in which everything is as it is here, but for processes: they have just started."""
        world = World(self._types, **self._settings)
        world.looks_for_drift = self.looks_for_drift
        world.now, picture = self._packed or (self.now, self._place.picture())
        world.messages, world.stalled = deepcopy((self.messages, self.stalled), memo)
        memo[id(self.cloud)] = world.cloud
        vars(world.cloud).update(deepcopy(vars(self.cloud), memo))
        world._place.become(picture)
        return world

    def plug(self, *plugins: LifecyclePlugin) -> None:
        """Let these be the lifecycle plugins."""
        self.coordinator._brackets._plugins = in_order(plugins)

    @property
    def now(self) -> float:
        """The time in this world, in seconds; it passes when a test says so."""
        return self._place.now

    @now.setter
    def now(self, seconds: float) -> None:
        self._place.now = seconds

    def publish(self, orders: Sequence[CheckOrder]) -> None:
        """Put messages on the network; the process may die between any two."""
        for order in orders:
            self.cloud.instruction()
            # What travels is what comes out of a message, not the object that went in.
            self.messages.append(replace(CheckOrder.from_wire(order.to_wire()), alone=order.alone))

    def backlog(self) -> int:
        """Count the messages on the network."""
        return len(self.messages)

    # -- what a test says --------------------------------------------------------------------------------------

    def survive(self, act: Callable[[], object]) -> bool:
        """Do something that a crash may cut short; tell whether it came to its end."""
        try:
            act()
        except Crash:
            return False
        return True

    def create(self, template: str, name: str = "s", **job: Any) -> str:
        """Begin a stack."""
        return self.coordinator.create(StackJob(name=name, template=template, **job))

    def update(self, template: str, name: str = "s", **job: Any) -> str:
        """Give a stack a new definition."""
        return self.coordinator.update(StackJob(name=name, template=template, **job))

    def cancel(self, name: str = "s", *, rollback: bool = True) -> str:
        """End what is under way."""
        return self.coordinator.cancel(CancelJob(name=name, rollback=rollback))

    def check(self, name: str = "s") -> str:
        """Begin to check a stack."""
        return self.coordinator.operate(CheckJob(name=name))

    def detect(self, name: str = "s") -> str:
        """Begin to observe a stack."""
        return self.coordinator.detect_drift(DetectDriftJob(name=name))

    def suspend(self, name: str = "s") -> str:
        """Begin to suspend a stack."""
        return self.coordinator.operate(SuspendJob(name=name))

    def resume(self, name: str = "s") -> str:
        """Begin to resume a stack."""
        return self.coordinator.operate(ResumeJob(name=name))

    def delete(self, name: str = "s") -> str:
        """Begin the deletion of a stack."""
        return self.coordinator.delete(DeleteJob(name=name))

    def snapshot(self, called: str = "", name: str = "s", **job: Any) -> str:
        """Begin to take a snapshot."""
        return self.coordinator.snapshot(SnapshotJob(name=name, snapshot=called, **job))

    def restore(self, snapshot: str, name: str = "s", **job: Any) -> str:
        """Begin to bring a stack back to a snapshot."""
        return self.coordinator.restore(RestoreJob(name=name, snapshot=snapshot, **job))

    def delete_snapshot(self, snapshot: str, name: str = "s", **job: Any) -> str:
        """Delete a snapshot."""
        return self.coordinator.delete_snapshot(DeleteSnapshotJob(name=name, snapshot=snapshot, **job))

    def abandon(self, name: str = "s") -> str:
        """Begin to give a stack up."""
        return self.coordinator.delete(DeleteJob(name=name, abandon=True))

    def adopt(self, template: str, resources: Mapping[str, Any], name: str = "s", **job: Any) -> str:
        """Begin a stack of what is there already."""
        adopting = AdoptJob(name=name, template=template, resources=resources, **job)
        return self.coordinator.adopt(adopting)

    def take_in(self, template: str, objects: Mapping[str, Any], name: str = "s", **job: Any) -> str:
        """Begin to import objects into a stack, by the names of their resources."""
        entries = {resource: {"resource_id": physical_id} for resource, physical_id in objects.items()}
        job = {"resources": entries, **job}
        return self.coordinator.import_objects(ImportJob(name=name, template=template, **job))

    def standing(self, name: str = "s") -> list[tuple[str, str]]:
        """Return which resources of a stack stand at which hooks, in order of their names."""
        stack = self.store.stacks.find(name, project="default")
        standing = self.store.breakpoints.standing(stack.id)
        return sorted((each.path, each.hook) for each in standing)

    def clear(self, resource: str = "*", kind: str | None = None, name: str = "s") -> None:
        """Let on what stands at hooks."""
        stack = self.store.stacks.find(name, project="default")
        _, orders = clear_hooks(self.store, stack, resource=resource, kind=kind, at_once=False)
        self.publish(orders)

    def settle_clearing(self, name: str = "s") -> list[tuple[str, str]]:
        """Settle, and let on whatever stands, until nothing does; return what stood, in order."""
        stood: list[tuple[str, str]] = []
        while True:
            self.settle()
            standing = self.standing(name)
            if not standing:
                return stood
            stood += standing
            self.clear(name=name)

    def deliver(self, index: int = 0, *, keep: bool = False) -> None:
        """Deliver a message; ``keep`` leaves it on the network, to be delivered again."""
        order = self.messages[index] if keep else self.messages.pop(index)
        self.carry_out(order)

    def deliver_together(self, index: int = 0, *, keep: bool = False, late: bool = False) -> None:
        """Deliver a message, and all others of the same operation, as one; ``late``: no step begins in time."""
        first = self.messages[index]
        mine = [
            each
            for each in self.messages
            if each.traversal_id == first.traversal_id and each.phase != END and not each.alone
        ]
        if first not in mine:
            self.deliver(index, keep=keep)
            return
        if not keep:
            self.messages = [each for each in self.messages if each not in mine]
        self.checker._patience_seconds = -1.0 if late else 1e6
        try:
            for some in batches_of(mine, 32):
                self.checker.check(from_wire(to_wire(some)))
        finally:
            self.checker._patience_seconds = 1e6

    def carry_out(self, order: CheckOrder) -> None:
        """Do what whoever gets this message does."""
        if order.phase == END:
            self.coordinator.finish(order)
        else:
            self.checker.check((order,))

    def stall(self, index: int) -> None:
        """Deliver a message to a worker that does the work and stands still before it can say so."""
        order = self.messages.pop(index)
        if order.phase not in CHECKED_PHASES:
            return
        claim = self.store.nodes.claim(order, worker="slow")
        if claim is not None:
            self.stalled.append((claim, self.checker.act(claim)))

    def wake_stalled(self) -> None:
        """Let the worker that has stood still longest go on: it reports, believing that its claim holds."""
        if self.stalled:
            self.publish(self.checker.report(*self.stalled.pop(0)))

    def sweep(self, *, after: float = 0.0) -> None:
        """Let time pass, and sweep."""
        self.now += after
        self.coordinator.sweep()

    def settle(self) -> None:
        """Deliver and sweep, with time passing, until nothing is ever due again, or only if nobody clears a hook."""
        for turn in range(10_000):
            while self.messages:
                self.deliver()
            if self.stalled and (turn % 2 or not self.redelivers):
                self.wake_stalled()
                continue
            due = self.store.sweeper.next_due()
            if due is None or self.waits_for_people():
                return
            if not self.redelivers and due > LONGEST_PAUSE_SECONDS:
                assert not self._idle(), f"never sent, or never woken: {self._idle()}"
            self.sweep(after=due + 0.001)
        raise AssertionError("the engine never comes to rest")

    def _idle(self) -> list[tuple[str, ...]]:
        """Return what is not over: phase, key and state of each node that anything may still be done for."""
        sql = sa.text(
            "SELECT n.phase, n.key, n.state FROM node n JOIN traversal t ON t.id = n.traversal_id "
            "WHERE n.due_at IS NOT NULL AND (n.phase = 'end' OR t.status = 'IN_PROGRESS' "
            "OR (t.status = 'FAILED' AND n.attempt > 0)) ORDER BY n.traversal_id, n.no"
        )
        with self.store.database.read() as connection:
            return [tuple(row) for row in connection.execute(sql)]

    def waits_for_people(self) -> bool:
        """Whether something stands at a hook, and nothing but its time-out is due, nor for the stacks it is in."""
        sql = (
            "SELECT count(CASE WHEN s.id IS NULL OR n.state <> 'waiting' THEN n.due_at END) AS due, "
            "count(CASE WHEN t.status = 'IN_PROGRESS' THEN n.hook END) AS standing "
            "FROM node n JOIN traversal t ON t.id = n.traversal_id "
            "LEFT JOIN stack s ON s.parent_resource = n.resource_id AND s.status = 'IN_PROGRESS'"
        )
        with self.store.database.read() as connection:
            row = connection.execute(sa.text(sql)).one()
        return bool(row.standing and not row.due)

    def state(self, name: str = "s") -> str:
        """Return a stack's state."""
        row = self.store.stacks.find(name, project="default")
        return f"{row.action}_{row.status}"

    def made_names(self) -> list[str]:
        """Return the names of what was made, in order."""
        return [name for action, name in self.cloud.log if action == "make"]

    def unmade_names(self) -> list[str]:
        """Return the names of what was unmade, in order."""
        return [name for action, name in self.cloud.log if action == "unmake"]

    def close(self) -> None:
        """End the world, and leave its place to the next one."""
        self.open.remove(self)
        self.checker.close()
        self._place.leave()


def with_patience(world: World, read_seconds: float) -> World:
    """Return the same world, whose client of an HTTP API waits so long for what an answer is to say next."""
    http = world._settings["clients"]["http"]
    world._settings["clients"] = {"http": {**http, "read_seconds": read_seconds}}
    return deepcopy(world)


def template_of(requires: Mapping[str, Sequence[str]], *, by: str = "depends_on") -> str:
    """Return a template of cloud objects that require each other so, by depends_on or by get_attr."""
    lines = ["heat_template_version: 2021-04-16", "resources:"]
    for name, others in requires.items():
        lines += [f"  {name}:", "    type: Cloud::Object"]
        if others and by == "depends_on":
            lines.append(f"    depends_on: [{', '.join(others)}]")
        if others and by == "get_attr":
            parts = ", ".join(f"{{get_attr: [{other}, value]}}" for other in others)
            lines.append(f"    properties: {{value: {{list_join: ['+', [{name}, {parts}]]}}}}")
        elif by == "get_attr":
            lines.append(f"    properties: {{value: {name}}}")
    return "\n".join([*lines, ""]) if requires else "heat_template_version: 2021-04-16\nresources: {}\n"
