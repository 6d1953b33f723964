"""A model of an installation: how fast it is on any number of machines, and what is busiest there.

Discrete events: jobs are begun by coordinators, messages pass through Redis and the main process of a worker to its
children, and checks that are claimed together take turns on the processors of their machine, on those of PostgreSQL,
and at its log on disk.
The costs are those that ``python -m tests.bench.costs`` measured; ``python -m tests.bench.model`` prints what follows.
"""

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from orchestrator.store.rows import chunked
from tests.bench.costs import Costs, load
from tests.bench.installation import pause_between_asks
from tests.bench.passes import BATCH_SIZE, RUN_SIZE
from tests.bench.shapes import SHAPES
from workers.check.checker import CARRY_ON, LINKS

#: How often processes look whether there is something to be done.
IDLE_MS = 50.0
#: A process that does one thing after the other: it yields a station and how long it needs one of its places.
Process = Generator[tuple["Station", float], None, None]


class Station:
    """Places that are taken in the order of arrival, such as processors."""

    def __init__(self, name: str, places: int) -> None:
        self.name, self.places = name, places
        self.free, self.busy_ms = places, 0.0
        self.waiting: deque[tuple[Process, float]] = deque()


class Pause(Station):
    """Where any number of processes wait, and keep nothing busy."""

    def __init__(self) -> None:
        super().__init__("pause", 10**6)


class Log(Station):
    """A log on disk: one write at a time, which writes all that have come by its beginning."""


class Simulation:
    """Processes at stations, in the order of time."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def begin(self, process: Process) -> None:
        """Let a process go on to its next station."""
        step = next(process, None)
        if step is not None:
            self._arrive(process, *step)

    def run(self) -> None:
        """Go on until nothing happens any more."""
        while self._events:
            self.now, _, act = heapq.heappop(self._events)
            act()

    def _arrive(self, process: Process, station: Station, needed_ms: float) -> None:
        station.waiting.append((process, needed_ms))
        self._serve(station)

    def _serve(self, station: Station) -> None:
        while station.free and station.waiting:
            together = len(station.waiting) if isinstance(station, Log) else 1
            served = [station.waiting.popleft() for _ in range(together)]
            needed_ms = max(each for _, each in served)
            station.free -= 1
            station.busy_ms += needed_ms
            event = (
                self.now + needed_ms,
                next(self._numbers),
                self._leaving(station, [each for each, _ in served]),
            )
            heapq.heappush(self._events, event)

    def _leaving(self, station: Station, served: list[Process]) -> Callable[[], None]:
        def leave() -> None:
            station.free += 1
            for process in served:
                self.begin(process)
            self._serve(station)

        return leave


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """An installation: worker machines with a worker each, and what they share. None: all on one machine."""

    workers: int = 1
    processors: int = 2
    children: int = 2
    coordinators: int = 1
    postgres_processors: int | None = None
    #: How many PostgreSQLs and Redises share the stacks.
    shards: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What came of a run."""

    rate: float
    #: How busy each kind of station was, at most, from 0 to 1.
    busy: dict[str, float]

    @property
    def busiest(self) -> str:
        """The kind of station that was busy most of the time."""
        return max(self.busy, key=lambda name: self.busy[name])


@dataclass(slots=True)
class _Stack:
    """The graph of a stack, and where its messages are."""

    left: list[int]
    dependents: list[list[int]]
    postgres: Station
    log: Station
    broker: Station
    done: int = 0
    ended_at: float = 0.0

    @property
    def is_complete(self) -> bool:
        """Whether all checks have ended."""
        return self.done == len(self.left)

    def links_behind(self, number: int, most: int) -> list[int]:
        """Return the links of a chain behind one: each waits only for the one before, for which nothing else waits."""
        links: list[int] = []
        while len(links) < most and len(others := self.dependents[number]) == 1 and self.left[others[0]] == 1:
            number = others[0]
            links.append(number)
        return links

    def end(self, numbers: Sequence[int], now: float) -> list[int]:
        """End checks, and the links behind them; return what is ready by that."""
        self.done, self.ended_at = self.done + len(numbers), now
        ready = []
        for other in itertools.chain.from_iterable(self.dependents[number] for number in numbers):
            self.left[other] -= 1
            if not self.left[other]:
                ready.append(other)
        ended = set(numbers)
        return [other for other in ready if other not in ended]


