"""Hooks come from entry points of installed packages, and one that cannot be used names itself."""

import itertools
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hooks.errors import HookNotLoaded
from hooks.events import find_event_sinks
from hooks.lifecycle import NAMESPACE, LifecyclePlugin, find_lifecycle_plugins
from hooks.loading.entry import Entry
from hooks.loading.installed import InstalledHook
from hooks.loading.origin import origin_of

Install = Callable[..., str]
NUMBERS = itertools.count()


def load_lifecycle_plugins(
    said: Mapping[str, Mapping[str, Any]] | None = None, namespace: str = NAMESPACE
) -> tuple[InstalledHook[LifecyclePlugin], ...]:
    """As processes load them."""
    return find_lifecycle_plugins(said, namespace, passes_by=()).enabled()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a package with entry points, each given as name="module:Class", and return their group."""

    def install_package(source: str, *entries: str) -> str:
        number = next(NUMBERS)
        package, group = f"acme{number}", f"isotherm.test{number}"
        (tmp_path / f"{package}.py").write_text(textwrap.dedent(source))
        metadata = tmp_path / f"{package}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"[{group}]", *(entry.replace("acme", package) for entry in entries)]
        (metadata / "entry_points.txt").write_text("\n".join(lines))
        monkeypatch.syspath_prepend(tmp_path)
        return group

    return install_package


PLUGINS = """
    from hooks.lifecycle import LifecyclePlugin

    class Late(LifecyclePlugin):
        ordinal = 200

    class Early(LifecyclePlugin):
        ordinal = 1

    class Usual(LifecyclePlugin):
        pass

    class Broken(LifecyclePlugin):
        def __init__(self, options):
            raise RuntimeError("no licence server is configured")

    class Stranger:
        pass
"""


def test_plugins_come_in_order_under_the_names_of_their_entry_points(install: Install) -> None:
    group = install(PLUGINS, "a = acme:Late", "z = acme:Early", "m = acme:Usual", "b = acme:Usual")
    assert [plugin.name for plugin in load_lifecycle_plugins(namespace=group)] == ["z", "b", "m", "a"]


def test_sinks_are_loaded_by_their_own_base_class(install: Install) -> None:
    group = install("from hooks.events import EventSink\nclass Mail(EventSink): pass", "mail = acme:Mail")
    assert [sink.name for sink in find_event_sinks(namespace=group, passes_by=()).enabled()] == ["mail"]


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("gone = acme:Gone", "cannot be loaded: AttributeError"),
        ("gone = acme_gone", "cannot be loaded: ModuleNotFoundError"),
        ("odd = acme:Stranger", "not a class derived from LifecyclePlugin"),
        ("broken = acme:Broken", "no licence server is configured"),
    ],
)
def test_hook_that_cannot_be_used_names_itself_and_its_package(
    entry: str, sentence: str, install: Install
) -> None:
    group = install(PLUGINS, "fine = acme:Usual", entry)
    name, _ = entry.split(" ", 1)
    with pytest.raises(HookNotLoaded, match=sentence) as error:
        load_lifecycle_plugins(namespace=group)
    assert f"lifecycle plugin {name!r}" in str(error.value)
    assert f"{group} of acme" in str(error.value)


def test_two_hooks_of_one_name_are_refused(tmp_path: Path, install: Install) -> None:
    group = install(PLUGINS, "twin = acme:Usual")
    rival = tmp_path / "rival-1.0.dist-info"
    rival.mkdir()
    (rival / "METADATA").write_text("Metadata-Version: 2.1\nName: rival\nVersion: 1.0\n")
    module = next(tmp_path.glob("acme*.py")).stem
    (rival / "entry_points.txt").write_text(f"[{group}]\ntwin = {module}:Late\n")
    with pytest.raises(HookNotLoaded, match=r"lifecycle plugin 'twin'.* is brought by two packages"):
        load_lifecycle_plugins(namespace=group)


def test_no_hooks_installed_is_no_error() -> None:
    assert load_lifecycle_plugins(namespace="isotherm.test.of.nobody") == ()


def test_an_entry_point_that_no_package_brings_is_said_to_be_of_none() -> None:
    stray = Entry("stray", "acme:Stray", "isotherm.test.of.nobody")
    assert origin_of(stray) == "acme:Stray, isotherm.test.of.nobody of an unknown package"


OPTIONS = """
    from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator
    from hooks.options import HookOptions
    from hooks.lifecycle import LifecyclePlugin

    class Door(BaseModel):
        model_config = ConfigDict(extra="forbid")
        colour: str = "red"

    class HouseOptions(HookOptions):
        rooms: int = Field(default=3, ge=1)
        door: Door = Door()
        key: SecretStr = SecretStr("")

        @field_validator("rooms")
        @classmethod
        def _even(cls, rooms: int) -> int:
            if rooms % 2 == 0:
                raise ValueError("Rooms come in odd numbers")
            return rooms

    class House(LifecyclePlugin):
        Options = HouseOptions

    class Shut(House):
        enabled_by_default = False

    class Needy(LifecyclePlugin):
        class Options(HookOptions):
            url: str

    class Sure(House):
        def __init__(self, options):
            if options.key.get_secret_value():
                raise ValueError(f"the key {options.key.get_secret_value()} is no key")

    class Unsure(House):
        def __init__(self, options):
            raise LookupError(f"no lock for {options.key.get_secret_value()}")
