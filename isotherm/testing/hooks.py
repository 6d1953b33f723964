"""The tests of lifecycle plugins and of event sinks."""

from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from hooks.errors import Refusal
from hooks.events import Event, EventSink
from hooks.hook import Hook
from hooks.lifecycle import (
    COMPLETE,
    FAILED,
    REFUSED,
    SUPERSEDED,
    Annotations,
    LifecycleContext,
    LifecyclePlugin,
)
from hooks.stack import FrozenResource, FrozenStack
from isotherm.testing.engine import Engine
from isotherm.testing.pages import undescribed
from orchestrator.lifecycle.answers import answer_to_wire

AnyHook = TypeVar("AnyHook", bound=Hook)

_MAKING = ("CREATE", "ADOPT", "UPDATE", "ROLLBACK", "RESTORE")
_AS_IT_IS = ("CHECK", "SUSPEND", "RESUME", "SNAPSHOT")
_ENDING = ("DELETE", "ABANDON")
_TEMPLATE = """\
heat_template_version: 2021-04-16
resources: {it: {type: OS::Heat::TestResource, properties: {value: VALUE}}}
"""


def _made(kind: type[AnyHook], options: Mapping[str, Any]) -> AnyHook:
    return kind(kind.Options.model_validate(dict(options)))


class LifecycleConformance:
    """Derive from it, and say at least ``plugin`` and the ``options`` that it needs.

    ``kept`` tells what the plugin keeps outside: with it, what is not begun must leave no trace.
    """

    #: The lifecycle plugin that is tested.
    plugin: ClassVar[type[LifecyclePlugin]]
    options: Mapping[str, Any] = {}
    #: A stack that the plugin agrees to.
    stack: FrozenStack = FrozenStack(
        name="testing",
        id="testing-1",
        root_id="testing-1",
        resources={"it": FrozenResource(name="it", type="OS::Heat::TestResource", properties={"value": "a"})},
    )

    def kept(self) -> Any:
        """Return what the plugin keeps outside, as a value that can be compared."""
        return None

    def test_everything_has_a_description(self) -> None:
        """``isotherm plugin show`` says what the plugin is for, and each of its options."""
        missing = list(undescribed(self.plugin))
        assert not missing, f"without a description: {', '.join(missing)}"

    def test_who_is_asked_twice_answers_the_same(self) -> None:
        """A coordinator that dies has another ask again, for the same operation: nothing is reserved twice."""
        plugin = _made(self.plugin, self.options)
        for action in ("CREATE", "UPDATE"):
            first = self._ask(plugin, action, action)
            kept = self.kept()
            again = self._ask(_made(self.plugin, self.options), action, action)
            assert again == first, f"before {action} it answered {first}, and {again} when asked again"
            assert self.kept() == kept, f"asked again before {action}, it left {self.kept()}, not {kept}"
            self._tell(plugin, action, action, COMPLETE)
        self._end(plugin)

    def test_who_is_told_twice_does_nothing_twice(self) -> None:
        """A process that dies while plugins are told has another tell them again."""
        plugin = _made(self.plugin, self.options)
        for action, outcome in (("CREATE", COMPLETE), ("UPDATE", FAILED), ("UPDATE", SUPERSEDED)):
            operation = f"{action} {outcome}"
            annotations = self._ask(plugin, action, operation)
            self._tell(plugin, action, operation, outcome, annotations)
            kept = self.kept()
            self._tell(_made(self.plugin, self.options), action, operation, outcome, annotations)
            assert self.kept() == kept, (
                f"told again that {action} is {outcome}, it left {self.kept()}, not {kept}"
            )
        self._end(plugin)

    def test_what_is_not_begun_leaves_no_trace(self) -> None:
        """An operation that another plugin refuses, or a process that dies in between, takes back what was taken."""
        plugin, before = _made(self.plugin, self.options), self.kept()
        annotations = self._ask(plugin, "CREATE", "refused")
        self._tell(plugin, "CREATE", "refused", REFUSED, annotations, there=False)
        assert self.kept() == before, f"after a refusal it left {self.kept()}, not {before}"
        self._tell(plugin, "CREATE", "never asked", REFUSED, there=False)
        assert self.kept() == before, (
            f"told of what it was never asked about, it left {self.kept()}, not {before}"
        )

    def test_a_preview_changes_nothing(self) -> None:
        """``do_preview`` only looks."""
        plugin, before = _made(self.plugin, self.options), self.kept()
        context = LifecycleContext(operation_id="", project=self.stack.project)
        said = plugin.do_preview(context, self.stack, None, "CREATE")
        answer_to_wire(said)
        assert self.kept() == before, f"a preview left {self.kept()}, not {before}"

    def test_it_is_asked_and_told_of_every_action(self) -> None:
        """No action is new to it: it agrees or refuses, in words."""
        plugin = _made(self.plugin, self.options)
        for action in (*_MAKING, *_AS_IT_IS, *_ENDING):
            try:
                annotations = self._ask(plugin, action, f"operation {action}")
            except Refusal as error:
                assert str(error), f"it refuses {action} without a word"
                continue
            self._tell(
                plugin, action, f"operation {action}", COMPLETE, annotations, there=action not in _ENDING
            )
        self._end(plugin)

    def test_the_engine_can_work_with_it(self) -> None:
        """A stack is made, changed, checked and deleted with it."""
        plugin = _made(self.plugin, self.options)
        with closing(Engine(plugins=(plugin,))) as engine:
            for value, run in (("a", engine.create), ("b", engine.update)):
                made = run("testing", _TEMPLATE.replace("VALUE", value))
                assert made is not None
                assert made.status == "COMPLETE", made.reason
            assert engine.delete("testing") is None

    def _ask(self, plugin: LifecyclePlugin, action: str, operation: str) -> Annotations | None:
        current = None if action in ("CREATE", "ADOPT") else self._there
        answer = plugin.do_pre_op(
            self._context(operation, action, timeout_seconds=60.0), self.stack, current, action
        )
        answer_to_wire(answer)
        return answer

    def _tell(
        self,
        plugin: LifecyclePlugin,
        action: str,
        operation: str,
        outcome: str,
        annotations: Annotations | None = None,
        *,
        there: bool = True,
    ) -> None:
        context = self._context(operation, action, outcome=outcome, annotations=annotations)
        current = self._there if there else None
        plugin.do_post_op(context, self.stack, current, action, outcome != COMPLETE)

    def _end(self, plugin: LifecyclePlugin) -> None:
        self._ask(plugin, "DELETE", "the end")
        self._tell(plugin, "DELETE", "the end", COMPLETE, there=False)

    def _context(self, operation: str, action: str, **said: Any) -> LifecycleContext:
        project = self.stack.project
        return LifecycleContext(operation_id=operation, project=project, root_action=action, **said)

    @property
    def _there(self) -> FrozenStack:
        """The stack once it is made."""
        there = {
            name: replace(each, uuid=f"row of {name}", action="CREATE", status="COMPLETE", physical_id=name)
            for name, each in self.stack.resources.items()
        }
        return replace(self.stack, resources=there)