@dataclass(slots=True)
class _Worker:
    cpu: Station
    main: Station
    idle: int


class Installation:
    """Runs stacks on machines."""

    def __init__(self, costs: Costs, machines: Machines) -> None:
        self.costs, self.machines, self.sim = costs, machines, Simulation()
        self._queue: deque[tuple[_Stack, Sequence[int]]] = deque()
        shared = Station("processors", machines.processors)
        apart = machines.postgres_processors
        shards = range(machines.shards)
        self.postgres = [Station("PostgreSQL", apart) if apart else shared for _ in shards]
        self.logs = [Log("PostgreSQL's log", 1) for _ in shards]
        self.brokers = [Station("Redis", 1) if apart else shared for _ in shards]
        self.coordinators = Station("coordinators", machines.coordinators) if apart else shared
        # As many as there are jobs.
        self.clients = Station("clients", 10**6) if apart else shared
        self.pause = Pause()
        self.workers = [
            _Worker(
                cpu := Station("workers", machines.processors) if apart else shared, cpu, machines.children
            )
            for _ in range(machines.workers)
        ]
        for worker in self.workers if apart else ():
            worker.main = Station("main processes of workers", 1)

    def run(self, shape: str, size: int, stacks: int = 1, *, asked: bool = False) -> Prediction:
        """Return how fast so many stacks are made that arrive at once.

        ``asked``: the clients ask for their stacks until these are complete, as the bench does, and a stack is made
        when its client knows it.
        """
        made = [self._stack(shape, size, number % self.machines.shards) for number in range(stacks)]
        for stack in made:
            self.sim.begin(self._begin(stack, asked=asked))
        if self.machines.postgres_processors is None:
            self.sim.begin(self._idle(made))
        self.sim.run()
        total_ms = max(stack.ended_at for stack in made)
        assert all(stack.done == size for stack in made)
        stations = [*self.postgres, *self.logs, *self.brokers, self.coordinators]
        stations += [each for worker in self.workers for each in (worker.cpu, worker.main)]
        busy: dict[str, float] = {}
        for each in stations:
            busy[each.name] = max(busy.get(each.name, 0.0), each.busy_ms / self.sim.now / each.places)
        return Prediction(rate=1000 * size * stacks / total_ms, busy=busy)

    def _stack(self, shape: str, size: int, shard: int) -> _Stack:
        requires = [SHAPES[shape](number, size) for number in range(size)]
        dependents: list[list[int]] = [[] for _ in range(size)]
        for number, others in enumerate(requires):
            for other in others:
                dependents[other].append(number)
        left = [len(others) for others in requires]
        return _Stack(left, dependents, self.postgres[shard], self.logs[shard], self.brokers[shard])

    def _begin(self, stack: _Stack, *, asked: bool) -> Process:
        size, costs, required = len(stack.left), self.costs, sum(stack.left)
        yield self.clients, costs.submit_stack + costs.submit * size + costs.submit_requirement * required
        yield self.coordinators, costs.begin_stack + costs.begin * size + costs.begin_requirement * required
        yield stack.postgres, costs.rows_stack + costs.rows * size + costs.rows_requirement * required
        yield stack.log, costs.commit
        if asked:
            self.sim.begin(self._ask(stack))
        yield from self._publish(stack, [number for number, left in enumerate(stack.left) if not left])

    def _publish(self, stack: _Stack, numbers: Sequence[int]) -> Process:
        for some in chunked(numbers, BATCH_SIZE):
            yield stack.broker, self.costs.broker
            self._queue.append((stack, some))
            self._hand_out()

    def _ask(self, stack: _Stack) -> Process:
        """Ask until the stack is complete."""
        size, costs = len(stack.left), self.costs
        while True:
            is_complete = stack.is_complete
            yield self.clients, costs.ask + costs.ask_resource * size
            yield stack.postgres, costs.ask_postgres + costs.ask_resource_postgres * size
            if is_complete:
                stack.ended_at = self.sim.now
                return
            yield self.pause, 1000 * pause_between_asks(size)

    def _idle(self, stacks: Sequence[_Stack]) -> Process:
        """Do what the processes of one machine do besides, until all stacks are complete."""
        while not all(stack.is_complete for stack in stacks):
            yield self.coordinators, self.costs.idle * IDLE_MS / 1000
            yield self.pause, IDLE_MS

    def _end(self, worker: "_Worker", stack: _Stack) -> Process:
        """Use what the end of a complete stack costs its processes; no client waits for that."""
        yield worker.cpu, self.costs.end_worker
        yield self.coordinators, self.costs.end_coordinator
        yield stack.postgres, self.costs.end_rows

    def _hand_out(self) -> None:
        """Give messages to workers with an idle child, the least busy first."""
        while self._queue:
            worker = max(self.workers, key=lambda each: each.idle)
            if not worker.idle:
                return
            worker.idle -= 1
            self.sim.begin(self._child(worker, *self._queue.popleft()))

    def _child(self, worker: _Worker, stack: _Stack, numbers: Sequence[int]) -> Process:
        """Carry out the checks of a message, and then what they make ready, as a checker does."""
        yield worker.main, self.costs.dispatch
        yield worker.cpu, self.costs.message
        yield from self._transaction(worker, stack)
        left = (CARRY_ON - 1) * LINKS - (1 if len(numbers) == 1 else LINKS)
        links = min(RUN_SIZE, left) - 1 if len(numbers) == 1 else 0
        while numbers:
            most = BATCH_SIZE if left > 0 else 0
            behind = stack.links_behind(numbers[0], links)
            yield worker.cpu, self.costs.check * len(numbers) + self.costs.link * len(behind)
            if links > 0:
                # They are read first, which commits nothing.
                yield worker.cpu, self.costs.transaction
                yield stack.postgres, self.costs.postgres_transaction
            yield from self._transaction(worker, stack, len(numbers), len(behind))
            ready = stack.end([*numbers, *behind], self.sim.now)
            if stack.is_complete:
                self.sim.begin(self._end(worker, stack))
            numbers, others = ready[:most], ready[most:]
            yield from self._publish(stack, others)
            is_link = len(numbers) == 1 and not others
            left -= len(behind) + (1 if is_link else LINKS)
            links = min(RUN_SIZE, left) - 1 if is_link and (behind or not links) else 0
        worker.idle += 1
        self._hand_out()

    def _transaction(self, worker: _Worker, stack: _Stack, checks: int = 0, links: int = 0) -> Process:
        """Claim or end nodes in one transaction, which ends so many checks, and so many links behind one of them."""
        costs = self.costs
        yield worker.cpu, costs.transaction
        yield (
            stack.postgres,
            costs.postgres_transaction + costs.postgres_check * checks + costs.postgres_link * links,
        )
        yield stack.log, costs.commit


