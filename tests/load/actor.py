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
OPERATIONS_FAILED: Final = frozenset({"CHECK_FAILED", "SUSPEND_FAILED", "RESUME_FAILED"})
FAILED: Final = OPERATIONS_FAILED | {"CREATE_FAILED", "UPDATE_FAILED", "ROLLBACK_FAILED"}
DELETED: Final = frozenset({"DELETE_COMPLETE"})
#: What an actor does with a stack, and how often.
ACTS: Final[Mapping[str, int]] = {
    "update": 8,
    "cancel": 2,
    "cancel without rollback": 1,
    "delete": 2,
    "pause": 5,
    "CHECK": 1,
    "SUSPEND": 1,
    "RESUME": 2,
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


@dataclass(kw_only=True)
class Life:
    """A stack, and how it must end by what was accepted last."""

    id: str
    #: The states that it may end in; None where a job was not answered, so that it may end in any.
    states: frozenset[str] | None = None
    #: What it is to be when it is COMPLETE; None where that depends on which operation was faster.
    definition: Definition | None = None
    past: list[str] = field(default_factory=list)

    def expect(self, what: str, states: frozenset[str] | None, definition: Definition | None) -> None:
        """Let the stack end so from now on."""
        self.states, self.definition = states, definition
        self.past.append(what)


def any_definition(chance: random.Random) -> Definition:
    """Return any definition."""
    number, fails = chance.randint(1, 5), chance.random() < 0.12
    lines, values = ["heat_template_version: 2021-04-16", "resources:"], dict[str, str]()
    for each in range(number):
        own, other = chance.choice("abcdef"), f"e{chance.randrange(each)}" if each else ""
        uses = bool(each) and chance.random() < 0.6
        values[f"e{each}"] = f"{own}+{values[other]}" if uses else own
        parts = f"[{own}, {{get_attr: [{other}, value]}}]" if uses else f"[{own}]"
        lines.append(
            f"  e{each}: {{type: Load::Entry, properties: {{value: {{list_join: ['+', {parts}]}}, "
            f"kind: {chance.choice('xxxxz')}, seconds: {chance.choice((0, 0, 0.5, 1.5))}, "
            f"busy: {chance.random() < 0.2}, fail: {fails and each == number - 1}}}}}"
        )
    if chance.random() < 0.4:
        member = f"resource_def: {{type: Load::Entry, properties: {{value: '{chance.randint(1, 3)}'}}}}"
        number += (count := chance.randint(0, 4))
        lines.append(f"  group: {{type: OS::Heat::ResourceGroup, properties: {{count: {count}, {member}}}}}")
    if chance.random() < 0.3:
        number += 2
        lines.append(f"  inner: {{type: inner.yaml, properties: {{value: '{chance.randint(1, 3)}'}}}}")
    template = "\n".join([*lines, WAITING if chance.random() < 0.15 else ""])
    return Definition(template=template, values=values, files=number, fails=fails)


class Actor:
    """Does one thing after the other until it is stopped; not thread-safe."""

    def __init__(self, service: Service, name: str, seed: int) -> None:
        self._service, self._name = service, name
        self._chance = random.Random(f"{seed}/{name}")
        self.lives: list[Life] = []
        #: How often each thing was done or refused.
        self.done: Counter[str] = Counter()
        #: Errors that no user should see.
        self.faults: list[str] = []

    def run(self, is_over: Callable[[], bool]) -> None:
        """Go on until it is over."""
        while not is_over():
            try:
                self._act()
            except Exception as error:  # noqa: BLE001  # such as a bug in what is tested
                self.faults.append(f"{self._name}: {type(error).__name__}: {error}")
            sleep(self._chance.choice((0.0, 0.0, 0.1, 0.5, 2.0)))

    def signal(self, life: Life) -> None:
        """Signal the handle of a stack that waits for it, if it takes signals now."""
        act = lambda: self._service.signal(life.id, "handle", {"status": "SUCCESS"})  # noqa: E731
        self._is_accepted("signal", act)

    def delete(self, life: Life) -> None:
        """Delete a stack."""
        self._try("delete", life, lambda: self._service.delete(life.id), DELETED)

    def _act(self) -> None:
        if not self.lives or self.lives[-1].states == DELETED:
            self._define("create", None)
            return
        life, (what,) = self.lives[-1], self._chance.choices(list(ACTS), list(ACTS.values()))
        if life.definition is not None and WAITING in life.definition.template:
            self.signal(life)
        if what == "update":
            self._define("update", life)
        elif what == "delete":
            self.delete(life)
        elif what.startswith("cancel"):
            rollback = what == "cancel"
            states = OPERATIONS_FAILED | {"ROLLBACK_COMPLETE"} if rollback else FAILED
            self._try(what, life, lambda: self._service.cancel(life.id, rollback=rollback), states)
        elif what != "pause":
            self._operate(what, life)

    def _define(self, what: str, life: Life | None) -> None:
        wanted, rollback = any_definition(self._chance), self._chance.random() < 0.5
        name = life.id if life else f"{self._name}-{len(self.lives)}"
        job = StackJob(name=name, template=wanted.template, files={"inner.yaml": INNER}, rollback=rollback)
        failed = "ROLLBACK_COMPLETE" if rollback else f"{what.upper()}_FAILED"
        states = frozenset({failed if wanted.fails else f"{what.upper()}_COMPLETE"})
        if life:
            self._try(what, life, lambda: self._service.update(job), states, wanted)
            return
        life = Life(id=self._service.create(job).id)
        self.lives.append(life)
        self.done[what] += 1
        life.expect(what, states, wanted)

    def _operate(self, action: str, life: Life) -> None:
        for _ in range(20):
            if self._service.progress(life.id).finished:
                break
            sleep(0.2)
        is_sound = life.definition is not None and not life.definition.fails
        states = frozenset({f"{action}_COMPLETE"} if is_sound else {f"{action}_COMPLETE", f"{action}_FAILED"})
        self._try(action, life, lambda: self._service.operate(action, life.id), states, life.definition)

    def _try(
        self,
        what: str,
        life: Life,
        act: Callable[[], object],
        states: frozenset[str],
        wanted: Definition | None = None,
    ) -> None:
        try:
            if self._is_accepted(what, act):
                life.expect(what, states, wanted)
            else:
                life.past.append(f"{what} (refused)")
        except (Unavailable, InvalidInput):
            life.expect(f"{what} (not answered)", None, None)
            raise

    def _is_accepted(self, what: str, act: Callable[[], object]) -> bool:
        try:
            act()
        except (Conflict, NotFound):
            self.done[f"{what} refused"] += 1
            return False
        self.done[what] += 1
        return True
