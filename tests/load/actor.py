"""Actors of the load: each has one stack after the other, does what its seed says, and knows how that must end."""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import sleep
from typing import Final

from orchestrator.errors import Conflict, InvalidInput, NotFound, Unavailable
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from orchestrator.views.stacks import StackView

INNER: Final = """\
heat_template_version: 2021-04-16
parameters: {value: {type: string}}
resources:
  one: {type: Load::Entry, properties: {value: {get_param: value}}}
  two: {type: Load::Entry, depends_on: one, properties: {value: {get_param: value}, seconds: 0.3}}
"""
WAITING: Final = """\
  handle: {type: OS::Heat::WaitConditionHandle}
  condition: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 3600}}
"""
FAILED: Final = frozenset({"CREATE_FAILED", "UPDATE_FAILED", "ROLLBACK_FAILED"})
OPERATIONS_FAILED: Final = frozenset({"CHECK_FAILED", "SUSPEND_FAILED", "RESUME_FAILED"})
#: What an actor does with a stack, and how often.
ACTS: Final[Mapping[str, int]] = {
    "update": 8,
    "cancel": 2,
    "cancel_alone": 1,
    "check": 1,
    "suspend": 1,
    "resume": 2,
    "delete": 2,
    "wait": 5,
}


@dataclass(frozen=True, kw_only=True)
class Definition:
    """What a stack is to be."""

    template: str
    #: By name, what the files of its entries hold.
    values: Mapping[str, str]
    #: How many files there are with those of nested stacks.
    files: int
    fails: bool
    waits: bool


@dataclass(kw_only=True)
class Life:
    """A stack, and how it must end by what was accepted last."""

    id: str
    #: The states that it may end in; None where a job was not answered, so that it may end in any.
    states: frozenset[str] | None
    #: What it is to be when it is COMPLETE; None where that depends on which operation was faster.
    definition: Definition | None
    waits: bool = False
    past: list[str] = field(default_factory=list)


def definition(chance: random.Random) -> Definition:
    """Return any definition."""
    number = chance.randint(1, 5)
    fails, waits = chance.random() < 0.12, chance.random() < 0.15
    lines, values = ["heat_template_version: 2021-04-16", "resources:"], dict[str, str]()
    for each in range(number):
        own, parts = chance.choice("abcdef"), ""
        if each and chance.random() < 0.6:
            other = f"e{chance.randrange(each)}"
            parts = f", {{get_attr: [{other}, value]}}"
            own = f"{own}+{values[other]}"
        values[f"e{each}"] = own
        properties = (
            f"value: {{list_join: ['+', [{own[0]}{parts}]]}}, kind: {chance.choice('xxxxy')}, "
            f"busy: {str(chance.random() < 0.2).lower()}, seconds: {chance.choice((0, 0, 0.5, 1.5))}, "
            f"fail: {str(fails and each == number - 1).lower()}"
        )
        lines.append(f"  e{each}: {{type: Load::Entry, properties: {{{properties}}}}}")
    files = number
    if chance.random() < 0.4:
        files += (count := chance.randint(0, 4))
        lines.append(
            f"  group: {{type: OS::Heat::ResourceGroup, properties: {{count: {count}, "
            f"resource_def: {{type: Load::Entry, properties: {{value: '{chance.randint(1, 3)}'}}}}}}}}"
        )
    if chance.random() < 0.3:
        files += 2
        lines.append(f"  inner: {{type: inner.yaml, properties: {{value: '{chance.randint(1, 3)}'}}}}")
    template = "\n".join([*lines, ""]) + (WAITING if waits else "")
    return Definition(template=template, values=values, files=files, fails=fails, waits=waits)


