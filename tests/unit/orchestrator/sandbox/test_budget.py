"""A hostile template costs bounded time and memory, however many calls it is made of."""

import json
from typing import Any, ClassVar

import msgpack
import pytest

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition
from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.messages import StackJob
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.sandbox import budget, process
from orchestrator.sandbox.child import Fault
from orchestrator.template import patterns
from orchestrator.template.definitions import ResolveError
from orchestrator.template.functions import yaql
from orchestrator.template.template import Template
from orchestrator.validation.job import examine_job


class Clock:
    """Time that passes with every look at it."""

    def __init__(self, step: float) -> None:
        self.now, self._step = 0.0, step

    def thread_time(self) -> float:
        self.now += self._step
        return self.now

    monotonic = thread_time


def template_of(*properties: Any, parameters: dict[str, Any] | None = None) -> str:
    return json.dumps(
        {
            "heat_template_version": "wallaby",
            "parameters": parameters or {},
            "resources": {
                f"r{number}": {"type": "OS::Heat::None", "properties": {"p": value}}
                for number, value in enumerate(properties)
            },
        }
    )


def examine(template: str, **parameters: Any) -> None:
    job = StackJob(name="s", template=template, template_file="t", parameters=parameters)
    examine_job(job, ResourceTypes.load(), Settings(evaluation_seconds=10))


SPLIT = {"str_split": [",", "a,b"]}


@pytest.mark.parametrize(
    "template",
    [
        template_of(*[SPLIT] * 20),
        template_of([SPLIT] * 20),
        template_of(*[{"list_join": [",", {"get_param": "p"}]}] * 20, parameters={"p": {"type": "json"}}),
        template_of(*[{"if": [{"equals": [1, 2]}, 1, 2]}] * 20),
        template_of(parameters={f"p{number}": {"type": "json", "default": {}} for number in range(20)}),
    ],
)
def test_an_evaluation_ends_when_its_time_is_up(monkeypatch: pytest.MonkeyPatch, template: str) -> None:
    monkeypatch.setattr(budget, "time", Clock(step=1.0))
    values: dict[str, Any] = {"p": []} if "get_param" in template else {}
    with pytest.raises(InvalidInput) as caught:
        examine(template, **values)
    problem = caught.value.problems[-1]
    assert problem.message == "evaluating the template takes longer than 10 seconds"
    assert "evaluation_seconds" in problem.hint
    assert problem.position is not None
    monkeypatch.setattr(budget, "time", Clock(step=0.001))
    examine(template, **values)


def test_one_value_cannot_gather_more_than_so_much() -> None:
    big = "x" * 4_000_000
    calls = [{"get_param": "p"}] * 9
    job = StackJob(
        name="s", template=template_of(calls, parameters={"p": {"type": "string"}}), parameters={"p": big}
    )
    with pytest.raises(InvalidInput, match="characters and parts"):
        examine_job(job, ResourceTypes.load(), Settings())
    separately = StackJob(
        name="s", template=template_of(*calls, parameters={"p": {"type": "string"}}), parameters={"p": big}
    )
    examine_job(separately, ResourceTypes.load(), Settings())


def test_on_a_worker_the_same_bounds_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    template = Template.parse(
        template_of([{"get_param": "p"}] * 20, parameters={"p": {"type": "string"}}),
        file="t",
        files={},
        limits=Limits(),
    )
    definition = template.resources["r0"]
    rebuilt = type(definition).from_fragment("r0", definition.fragment(), Limits(evaluation_seconds=10))
    stack = StackDefinition(name="s", id="", parameters={"p": "x" * 4_000_000})
    with pytest.raises(ResolveError, match="characters and parts"):
        rebuilt.resolve_properties(stack)
    monkeypatch.setattr(budget, "time", Clock(step=1.0))
    with pytest.raises(InvalidInput, match="longer than 10 seconds"):
        rebuilt.resolve_properties(StackDefinition(name="s", id="", parameters={"p": "x"}))


def slow_patterns(count: int) -> str:
    """Return a template in which each parameter has a pattern that takes years."""
    never = {"type": "string", "constraints": [{"allowed_pattern": "(a+)+$"}]}
    return template_of(parameters={f"p{number}": never for number in range(count)})


class NeverAnswers:
    """A child that uses up all the time that it is given."""

    memory_mib = 256
    asked: ClassVar[list[float]] = []
    clock: ClassVar[Clock]

    def __init__(self, _module: str, memory_mib: int) -> None:
        self.memory_mib = memory_mib

    def is_alive(self) -> bool:
        return True

    def ask(self, packed: bytes, seconds: float) -> bytes:
        self.asked.append(seconds)
        self.clock.now += seconds
        raise TimeoutError

    def end(self) -> None:
        """Nothing to end."""