"""


def faults_of(group: str, said: dict[str, Any]) -> list[str]:
    """Return what keeps a process from starting."""
    with pytest.raises(HookNotLoaded) as error:
        load_lifecycle_plugins(said, namespace=group)
    return [str(fault) for fault in error.value.faults]


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"house": {"roms": 5}}, "house.roms: there is no such option; did you mean 'rooms'?"),
        ({"house": {"enabeld": False}}, "house.enabeld: there is no such option; did you mean 'enabled'?"),
        (
            {"house": {"zzz": 1}},
            "house.zzz: there is no such option; there are: door, enabled, key, rooms, time_limit_seconds",
        ),
        (
            {"house": {"door": {"color": "blue"}}},
            "house.door.color: there is no such option; did you mean 'colour'?",
        ),
        (
            {"house": {"door": {"enabled": True}}},
            "house.door.enabled: there is no such option; there are: colour",
        ),
        ({"house": {"rooms": 0}}, "house.rooms: expected greater than or equal to 1"),
        ({"house": {"rooms": 4}}, "house.rooms: rooms come in odd numbers"),
        ({"needy": {}}, "needy.url: it must be given"),
        ({"hous": {}}, "hous: no such lifecycle plugin is installed; did you mean 'house'?"),
        ({"house": {"enabled": "perhaps"}}, "house.enabled: expected true or false, found a text"),
        ({"house": {"time_limit_seconds": 0}}, "house.time_limit_seconds: expected greater than 0"),
        (
            {"house": {"time_limit_seconds": float("inf")}},
            "house.time_limit_seconds: expected less than or equal to 86400",
        ),
        ({"house": "on"}, "house: expected a table"),
    ],
    ids=lambda value: value.partition(":")[0] if isinstance(value, str) else "",
)
def test_a_mistake_in_the_settings_is_told_with_its_place_and_the_nearest_name(
    said: dict[str, Any], sentence: str, install: Install
) -> None:
    group = install(OPTIONS, "house = acme:House", "needy = acme:Needy")
    fine = {"needy": {"url": "x"}}
    found = faults_of(group, fine | said)
    assert len(found) == 1
    assert found[0].startswith(f"settings.lifecycle.{sentence}")


def test_all_mistakes_are_told_at_once_and_no_value_is(install: Install) -> None:
    group = install(
        OPTIONS,
        "house = acme:House",
        "needy = acme:Needy",
        "gone = acme:Gone",
        "sure = acme:Sure",
        "unsure = acme:Unsure",
    )
    secret = "hunter2-of-the-operator"
    said = {
        "house": {"rooms": secret, "lock": secret, "door": {"colour": [secret]}},
        "needi": {"url": secret},
        "sure": {"key": secret},
        "unsure": {"key": secret},
    }
    found = faults_of(group, said)
    assert [fault.partition(": ")[0] for fault in found if fault.startswith("settings")] == [
        "settings.lifecycle.house.rooms",
        "settings.lifecycle.house.door.colour",
        "settings.lifecycle.house.lock",
        "settings.lifecycle.needy.url",
        "settings.lifecycle.sure",
        "settings.lifecycle.needi",
    ]
    assert "settings.lifecycle.sure: the key ****** is no key" in found
    assert any("lifecycle plugin 'gone'" in fault and "cannot be loaded" in fault for fault in found)
    assert any(
        "lifecycle plugin 'unsure'" in fault and "LookupError('no lock for ******')" in fault
        for fault in found
    )
    assert secret not in "\n".join(found)


def test_options_of_a_plugin_that_is_not_enabled_are_refused_unless_that_is_said(install: Install) -> None:
    group = install(OPTIONS, "shut = acme:Shut")
    assert load_lifecycle_plugins(namespace=group) == ()
    assert faults_of(group, {"shut": {"rooms": 5}}) == [
        "settings.lifecycle.shut: options are given, but it is not enabled; say enabled = true, or enabled = false"
    ]
    assert load_lifecycle_plugins({"shut": {"rooms": 5, "enabled": False}}, namespace=group) == ()
    (enabled,) = load_lifecycle_plugins({"shut": {"rooms": 5, "enabled": True}}, namespace=group)
    assert enabled.hook is not None
    assert enabled.hook.options.rooms == 5


def test_a_plugin_that_the_settings_disable_stops_nothing_whatever_is_wrong_with_it(install: Install) -> None:
    group = install(PLUGINS, "fine = acme:Usual", "broken = acme:Broken", "gone = acme:Gone")
    off = {"enabled": False}
    loaded = load_lifecycle_plugins({"broken": off, "gone": off}, namespace=group)
    assert [each.name for each in loaded] == ["fine"]
    listed = {each.name: each for each in find_lifecycle_plugins({"broken": off, "gone": off}, group).hooks}
    assert "cannot be loaded" in str(listed["gone"].faults[0])


def test_a_broken_plugin_hides_no_other(install: Install) -> None:
    group = install(PLUGINS, "b = acme:Usual", "broken = acme:Broken", "a = acme:Late", "gone = acme:Gone")
    found = find_lifecycle_plugins(namespace=group)
    assert found.order == ("b", "a")
    assert [each.name for each in found.hooks] == ["b", "a", "broken", "gone"]
    assert {each.name: each.enabled for each in found.hooks} == {
        "a": True,
        "b": True,
        "broken": True,
        "gone": None,
    }


def test_the_settings_say_how_long_a_call_may_take_else_the_plugin_itself(install: Install) -> None:
    source = """
        from hooks.lifecycle import LifecyclePlugin
        class Quick(LifecyclePlugin):
            time_limit_seconds = 2.5
    """
    group = install(source, "quick = acme:Quick")
    for said, seconds in (({}, 2.5), ({"quick": {"time_limit_seconds": 7}}, 7.0)):
        (loaded,) = load_lifecycle_plugins(said, namespace=group)
        assert loaded.hook is not None
        assert loaded.hook.time_limit_seconds == seconds


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("def __init__(self): pass", "cannot be made: its constructor must take the options: def __init__"),
        ("ordinal = 1.5", "its ordinal must be a whole number, not 1.5"),
        ("after = 'policy'", "its after must be names of plugins in a list or a tuple, not 'policy'"),
        ("before = (1,)", "its before must be names of plugins in a list or a tuple, not (1,)"),
        (
            "time_limit_seconds = '5'",
            "its time_limit_seconds must be a number of seconds from 0 to 86400, not '5'",
        ),
        (
            "time_limit_seconds = 0",
            "its time_limit_seconds must be a number of seconds from 0 to 86400, not 0",
        ),
        ("Options = dict", "has Options that are <class 'dict'>, not derived from HookOptions"),
        (
            "class Options(HookOptions):\n        enabled: bool = True",
            "has an option 'enabled', which the settings may say of every hook",
        ),
    ],
    ids=["no options", "ordinal", "after", "before", "text", "no time", "no model", "taken"],
)
def test_a_class_that_breaks_the_contract_is_told_what_it_demands(
    body: str, sentence: str, install: Install
) -> None:
    head = "from hooks.options import HookOptions\nfrom hooks.lifecycle import LifecyclePlugin\n"
    group = install(f"{head}class Odd(LifecyclePlugin):\n    {body}", "odd = acme:Odd")
    (found,) = faults_of(group, {})
    assert found.startswith("lifecycle plugin 'odd' (acme")
    assert sentence in found


@pytest.mark.parametrize("line", ["raise SystemExit(3)", "assert not 'ready'"])
def test_a_module_that_ends_the_process_ends_only_the_plugin(line: str, install: Install) -> None:
    (found,) = faults_of(install(line, "rude = acme:Rude"), {})
    assert "lifecycle plugin 'rude'" in found
    assert "cannot be loaded" in found


def test_several_wrong_names_in_before_and_after_are_told_at_once(install: Install) -> None:
    source = """
        from hooks.lifecycle import LifecyclePlugin
        class One(LifecyclePlugin):
            after = ("tow",)
        class Two(LifecyclePlugin):
            before = ("noe",)
    """
    group = install(source, "one = acme:One", "two = acme:Two")
    assert faults_of(group, {}) == [
        "plugin 'one' comes after 'tow', which is not installed; did you mean 'two'?",
        "plugin 'two' comes before 'noe', which is not installed; did you mean 'one'?",
    ]


def test_a_circle_is_told_once_and_stands_at_each_of_its_plugins(install: Install) -> None:
    source = """
        from hooks.lifecycle import LifecyclePlugin
        class One(LifecyclePlugin):
            after = ("two",)
        class Two(LifecyclePlugin):
            after = ("one",)
        class Three(LifecyclePlugin):
            pass
    """
    group = install(source, "one = acme:One", "two = acme:Two", "three = acme:Three")
    assert len(faults_of(group, {})) == 1
    found = find_lifecycle_plugins(namespace=group)
    assert {each.name: len(each.faults) for each in found.hooks} == {"one": 1, "two": 1, "three": 0}
    assert found.order == ()


def test_one_class_that_two_packages_bring_under_one_name_is_one_plugin(
    tmp_path: Path, install: Install
) -> None:
    group = install(PLUGINS, "twin = acme:Usual")
    other = tmp_path / "other-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    module = next(tmp_path.glob("acme*.py")).stem
    (other / "entry_points.txt").write_text(f"[{group}]\ntwin = {module}:Usual\n")
    assert [each.name for each in load_lifecycle_plugins(namespace=group)] == ["twin"]


def test_texts_of_variables_are_read_as_json_where_something_else_is_expected(install: Install) -> None:
    source = """
        from typing import Annotated
        from pydantic import Field
        from hooks.options import HookOptions
        from hooks.lifecycle import LifecyclePlugin

        class House(LifecyclePlugin):
            class Options(HookOptions):
                rooms: Annotated[int, Field(strict=True)] = 1
                doors: dict[str, int] = {}
                names: tuple[str, ...] = ()
                word: str = ""
    """
    group = install(source, "house = acme:House")
    said = {"rooms": "3", "doors": '{"front": 1}', "names": '["a"]', "word": "4", "enabled": "true"}
    (loaded,) = load_lifecycle_plugins({"house": said}, namespace=group)
    assert loaded.hook is not None
    assert loaded.hook.options.model_dump() == {
        "rooms": 3,
        "doors": {"front": 1},
        "names": ("a",),
        "word": "4",
    }
    assert faults_of(group, {"house": {"doors": '{"front": "x"}', "names": "a"}}) == [
        "settings.lifecycle.house.doors.front: expected a whole number, found a text",
        "settings.lifecycle.house.names: expected a list, found a text",
    ]


SECRET = "hunter2"
NAMES = st.sampled_from(["rooms", "door", "key", "colour", "enabled", "time_limit_seconds", "other", ""])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.just(SECRET)
    | st.just(f'{{"x": "{SECRET}"}}'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def houses(install: Install) -> str:
    """The group of four plugins."""
    return install(
        OPTIONS, *(f"{name} = acme:{name.title()}" for name in ("house", "shut", "sure", "unsure"))
    )


@given(
    said=st.dictionaries(st.sampled_from(["house", "shut", "sure", "unsure", "nobody"]), VALUES, max_size=3)
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
def test_whatever_the_settings_say_is_either_right_or_told_without_values(
    said: dict[str, Any], houses: str
) -> None:
    found = find_lifecycle_plugins(said, houses)
    assert [each.name for each in found.hooks if each.hook is not None] == list(found.order)
    for each in found.hooks:
        # It is at work, or it is off, or somebody is told why it is neither.
        assert (each.hook is not None) + (each.enabled is False) + bool(each.faults and not each.hook) >= 1
    assert {name for name in said if name == "nobody"} == {
        name for fault in found.strays for name in fault.hooks
    }
    assert SECRET not in "\n".join(map(str, found.faults))


def test_each_line_of_what_a_constructor_cannot_accept_is_a_fault(install: Install) -> None:
    lines = """
    from hooks.lifecycle import LifecyclePlugin

    class Strict(LifecyclePlugin):
        def __init__(self, options):
            raise ValueError("a.yaml:1:1: one thing\\nb.yaml:2:1: another")
    """
    assert faults_of(install(lines, "strict = acme:Strict"), {}) == [
        "settings.lifecycle.strict: a.yaml:1:1: one thing",
        "settings.lifecycle.strict: b.yaml:2:1: another",
    ]


def test_wrong_options_are_told_beside_what_is_wrong_with_the_rest(install: Install) -> None:
    group = install(OPTIONS, "house = acme:House")
    assert faults_of(group, {"house": {"enabled": "perhaps", "time_limit_seconds": 0, "roms": 1}}) == [
        "settings.lifecycle.house.enabled: expected true or false, found a text",
        "settings.lifecycle.house.time_limit_seconds: expected greater than 0",
        "settings.lifecycle.house.roms: there is no such option; did you mean 'rooms'?",
    ]
