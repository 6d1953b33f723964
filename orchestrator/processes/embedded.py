"""Embedded mode: an in-process queue, worker threads and a sweeper, on the same engine and store.

The process may die at any instruction: operations are in the store, and the next embedded command continues them.
"""

import itertools
import queue
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from orchestrator.config.caller import acting_for, caller
from orchestrator.config.log_context import about_job
from orchestrator.config.logger import get_logger
from orchestrator.config.periodic import Periodic
from orchestrator.config.state_directory import prepare_state_directory
from orchestrator.errors import IsothermError

if TYPE_CHECKING:
    from orchestrator.config.settings import Settings
    from orchestrator.model.messages import CheckOrder, Job
    from orchestrator.processes.runtime import CheckCarrier, Runtime
    from orchestrator.store.store import Store

log = get_logger()

#: The longest pause of the sweeper, for work of other processes on the same database.
SWEEP_SECONDS = 0.25
#: How often the end of a command looks whether the step that it waits for is given up.
LOOK_SECONDS = 1.0


class Embedded:
    """Carries out orders on threads of this process until it is closed. It is its own publisher."""

    def __init__(self, settings: "Settings", *, store: "Store | None" = None) -> None:
        self._orders: queue.SimpleQueue[Sequence[CheckOrder] | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        #: Set at the end of an operation.
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._unwinding: threading.Thread | None = None
        self._settings = settings
        self._numbers = itertools.count()
        self._starting, self._loading = threading.Lock(), threading.Lock()
        self._sweeper = Periodic("sweeper", self._sweep, every_seconds=SWEEP_SECONDS)
        self._store = store

    @cached_property
    def runtime(self) -> "Runtime":
        """The engine, of which a command that reads needs nothing."""
        from orchestrator.processes.runtime import EMBEDDED, Runtime

        return Runtime(self._settings, self, kind=EMBEDDED, store=self._store, replacement=self)

    def publish(self, orders: "Sequence[CheckOrder]") -> None:
        """Queue orders for the threads, several of one traversal together."""
        from orchestrator.model.check_batch import batches_of

        for batch in batches_of(orders, self._settings.batch_size):
            self._orders.put(batch)

    def backlog(self) -> int:
        """Return how many orders may wait for a thread."""
        return self._orders.qsize() * self._settings.batch_size

    def start(self) -> None:
        """Start the threads, and take over the nodes claimed by dead processes of this machine.

        Raises:
            HooksNotLoaded: a lifecycle plugin or an event sink cannot be loaded; nothing was changed.
            InvalidInput: tracing is switched on and cannot be set up; nothing was changed.
            PluginMistake: a resource type cannot be loaded; nothing was changed.
        """
        if not self._threads:
            _load_types()
        self._start()

    def _start(self) -> None:
        with self._starting:
            if self._threads:
                return
            from orchestrator.processes.runtime import is_dead_here

            # Made here, by one thread: the threads below share them.
            runtime = self.runtime
            runtime.load_hooks()
            assert runtime.tracing  # noqa: S101  # set up before anything is changed, as it may fail
            runtime.store.sweeper.take_over(is_dead_here)
            assert runtime.coordinator  # noqa: S101
            runtime.attendance.begin()
            # Cursors are made before the first event.
            runtime.pump.register()
            runtime.pump.start()
            for _ in range(self._settings.embedded_threads):
                self._start_thread()
            self._sweeper.start()

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._work, name=f"worker-{next(self._numbers)}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def request(self) -> None:
        """Do nothing: the process ends with its command, and a hanging call of a hook takes no thread of the work."""

    def give_up(self, thread: threading.Thread) -> None:
        """Let another thread work in the place of one that hangs, which ends when it comes back."""
        with self._starting:
            if thread in self._threads:
                self._threads.remove(thread)
                if not self._stopping.is_set():
                    self._start_thread()

    def submit(self, job: "Job", *, stack: str) -> str:
        """Begin a job, with all threads started, and return the id of its stack.

        Raises:
            IsothermError: the coordinator refused it.
        """
        from orchestrator.model.audit import AuditEntry

        self._load_types_for(job)
        self._start()
        try:
            target = f"{stack} (job {job.job_id})"
            who = replace(caller(), comment=job.comment or caller().comment)
            for operation in job.operations:
                entry = AuditEntry.of(who, operation, project=job.project, target=target)
                self.runtime.store.audit_log.append(entry)
            with about_job(job.task, job_id=job.job_id, stack=stack), acting_for(who):
                return self.runtime.coordinator.begin(job)
        finally:
            self.runtime.pump.wake()

    def _load_types_for(self, job: "Job") -> None:
        """Load the resource types that a job may need; all, where that is not known before it is planned."""
        from orchestrator.model.messages import DeleteJob, StackJob, UpdateJob

        if (
            job.task not in (StackJob.task, UpdateJob.task, DeleteJob.task)
            or self.runtime.store.sweeper.next_due() is not None
        ):
            _load_types()
        elif isinstance(job, (UpdateJob, DeleteJob)):
            for name in self.runtime.store.stacks.types_in_trees(job.name, project=job.project):
                self.runtime.types.get(name)
        # The plan loads those of a new definition.

    def wait_for_an_end(self, seconds: float) -> None:
        """Wait until an operation ends here, at most for so long."""
        self._ended.wait(seconds)
        self._ended.clear()

    def close(self) -> None:
        """Wait for running steps that are not given up, start no further one, and close the store."""
        with self._starting:
            self._stopping.set()
            threads = [*self._threads]
        for _ in threads:
            self._orders.put(None)
        for thread in threads:
            # One may be given up meanwhile.
            while thread in self._threads and thread.is_alive():
                thread.join(LOOK_SECONDS)
        self._sweeper.stop()
        if self._unwinding:
            self._unwinding.join()
        if "runtime" in self.__dict__:
            self.runtime.close()

    def _work(self) -> None:
        while not self._stopping.is_set() and threading.current_thread() in self._threads:
            batch = self._orders.get()
            if batch is None or self._stopping.is_set():
                return
            self._carry_out(batch)

    def _carry_out(self, batch: "Sequence[CheckOrder]") -> None:
        from orchestrator.model.messages import END

        first = batch[0]
        try:
            if first.phase == END:
                self.runtime.coordinator.finish(first)
                self._ended.set()
            else:
                self._checker().check(batch)
        except IsothermError as error:
            log.warning("an order was left to the sweep", resource=first.key, error=str(error))
        except BaseException:  # a plugin that calls sys.exit() must not end a thread that others need
            log.exception("an order was left to the sweep", resource=first.key)
        self.runtime.pump.wake()

    def _checker(self) -> "CheckCarrier":
        """Return the checker that all threads share: of an update that changes nothing, no thread needs it."""
        with self._loading:
            return self.runtime.checker

    def _sweep(self) -> float:
        swept = self.runtime.coordinator.sweep(unwinds=False)
        self._unwind(swept.lost)
        due = None if swept.lost else self.runtime.store.sweeper.next_due()
        wait = SWEEP_SECONDS if due is None else max(due, 0.001)
        return 0.0 if swept.more else min(SWEEP_SECONDS, wait)

    def _unwind(self, lost: Sequence[str]) -> None:
        """Notify lifecycle plugins of lost operations, in a thread of its own: they may be slow."""
        if lost and not (self._unwinding and self._unwinding.is_alive()):
            self._unwinding = threading.Thread(
                target=self.runtime.coordinator.unwind, args=(lost,), name="unwinding", daemon=True
            )
            self._unwinding.start()


def _load_types() -> None:
    """Load all resource types: one that cannot be loaded is found before anything is changed, and not by a thread."""
    from orchestrator.plugins.registry import ResourceTypes

    ResourceTypes.load()


def prepare_database(settings: "Settings", store: "Store") -> None:
    """Create or migrate the SQLite file of embedded mode; require of any other database that it has the schema.

    A database that others may use is migrated only by ``isotherm db upgrade``.

    Raises:
        Unavailable: the state directory or the file cannot be made, or another database has another schema.
    """
    # Alembic is slow to import, and only embedded mode needs it.
    from orchestrator.store import migrations

    url = settings.effective_database_url
    if store.database.postgres or not settings.embedded:
        migrations.require(url)
        return
    prepare_state_directory(settings.state_directory)
    if migrations.current_of(store.database) != migrations.head():
        migrations.upgrade_of(store.database)
