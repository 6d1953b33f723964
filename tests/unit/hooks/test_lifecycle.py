"""Plugins come in one order, whatever they say of each other, and cannot change what they are shown."""

import copy
import json
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.errors import HookNotLoaded, ReadOnly
from hooks.loading.ordering import in_order
from hooks.stack import FrozenResource, FrozenStack
from hooks.values.frozen import frozen, thawed


@dataclass(frozen=True)
class Plugin:
    """What the order depends on."""

    name: str
    ordinal: int = 100
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@st.composite
def plugins(draw: st.DrawFn) -> list[Plugin]:
    """Plugins in any order, which say what some hidden order allows."""
    names = draw(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8))
    return [
        Plugin(
            name,
            draw(st.integers(0, 3)),
            before=tuple(draw(st.sets(st.sampled_from(names[number + 1 :])))) if names[number + 1 :] else (),
            after=tuple(draw(st.sets(st.sampled_from(names[:number])))) if names[:number] else (),
        )
        for number, name in draw(st.permutations(list(enumerate(names))))
    ]


@given(plugins())
def test_the_order_fits_what_everybody_says(given_plugins: list[Plugin]) -> None:
    names = [plugin.name for plugin in in_order(given_plugins)]
    assert sorted(names) == sorted(plugin.name for plugin in given_plugins)
    for plugin in given_plugins:
        assert all(names.index(plugin.name) < names.index(other) for other in plugin.before)
        assert all(names.index(other) < names.index(plugin.name) for other in plugin.after)


@given(plugins(), st.randoms())
def test_the_order_does_not_depend_on_the_order_in_which_they_were_found(
    given_plugins: list[Plugin], random: Any
) -> None:
    shuffled = list(given_plugins)
    random.shuffle(shuffled)
    assert in_order(shuffled) == in_order(given_plugins)


@given(plugins())
def test_who_says_nothing_comes_by_ordinal_and_name(given_plugins: list[Plugin]) -> None:
    silent = [Plugin(plugin.name, plugin.ordinal) for plugin in given_plugins]
    assert list(in_order(silent)) == sorted(silent, key=lambda plugin: (plugin.ordinal, plugin.name))


def test_a_circle_is_refused_by_its_names() -> None:
    circle = [Plugin("a", before=("b",)), Plugin("b", before=("c",)), Plugin("c", before=("a",)), Plugin("d")]
    with pytest.raises(HookNotLoaded, match="in a circle: a -> c -> b -> a"):
        in_order(circle)


def test_a_name_that_nobody_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        HookNotLoaded, match="'a' comes after 'polcy', which is not installed; did you mean 'policy'"
    ):
        in_order([Plugin("a", after=("polcy",)), Plugin("policy")])
    with pytest.raises(HookNotLoaded, match="not installed; there are: a"):
        in_order([Plugin("a", before=("zzz",))])


def test_a_plugin_that_is_installed_but_disabled_may_be_named() -> None:
    only = Plugin("a", after=("policy",))
    assert in_order([only], known=["policy"]) == (only,)


STACK = FrozenStack(
    name="web",
    id="1",
    parameters=frozen({"zones": ["a", {"b": [1]}]}),
    resources=frozen({"server": FrozenResource(name="server", type="OS::Heat::None")}),
)

ATTEMPTS: dict[str, Callable[[Any], Any]] = {
    "set a member": lambda stack: setattr(stack, "name", "mine"),
    "set a resource's member": lambda stack: setattr(stack.resources["server"], "type", "mine"),
    "set an item": lambda stack: stack.parameters.__setitem__("x", 1),
    "take an item": lambda stack: stack.parameters.pop("zones"),
    "update": lambda stack: stack.parameters.update(x=1),
    "clear": lambda stack: stack.resources.clear(),
    "append": lambda stack: stack.parameters["zones"].append(1),
    "sort": lambda stack: stack.parameters["zones"].sort(),
    "set an item of a list": lambda stack: stack.parameters["zones"].__setitem__(0, 1),
    "add to a list": lambda stack: stack.parameters["zones"].__iadd__([1]),
    "deep down": lambda stack: stack.parameters["zones"][1]["b"].append(2),
    "an attribute of a map": lambda stack: setattr(stack.parameters, "x", 1),
    "an attribute of a list": lambda stack: setattr(stack.parameters["zones"], "x", 1),
    "in place": lambda stack: stack.parameters.__ior__({"x": 1}),
}


@pytest.mark.parametrize("attempt", list(ATTEMPTS))
def test_nothing_that_is_shown_can_be_changed(attempt: str) -> None:
    before = repr(STACK)
    with pytest.raises((ReadOnly, FrozenInstanceError)):
        ATTEMPTS[attempt](STACK)
    assert repr(STACK) == before


@given(
    st.recursive(st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_what_is_frozen_reads_like_what_it_was(value: Any) -> None:
    ice = frozen(value)
    assert ice == value
    assert thawed(ice) == value
    assert copy.deepcopy(ice) == value
    assert json.loads(json.dumps(ice)) == value


def test_a_copy_can_be_changed_and_the_original_stays() -> None:
    mine = copy.deepcopy(STACK.parameters)
    mine["zones"][1]["b"].append(2)
    assert STACK.parameters["zones"][1]["b"] == [1]


def test_a_resource_is_found_by_its_name() -> None:
    assert STACK.resource("server").type == "OS::Heat::None"
    assert "server" in STACK
    with pytest.raises(KeyError, match="no resource 'sever'; did you mean 'server'"):
        STACK.resource("sever")
