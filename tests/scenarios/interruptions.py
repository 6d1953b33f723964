"""A story of an update, and what comes of it when it is interrupted after any number of messages.

Each interruption is another command, given after every possible number of messages in turn; then everything ends, and
the stack must be what that command says: nothing else, nothing twice, and what never was to change not touched.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

from orchestrator.errors import Conflict
from orchestrator.model.messages import END
from tests.scenarios.definitions import Definition, enabled, parameters_of, template_of, value_of
from tests.scenarios.witness import Fault, Witness, is_gone
from tests.scenarios.world import World
from tests.thoroughness import some_of

UPDATE: Final = "update"
CANCEL: Final = "cancel"
CANCEL_ALONE: Final = "cancel --no-rollback"
DELETE: Final = "delete"
INTERRUPTIONS = (UPDATE, CANCEL, CANCEL_ALONE, DELETE)


@dataclass(frozen=True, kw_only=True)
class Story:
    """An update from one definition to another, what befalls it, and how it ends if nobody interrupts."""

    before: Definition
    after: Definition
    #: What an interrupting update asks for.
    instead: Definition
    #: The names of resources whose objects are there by hand: the update is an import of these.
    by_hand: tuple[str, ...] = ()
    #: By action and name: what goes wrong, until somebody interrupts.
    faults: Mapping[tuple[str, str], Fault] = field(default_factory=dict)
    #: By name: how many seconds each action takes.
    polls: Mapping[str, int] = field(default_factory=dict)
    rollback: bool = False
    timeout_minutes: float | None = None
    #: The resources that the update visits; empty for all.
    targets: tuple[str, ...] = ()
    ends: str = "UPDATE_COMPLETE"


class Telling:
    """A story being told in a world of its own."""

    def __init__(self, story: Story, *, newest_first: bool = False) -> None:
        """Make the stack as it is before the update, and begin the update."""
        self.story = story
        self.newest_first = newest_first
        self.world = World()
        self.witness = Witness(self.world)
        self.stack_id = self.world.create(template_of(story.before), parameters=parameters_of(story.before))
        self._means(story.before)
        self.world.settle()
        assert self.state == "CREATE_COMPLETE"
        self.ids = self.witness.check_is(self.stack_id, story.before)
        self.world.cloud.polls = dict(story.polls)
        self.witness.faults = {key: replace(fault) for key, fault in story.faults.items()}
        if story.by_hand:
            self._import()
        else:
            self._update(
                story.after,
                rollback=story.rollback,
                timeout_minutes=story.timeout_minutes,
                targets=story.targets,
            )

    @property
    def state(self) -> str:
        """The stack's state."""
        return self.world.state(self.stack_id)

    def advance(self, messages: int) -> bool:
        """Deliver so many messages, each to a worker that takes one step, or let a second pass where there is none.

        Returns False if the story ended before.
        """
        world = self.world
        for _ in range(messages):
            if world.messages:
                order = world.messages.pop(-1 if self.newest_first else 0)
                if order.phase == END:
                    world.coordinator.finish(order)
                else:
                    world.publish(world.checker.step(order))
                continue
            due = world.store.sweeper.next_due()
            if due is None:
                return False
            world.sweep(after=due + 0.001)
        return True

    def interrupt(self, by: str) -> None:
        """Give another command, let everything end, and check that the stack is what the last command says."""
        self.witness.faults = {}
        self.world.cloud.polls = {}
        accepted = False
        with suppress(Conflict):
            _COMMANDS[by](self)
            accepted = True
        self.world.settle()
        self._check(by if accepted else "")
        self._end_well()

    def end(self) -> None:
        """Let the story end without interruption."""
        self.world.settle()
        self._check("")
        self.witness.faults = {}
        self.world.cloud.polls = {}
        self._end_well()

    def _update(
        self,
        definition: Definition,
        *,
        rollback: bool = False,
        timeout_minutes: float | None = None,
        targets: tuple[str, ...] = (),
    ) -> None:
        self.world.update(
            template_of(definition),
            parameters=parameters_of(definition),
            rollback=rollback,
            timeout_minutes=timeout_minutes,
            targets=targets,
        )
        self._means(definition)

    def _import(self) -> None:
        """Begin to import what is there by hand."""
        after = self.story.after
        objects = {name: f"{name}-by-hand" for name in self.story.by_hand}
        for name, physical_id in objects.items():
            self.witness.put(physical_id, after, name, {**self.ids, **objects})
        self.world.take_in(template_of(after), objects, parameters=parameters_of(after))
        self._means(after)
        traversal_id = self.world.store.stacks.find(self.stack_id, project="default").traversal_id
        self.witness.outside = dict.fromkeys(objects.values(), traversal_id)

    def _means(self, definition: Definition) -> None:
        stack = self.world.store.stacks.find(self.stack_id, project="default")
        self.witness.definitions[stack.traversal_id] = definition

    def _check(self, by: str) -> None:
        story = self.story
        assert not self.witness.violations, self.witness.violations
        self.witness.check_at_rest()
        if by == UPDATE:
            assert self.state == "UPDATE_COMPLETE"
            self._check_is(story.instead)
        elif by == DELETE:
            assert self.state == "DELETE_COMPLETE"
        elif by == CANCEL:
            assert self.state == "ROLLBACK_COMPLETE"
            self._check_is(story.before)
        elif by == CANCEL_ALONE:
            assert self.state in ("UPDATE_FAILED", "ROLLBACK_FAILED", "ADOPT_FAILED")
        elif self.state in ("UPDATE_COMPLETE", "ADOPT_COMPLETE"):
            if story.targets:
                self._update_the_rest()
            self._check_is(story.after)
        elif self.state == "ROLLBACK_COMPLETE":
            self._check_is(story.before)
        if by == "":
            # Whoever interrupts takes away what goes wrong, even if what he says is refused.
            assert self.state == story.ends or story.faults or story.polls

    def _update_the_rest(self) -> None:
        stack = self.world.store.stacks.find(self.stack_id, project="default")
        assert stack.partial, "nothing was left"
        self._update(self.story.after)
        self.world.settle()
        assert self.state == "UPDATE_COMPLETE"

    def _end_well(self) -> None:
        """Check that one more update heals what is half-way, and that a deletion leaves nothing."""
        if self.state != "DELETE_COMPLETE":
            if not self.state.endswith("COMPLETE"):
                self._update(self.story.after)
                self.world.settle()
                assert self.state == "UPDATE_COMPLETE"
                self._check_is(self.story.after)
            self.world.delete()
            self.world.settle()
        assert self.state == "DELETE_COMPLETE"
        assert not self.witness.violations, self.witness.violations
        rows = self.witness.rows()
        assert all(is_gone(row) for row in rows.values())
        retained = {
            name for each in self.witness.definitions.values() for name, it in each.items() if it.retained
        }
        alone = self.witness.not_imported()
        objects = self.world.cloud.objects.items()
        left = {rows[maker].name for each, (maker, _) in objects if each not in alone}
        assert left <= retained

    def _check_is(self, definition: Definition) -> None:
        ids = self.witness.check_is(self.stack_id, definition)
        asked = self.witness.definitions.values()
        for name in untouched([*asked, definition]):
            if not any(fired.name == name for fired in self.witness.fired):
                assert ids[name] == self.ids[name], f"{name} was replaced for nothing"