class Actor:
    """Does one thing after the other until it is stopped; not thread-safe."""

    def __init__(self, service: Service, name: str, seed: int) -> None:
        self._service, self._name = service, name
        self._chance = random.Random(f"{seed}/{name}")
        self.lives: list[Life] = []
        #: How often each thing was done, and how often it was refused.
        self.done: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.faults: list[str] = []

    def run(self, is_over: Callable[[], bool]) -> None:
        """Go on until it is over. Errors that no user should see are faults."""
        while not is_over():
            try:
                self._act()
            except Exception as error:  # noqa: BLE001  # such as a bug in what is tested
                self.faults.append(f"{self._name}: {type(error).__name__}: {error}")
            sleep(self._chance.choice((0.0, 0.0, 0.1, 0.5, 2.0)))

    def _act(self) -> None:
        if not self.lives or self.lives[-1].states == {"DELETE_COMPLETE"}:
            self._create()
            return
        life = self.lives[-1]
        if life.waits:
            self.signal(life)
        act = self._chance.choices(list(ACTS), list(ACTS.values()))[0]
        getattr(self, f"_{act}")(life)

    def signal(self, life: Life) -> None:
        """Signal the handle of a stack, if there is one that takes signals now."""
        try:
            self._service.signal(life.id, "handle", {"status": "SUCCESS"})
            self.done["signal"] += 1
        except (Conflict, NotFound):
            self.refused["signal"] += 1

    def _job(self, name: str, wanted: Definition, *, rollback: bool) -> StackJob:
        return StackJob(name=name, template=wanted.template, files={"inner.yaml": INNER}, rollback=rollback)

    def _create(self) -> None:
        wanted, rollback = definition(self._chance), self._chance.random() < 0.5
        job = self._job(f"{self._name}-{len(self.lives)}", wanted, rollback=rollback)
        stack = self._service.create(job)
        self.done["create"] += 1
        self.lives.append(Life(id=stack.id, states=frozenset(), definition=None))
        self._expect("create", self.lives[-1], _ends(wanted, "CREATE", rollback=rollback), wanted)

    def _update(self, life: Life) -> None:
        wanted, rollback = definition(self._chance), self._chance.random() < 0.5
        job = self._job(life.id, wanted, rollback=rollback)
        states = _ends(wanted, "UPDATE", rollback=rollback)
        self._try("update", life, lambda: self._service.update(job), states, wanted)

    def _cancel(self, life: Life) -> None:
        states = frozenset({"ROLLBACK_COMPLETE", *OPERATIONS_FAILED})
        self._try("cancel", life, lambda: self._service.cancel(life.id), states, None)

    def _cancel_alone(self, life: Life) -> None:
        act = lambda: self._service.cancel(life.id, rollback=False)  # noqa: E731
        self._try("cancel without rollback", life, act, FAILED | OPERATIONS_FAILED, None)

    def _delete(self, life: Life) -> None:
        self._try("delete", life, lambda: self._service.delete(life.id), frozenset({"DELETE_COMPLETE"}), None)

    def _check(self, life: Life) -> None:
        self._operate("CHECK", life)

    def _suspend(self, life: Life) -> None:
        self._operate("SUSPEND", life)

    def _resume(self, life: Life) -> None:
        self._operate("RESUME", life)

    def _operate(self, action: str, life: Life) -> None:
        self._wait(life)
        is_sound = life.definition is not None and not life.definition.fails
        states = {f"{action}_COMPLETE"} if is_sound else {f"{action}_COMPLETE", f"{action}_FAILED"}
        act = lambda: self._service.operate(action, life.id)  # noqa: E731
        self._try(action.lower(), life, act, frozenset(states), life.definition)

    def _wait(self, life: Life) -> None:
        for _ in range(20):
            if self._service.progress(life.id).finished:
                return
            sleep(0.2)

    def _try(
        self,
        what: str,
        life: Life,
        act: Callable[[], StackView | None],
        states: frozenset[str],
        wanted: Definition | None,
    ) -> None:
        try:
            act()
        except (Conflict, NotFound):
            self.refused[what] += 1
            life.past.append(f"{what} (refused)")
            return
        except (Unavailable, InvalidInput) as error:
            self.faults.append(f"{self._name}: {what}: {error}")
            life.states, life.definition = None, None
            return
        self.done[what] += 1
        self._expect(what, life, states, wanted)

    @staticmethod
    def _expect(what: str, life: Life, states: frozenset[str], wanted: Definition | None) -> None:
        life.states, life.definition = states, wanted
        life.waits = life.waits or (wanted is not None and wanted.waits)
        life.past.append(what)


def _ends(wanted: Definition, action: str, *, rollback: bool) -> frozenset[str]:
    if not wanted.fails:
        return frozenset({f"{action}_COMPLETE"})
    return frozenset({"ROLLBACK_COMPLETE" if rollback else f"{action}_FAILED"})
