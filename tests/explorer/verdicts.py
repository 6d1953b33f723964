"""Verdicts on explored orders: rules hold at their end and at rest, and the outcome is that of some serial order."""

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.explorer.driving import Act, Run
from tests.explorer.exploring import orders, serially, some_orders
from tests.explorer.ground import AT_REST, RULES, Ground, Outcome, broken, faults_of, outcome, picture, settle
from tests.explorer.operations import Found
from tests.explorer.scenes import PASSING, Scene
from tests.unit.orchestrator.store.conftest import Bench


@dataclass
class Verdict:
    """What the orders of some operations led to."""

    runs: int = 0
    #: The faults, with the order that led to each.
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Reached:
    """What orders led to: the outcome at rest, and the rules that were broken before or then."""

    outcome: Outcome
    broken: tuple[str, ...]


#: A run, and what it led to.
Explored = tuple[Run, Reached]


@contextmanager
def exploring(ground: Ground, scene: Scene) -> Iterator["Exploration"]:
    """Prepare a scene on the ground, for a test that changes the store while it is explored."""
    ground.clear()
    try:
        yield prepared(ground, scene)
    finally:
        ground.clear()


def prepared(ground: Ground, scene: Scene) -> "Exploration":
    """Return a scene prepared on the ground: the one of the test before, with all that it led to, if it is the same."""
    if not (isinstance(ground.kept, Exploration) and ground.kept.scene is scene):
        ground.clear()
        found = scene.prepare(ground.quiet)
        ground.save()
        ground.kept = Exploration(ground, scene, found)
    return ground.kept


@dataclass
class Exploration:
    """Explorations of one scene, whose rows are saved."""

    ground: Ground
    scene: Scene
    found: Found
    #: By the rows and the results that operations left.
    _known: dict[tuple[Outcome, str], Reached] = field(default_factory=dict)

    def all_orders(
        self, names: Sequence[str], *, row_gates: bool, preemptions: int, most: int = 10_000
    ) -> Verdict:
        """Explore every order with at most so many preemptions."""
        acts = self._acts(names, self._bench(row_gates))
        serial = self._serial(names)
        # Two operations that stop at the same gates one after the other have been run in two of the orders already.
        is_known = len(names) == 2 and not row_gates
        known = [(run, reached) for run, reached in serial if len(run.operations) == 2] if is_known else []
        prefixes = {run.choices[: run.choices[0]]: run for run, _ in known}
        runs = orders(self.ground.driver, acts, preemptions=preemptions, most=most, known=prefixes)
        return self._judge(serial, known, runs)

    def some_orders(self, names: Sequence[str], *, row_gates: bool, seed: int, count: int) -> Verdict:
        """Explore so many orders by chance."""
        acts = self._acts(names, self._bench(row_gates))
        chance = random.Random(seed)
        runs = some_orders(self.ground.driver, acts, chance=chance, count=count)
        return self._judge(self._serial(names), [], runs)

    def _bench(self, row_gates: bool) -> Bench:
        return self.ground.gated if row_gates else self.ground.stepped

    def _acts(self, names: Sequence[str], bench: Bench) -> list[tuple[str, Act]]:
        def act(name: str) -> Act:
            return lambda: self.scene.operations[name](bench, self.found)

        return [(name, act(name)) for name in names]

    def _judge(self, serial: Sequence[Explored], known: Sequence[Explored], runs: Iterator[Run]) -> Verdict:
        """Judge runs by the serial ones, those among them first that are known already."""
        verdict = Verdict()
        outcomes = {reached.outcome for _, reached in serial}
        self.ground.restore()
        for run, reached in itertools.chain(known, self._explored(runs)):
            verdict.runs += 1
            faults = [*faults_of(run.operations), *reached.broken]
            if reached.outcome not in outcomes:
                faults.append(f"it ends as no serial order does: {_difference(reached.outcome, outcomes)}")
            if faults:
                verdict.faults.append("\n".join([*faults, str(run)]))
        return verdict

    def _explored(self, runs: Iterator[Run]) -> Iterator[Explored]:
        for run in runs:
            yield run, self._reached(run)
            self.ground.restore()

    def _serial(self, names: Sequence[str]) -> Sequence[Explored]:
        """Run operations one after the other, in every order, and without those that may pass."""
        self.ground.warm(len(names))
        acts = self._acts(names, self.ground.stepped)
        passing = [act for act in acts if act[0].startswith(PASSING)]
        explored = []
        for left_out in range(len(passing) + 1):
            for out in itertools.combinations(passing, left_out):
                left = [act for act in acts if not any(act is each for each in out)]
                for order in itertools.permutations(range(len(left))):
                    self.ground.restore()
                    run = serially(self.ground.driver, left, order)
                    explored.append((run, self._reached(run)))
        return explored

    def _reached(self, run: Run) -> Reached:
        """Settle what the operations left, once for all orders that left the same."""
        bench, results = self.ground.quiet, [each.result for each in run.operations]
        left = picture(bench), repr(results)
        if left not in self._known:
            found = broken(bench, RULES)
            settle(bench, self.found, results)
            found += broken(bench, {**RULES, **AT_REST})
            self._known[left] = Reached(outcome(bench), tuple(dict.fromkeys(found)))
        return self._known[left]


def _difference(reached: Outcome, serial: set[Outcome]) -> str:
    """Return how an outcome differs from the serial one that is most like it."""
    nearest = min(serial, key=lambda other: len(other ^ reached))
    return f"{_rows(reached - nearest)} instead of {_rows(nearest - reached)}"


def _rows(of: Iterable[tuple[str, int]]) -> str:
    return " ".join(sorted(row for row, _ in of))