def untouched(asked: list[Definition]) -> Iterator[str]:
    """Return the names of what was one and the same object in every definition that was asked for."""
    for name in asked[0]:
        identities = set()
        for definition in asked:
            there = enabled(definition)
            identities.add((there[name].type, value_of(there, name)) if name in there else None)
        if len(identities) == 1 and None not in identities:
            yield name


_COMMANDS: Final[Mapping[str, Callable[[Telling], object]]] = {
    UPDATE: lambda telling: telling._update(telling.story.instead),
    CANCEL: lambda telling: telling.world.cancel(),
    CANCEL_ALONE: lambda telling: telling.world.cancel(rollback=False),
    DELETE: lambda telling: telling.world.delete(),
}


def interrupt_everywhere(story: Story, by: str, *, newest_first: bool = False) -> int:
    """Tell a story again and again, interrupted after no message, one, two ...; return how many it has.

    That is after any number in a thorough run, otherwise after one of three.
    """
    told = Telling(story, newest_first=newest_first)
    goes_on = True
    interrupted = some_of(range(sys.maxsize), 3)
    for messages in count():
        if messages in interrupted:
            _interrupt(deepcopy(told), by, messages)
        if not goes_on:
            return messages
        goes_on = told.advance(1)
    raise AssertionError("the story never ends")


def _interrupt(telling: Telling, by: str, messages: int) -> None:
    try:
        telling.interrupt(by)
    except AssertionError as error:
        error.add_note(f"interrupted by {by} after {messages} messages")
        raise
    telling.world.close()