#: What is predicted: the machine that the bench runs on, and larger installations, with many stacks at once.
APART = {"processors": 8, "children": 8, "postgres_processors": 16}
CASES = {
    "1 machine": Machines(),
    "1 worker machine, PostgreSQL apart": Machines(**APART),
    "4 worker machines": Machines(workers=4, coordinators=2, **APART),
    "16 worker machines": Machines(workers=16, coordinators=8, **APART),
    "100 worker machines": Machines(workers=100, coordinators=16, **APART),
    "100 worker machines, 64 coordinators": Machines(workers=100, coordinators=64, **APART),
    "the same, 4 shards": Machines(workers=100, coordinators=64, shards=4, **APART),
}


def main() -> None:
    """Print the predictions."""
    costs = load()
    for size in (1_000, 10_000):
        for shape in ("wide", "layers", "chain"):
            predicted = Installation(costs, Machines()).run(shape, size, asked=True)
            print(f"1 machine, one stack of {size}, {shape:7} {predicted.rate:8.0f}/s")
    for name, machines in CASES.items():
        stacks = max(20, 2 * machines.workers * machines.children)
        predicted = Installation(costs, machines).run("layers", 100, stacks=stacks)
        busy = ", ".join(f"{each} {100 * part:.0f} %" for each, part in predicted.busy.items())
        print(f"{name:36} {predicted.rate:8.0f}/s  {predicted.busiest}; {busy}")


if __name__ == "__main__":
    main()