class EventSinkConformance:
    """Derive from it, and say at least ``sink`` and the ``options`` that it needs.

    ``received`` tells the ids of the events that got where the sink sends them: with it, none may be missing.
    """

    #: The event sink that is tested.
    sink: ClassVar[type[EventSink]]
    options: Mapping[str, Any] = {}

    def received(self) -> Collection[int] | None:
        """Return the ids of the events that arrived; None where that cannot be told."""
        return None

    def test_everything_has_a_description(self) -> None:
        """``isotherm plugin show`` says what the sink is for, and each of its options."""
        missing = list(undescribed(self.sink))
        assert not missing, f"without a description: {', '.join(missing)}"

    def test_events_arrive(self) -> None:
        """All that it is handed arrives, whatever is in it."""
        sink = _made(self.sink, self.options)
        sink.consume(_events(1, 2, 3))
        sink.consume(_events(4))
        self._close(sink)
        self._has(1, 2, 3, 4)

    def test_events_that_come_again_do_no_harm(self) -> None:
        """What was handed over and not put on record comes again, to it and to the process that goes on."""
        sink = _made(self.sink, self.options)
        sink.consume(_events(1, 2))
        state: object = sink.save()
        assert isinstance(state, bytes), f"save returned {state!r}, no bytes"
        sink.kept()
        sink.consume(_events(3, 4))
        # The process dies here: what was saved last is on record, and its events are not handed over again.
        self._close(sink)
        other = _made(self.sink, self.options)
        other.restore(state)
        other.consume(_events(3, 4))
        other.consume(_events(4, 5))
        other.kept()
        self._close(other)
        self._has(1, 2, 3, 4, 5)

    def _close(self, sink: EventSink) -> None:
        sink.close()
        sink.close()

    def _has(self, *ids: int) -> None:
        received = self.received()
        if received is None:
            return
        missing = sorted(set(ids) - set(received))
        assert not missing, f"events that did not arrive: {missing}"


def _events(*ids: int) -> tuple[Event, ...]:
    """Return events of all shapes."""
    return tuple(
        Event(
            id=number,
            at=1_767_225_600.0 + number,
            stack_id="5b1b3c1e-0000-4000-8000-000000000001",
            stack_name="testing",
            project="default",
            operation_id="5b1b3c1e-0000-4000-8000-000000000002",
            resource="it" if number % 2 else "",
            resource_id="5b1b3c1e-0000-4000-8000-000000000003" if number % 2 else "",
            type="OS::Heat::TestResource" if number % 2 else "stack",
            action="CREATE",
            status=("IN_PROGRESS", "COMPLETE", "FAILED")[number % 3],
            reason="" if number % 3 else 'it "failed": ä → \U0001f9ca\n' * 20,
            physical_id=None if number % 4 else "object-1",
            cause="" if number % 5 else "retry",
            worker="worker@host:1:2",
        )
        for number in ids
    )
