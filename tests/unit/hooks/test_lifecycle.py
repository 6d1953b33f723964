"""Lifecycle plugins are asked in order, and whoever agreed learns how it ended."""

from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from hooks.errors import LifecycleRefused
from hooks.lifecycle import LifecyclePlugin, Operation, in_order, run_post_ops, run_pre_ops

OPERATION = Operation(
    id="traversal-1",
    action="CREATE",
    stack_id="stack-1",
    stack_name="web",
    project="default",
    parameters={"flavor": "small", "password": "******", "zones": ["a", "b"]},
)

Call = tuple[str, str, bool | None]


class Recorder(LifecyclePlugin):
    """Writes its calls into a list that it shares with others, and raises where it is told to."""

    def __init__(
        self, name: str, ordinal: int, calls: list[Call], refuse: bool = False, stumble: bool = False
    ) -> None:
        self.name, self.ordinal, self.calls = name, ordinal, calls
        self.refuse, self.stumble = refuse, stumble

    def pre_op(self, operation: Operation) -> None:
        self.calls.append(("pre", self.name, operation.success))
        if self.refuse:
            raise ValueError("no licence left")

    def post_op(self, operation: Operation) -> None:
        self.calls.append(("post", self.name, operation.success))
        if self.stumble:
            raise OSError("the ledger is full")


@st.composite
def recorders(draw: Callable[..., Any], refusing: bool) -> list[Recorder]:
    """Plugins with distinct names, some with equal ordinals, any number of them stumbling in ``post_op``."""
    calls: list[Call] = []
    names = draw(st.lists(st.text("abcdef", min_size=1, max_size=3), unique=True, min_size=1, max_size=8))
    return [
        Recorder(
            name,
            draw(st.integers(-2, 2)),
            calls,
            refuse=refusing and draw(st.booleans()),
            stumble=draw(st.booleans()),
        )
        for name in names
    ]


@given(plugins=recorders(refusing=False))
def test_plugins_are_asked_by_ordinal_and_name_and_told_in_reverse(plugins: list[Recorder]) -> None:
    expected = [name for _, name in sorted((plugin.ordinal, plugin.name) for plugin in plugins)]
    run_pre_ops(plugins, OPERATION)
    run_post_ops(plugins, replace(OPERATION, success=True))
    asked = [("pre", name, None) for name in expected]
    told = [("post", name, True) for name in reversed(expected)]
    assert plugins[0].calls == asked + told


@given(plugins=recorders(refusing=True))
def test_refusal_unwinds_exactly_those_that_agreed(plugins: list[Recorder]) -> None:
    ordered = [plugin for plugin in in_order(plugins) if isinstance(plugin, Recorder)]
    refusing = [number for number, plugin in enumerate(ordered) if plugin.refuse]
    if not refusing:
        run_pre_ops(plugins, OPERATION)
        assert plugins[0].calls == [("pre", plugin.name, None) for plugin in ordered]
        return
    first = refusing[0]
    with pytest.raises(LifecycleRefused) as refusal:
        run_pre_ops(plugins, OPERATION)
    asked = [("pre", plugin.name, None) for plugin in ordered[: first + 1]]
    undone = [("post", plugin.name, False) for plugin in reversed(ordered[:first])]
    assert plugins[0].calls == asked + undone
    assert refusal.value.plugin == ordered[first].name


@given(plugins=recorders(refusing=False))
def test_every_plugin_is_told_however_many_stumble(plugins: list[Recorder]) -> None:
    with capture_logs() as logs:
        faults = run_post_ops(plugins, replace(OPERATION, success=False))
    stumbling = [plugin.name for plugin in reversed(in_order(plugins)) if plugin.stumble]  # type: ignore[attr-defined]
    assert len(plugins[0].calls) == len(plugins)
    assert [fault.hook for fault in faults] == stumbling
    assert [entry["plugin"] for entry in logs] == stumbling
    assert all(entry["operation"] == "traversal-1" for entry in logs)


def test_refusal_names_the_plugin_and_keeps_what_it_said() -> None:
    plugin = Recorder("licences", 1, [], refuse=True)
    with pytest.raises(
        LifecycleRefused, match="refused by lifecycle plugin 'licences': no licence left"
    ) as refusal:
        run_pre_ops([plugin], OPERATION)
    assert isinstance(refusal.value.__cause__, ValueError)


def test_refusal_without_words_is_named_by_its_class() -> None:
    class Silent(LifecyclePlugin):
        def pre_op(self, operation: Operation) -> None:
            raise PermissionError

    with pytest.raises(LifecycleRefused, match="'Silent': PermissionError"):
        run_pre_ops([Silent()], OPERATION)


def test_refusal_survives_the_way_through_a_result_backend() -> None:
    refusal = LifecycleRefused("limits", "too many servers")
    assert str(type(refusal)(*refusal.args)) == str(refusal)


def test_those_undone_learn_who_refused() -> None:
    reasons = []

    class Reader(LifecyclePlugin):
        def post_op(self, operation: Operation) -> None:
            reasons.append(operation.reason)

    with pytest.raises(LifecycleRefused):
        run_pre_ops([Reader(), Recorder("later", 200, [], refuse=True)], OPERATION)
    assert reasons == ["refused by lifecycle plugin 'later': no licence left"]


def test_plugin_cannot_change_what_the_others_see() -> None:
    seen = []

    class Meddler(LifecyclePlugin):
        def pre_op(self, operation: Operation) -> None:
            operation.parameters["zones"].append("c")
            seen.append(operation.parameters["zones"])

    run_pre_ops([Meddler(), Meddler()], OPERATION)
    assert seen == [["a", "b", "c"], ["a", "b", "c"]]
    assert OPERATION.parameters["zones"] == ["a", "b"]


def test_operation_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        OPERATION.action = "DELETE"  # type: ignore[misc]


def test_plugin_that_overrides_nothing_agrees_to_everything() -> None:
    class Bystander(LifecyclePlugin):
        pass

    run_pre_ops([Bystander()], OPERATION)
    assert not run_post_ops([Bystander()], OPERATION)