@pytest.fixture
def never_answers(monkeypatch: pytest.MonkeyPatch) -> type[NeverAnswers]:
    NeverAnswers.asked.clear()
    NeverAnswers.clock = Clock(step=0.0)
    # Of the two clocks, that of the processor stands still while another process works.
    monkeypatch.setattr(process, "time", NeverAnswers.clock)
    monkeypatch.setattr(process, "_Child", NeverAnswers)
    for module in (patterns, yaql):
        monkeypatch.setattr(module, "_SANDBOX", process.Sandbox("never started"))
    return NeverAnswers


def test_patterns_take_the_time_of_their_evaluation(never_answers: type[NeverAnswers]) -> None:
    order = StackJob(name="s", template=slow_patterns(200))
    with pytest.raises(InvalidInput, match="evaluating the template takes longer than 5 seconds"):
        examine_job(order, ResourceTypes.load(), Settings(evaluation_seconds=5, pattern_seconds=2))
    assert sum(never_answers.asked) == pytest.approx(5, abs=1)
    assert sum(never_answers.asked) <= 5


def test_yaql_takes_the_time_of_its_evaluation(never_answers: type[NeverAnswers]) -> None:
    slow = {"yaql": {"expression": "$.data.never_ends", "data": 1}}
    order = StackJob(name="s", template=template_of(slow, slow))
    with pytest.raises(InvalidInput, match=r"takes longer than 5 seconds"):
        examine_job(order, ResourceTypes.load(), Settings(evaluation_seconds=5, yaql_seconds=20))
    assert sum(never_answers.asked) <= 5


def test_evaluations_of_one_job_share_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(step=0.0)
    monkeypatch.setattr(budget, "time", clock)
    limits = Limits(evaluation_seconds=10)

    def evaluate(seconds: float) -> None:
        with budget.evaluation(limits):
            clock.now += seconds
            budget.check_time(lambda message, hint: Problem(message=message, hint=hint))

    with budget.shared_time(limits):
        evaluate(6)
        # What is not evaluated takes nothing of it.
        clock.now += 1000
        with budget.shared_time(limits):
            evaluate(4)
        with pytest.raises(InvalidInput, match="longer than 10 seconds"):
            evaluate(1)
    evaluate(10)


def test_other_systems_take_no_shared_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(step=0.0)
    monkeypatch.setattr(budget, "time", clock)
    limits = Limits(evaluation_seconds=10)
    with budget.shared_time(limits):
        for _ in range(2):
            with budget.evaluation(limits):
                clock.now += 5
                with budget.outside():
                    clock.now += 1000
                assert budget.seconds_left() >= 0
        with budget.evaluation(limits):
            assert budget.seconds_left() == 0


def test_turns_of_others_take_no_time_of_an_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(step=0.0)
    monkeypatch.setattr(budget, "time", clock)

    class Child:
        memory_mib = 64
        asked: ClassVar[list[float]] = []

        def __init__(self, *_: object) -> None:
            # The start of a child.
            clock.now += 1000

        def is_alive(self) -> bool:
            return True

        def ask(self, packed: bytes, seconds: float) -> bytes:
            self.asked.append(seconds)
            clock.now += 2
            return bytes(msgpack.packb([None, packed]))

        def end(self) -> None:
            """Nothing to end."""

    monkeypatch.setattr(process, "_Child", Child)
    monkeypatch.setattr(process, "time", clock)
    sandbox = process.Sandbox("never started")
    with budget.evaluation(Limits(evaluation_seconds=10)):
        for _ in range(3):
            sandbox.ask("question", seconds=5, memory_mib=64)
        with pytest.raises(Fault, match="used up"):
            sandbox.ask("question", seconds=5, memory_mib=64)
    assert Child.asked == [5, 5, 2]


def test_job_evaluates_within_a_few_seconds_by_default() -> None:
    assert Settings.evaluation_seconds <= 5


class TwoClocks:
    """The processor's clock, whose looks are counted, and that of the wall, which may be moved on."""

    def __init__(self) -> None:
        self.used, self.wall, self.looks = 0.0, 100.0, 0

    def thread_time(self) -> float:
        self.looks += 1
        return self.used

    def monotonic(self) -> float:
        return self.wall


def test_the_clock_of_the_processor_is_read_only_when_the_time_may_be_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Reading it is a system call, and a large template has many places at which the time is looked at."""
    clocks = TwoClocks()
    monkeypatch.setattr(budget, "time", clocks)

    def look() -> None:
        budget.check_time(lambda message, _hint: Problem(message=message))

    with budget.evaluation(Limits(evaluation_seconds=10)):
        begun = clocks.looks
        for _ in range(1000):
            look()
        assert clocks.looks == begun + 1
        # The thread had the processor for a half of the time.
        clocks.wall, clocks.used = 111.0, 5.5
        look()
        assert clocks.looks == begun + 2
        # What another process used counts, though no time has passed here.
        budget.take(5.0)
        with pytest.raises(InvalidInput, match="longer than 10 seconds"):
            look()
