"""Custom constraints: how packages bring them, and what a value is told that breaks one."""

import tomllib
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import NotFound, PluginMistake, Unavailable
from orchestrator.plugins import custom
from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.client_plugin import ClientContext, ClientPlugin
from orchestrator.plugins.clients import ProjectClients
from orchestrator.plugins.constraints import CannotEvaluate
from orchestrator.plugins.custom import NAMESPACE, Custom, CustomConstraint, CustomConstraints

Install = Callable[..., str]

BASE = "from orchestrator.plugins.custom import CustomConstraint\n"
EVEN = f"""{BASE}
class Even(CustomConstraint):
    name = "my.even"
    def fault(self, value):
        return None if value % 2 == 0 else f"{{value}} is odd"
"""


class Even(CustomConstraint):
    name = "my.even"

    def fault(self, value: Any) -> str | None:
        return None if len(str(value)) % 2 == 0 else f"{value!r} has an odd length"


class Image(CustomConstraint):
    name = "my.image"
    asks_outside = True

    def fault(self, value: Any) -> str | None:
        return None

    def fault_by(self, value: Any, clients: NamedClients) -> str | None:
        raise Unavailable("nobody knows images here")


class Broken(CustomConstraint):
    name = "my.broken"

    def fault(self, value: Any) -> str | None:
        raise RuntimeError(f"what is {value}?")


class Talkative(CustomConstraint):
    name = "my.talkative"

    def fault(self, value: Any) -> Any:
        return False


def nobody(context: ClientContext, name: str) -> ClientPlugin:
    pytest.fail(f"client {name} was built")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> CustomConstraints:
    found = CustomConstraints({kind.name: kind() for kind in (Even, Image, Broken, Talkative)})
    monkeypatch.setattr(custom, "_on_demand", lambda _: found)
    return found


def test_installed_constraints_are_found_by_name(install: Install) -> None:
    found = CustomConstraints.load(install("good", {"my.even": "Even"}, EVEN))
    assert list(found) == ["my.even"]
    assert found.find("my.even").fault(3) == "3 is odd"
    assert not found["my.even"].asks_outside


def test_constraints_are_looked_for_and_made_once(install: Install) -> None:
    namespace = install("good", {"my.even": "Even"}, EVEN)
    assert CustomConstraints.load(namespace)["my.even"] is CustomConstraints.load(namespace)["my.even"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "import no_such_module\n",
            r"custom constraint 'my.c' \(bad_.* of bad-.*\) cannot be loaded: No module",
        ),
        ("class C:\n    name = 'my.c'\n", r"'my.c' \(.* of bad-.*\) is .* no subclass of CustomConstraint"),
        (
            f"{BASE}class C(CustomConstraint):\n    name = 'my.c'\n",
            r"'my.c' \(bad_.*:C\) cannot be made: .*abstract",
        ),
        (
            f"{BASE}class C(CustomConstraint):\n    name = 'my.d'\n    def fault(self, value): ...\n",
            r"'my.c' \(bad_.*:C\) must have the name of its entry point, not 'my.d'",
        ),
        (
            f"{BASE}class C(CustomConstraint):\n    def fault(self, value): ...\n",
            r"'my.c' \(bad_.*:C\) must have the name of its entry point, not None",
        ),
    ],
)
def test_a_package_that_breaks_the_contract_is_named(install: Install, source: str, message: str) -> None:
    with pytest.raises(PluginMistake, match=message):
        CustomConstraints.load(install("bad", {"my.c": "C"}, source))


def test_a_name_that_two_packages_bring_is_refused(install: Install) -> None:
    install("one", {"my.even": "Even"}, EVEN)
    namespace = install("two", {"my.even": "Even"}, EVEN)
    with pytest.raises(PluginMistake, match=r"custom constraint 'my.even' is brought by two packages"):
        CustomConstraints.load(namespace)


def test_the_nearest_constraint_is_named(installed: CustomConstraints) -> None:
    with pytest.raises(NotFound, match=r"no custom constraint 'my.evne' here; did you mean 'my.even'"):
        installed.find("my.evne")
    with pytest.raises(NotFound, match=r"no custom constraint 'xyz' here$"):
        installed.find("xyz")


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("ab", None),
        (17, None),
        ([], None),
        (["ab", "cdef"], None),
        ("abc", "'abc' has an odd length; it must satisfy the custom constraint 'my.even'"),
        (["ab", "c", "def"], "'c' has an odd length; it must satisfy the custom constraint 'my.even'"),
    ],
)
@pytest.mark.usefixtures("installed")
def test_a_value_and_each_item_of_a_list_is_asked_about(value: Any, sentence: str | None) -> None:
    assert Custom("my.even").check(value) == sentence


@pytest.mark.usefixtures("installed")
def test_of_a_secret_the_plugin_s_sentence_is_not_shown() -> None:
    assert Custom("my.even").check("abc", secret=True) == "must satisfy the custom constraint 'my.even'"


@pytest.mark.usefixtures("installed")
def test_a_description_replaces_the_plugin_s_sentence() -> None:
    assert Custom("my.even", description="even, please").check("abc") == "even, please"


@pytest.mark.parametrize("secret", [False, True])
@pytest.mark.usefixtures("installed")
def test_no_value_satisfies_what_is_not_installed(secret: bool) -> None:
    sentence = "there is no custom constraint 'my.oven' here; did you mean 'my.even'?"
    assert Custom("my.oven", description="cook").check("ab", secret=secret) == sentence
    with pytest.raises(CannotEvaluate):
        Custom("my.oven").fault("ab")


@pytest.mark.parametrize(("name", "anywhere"), [("my.even", True), ("my.image", True), ("my.oven", False)])
@pytest.mark.usefixtures("installed")
def test_what_is_not_there_cannot_be_asked_everywhere(name: str, anywhere: bool) -> None:
    assert Custom(name).is_available is anywhere


@pytest.mark.usefixtures("installed")
def test_what_the_outside_world_says_is_passed_on() -> None:
    with pytest.raises(Unavailable, match="nobody knows images"):
        Custom("my.image").check("ubuntu", clients=ProjectClients(ClientContext("p"), nobody))
    assert Custom("my.image").check("ubuntu") is None


@pytest.mark.usefixtures("installed")
def test_a_plugin_that_fails_is_named_without_the_value() -> None:
    with pytest.raises(PluginMistake, match=r"'my.broken' \(.*\) failed: RuntimeError$"):
        Custom("my.broken").check("SECRET")
    with pytest.raises(PluginMistake, match=r"'my.talkative' returned a bool, not a sentence or None"):
        Custom("my.talkative").check("SECRET")


def declared() -> list[EntryPoint]:
    project = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text())["project"]
    return [EntryPoint(name, value, NAMESPACE) for name, value in project["entry-points"][NAMESPACE].items()]


@pytest.mark.parametrize("entry", declared(), ids=lambda entry: str(entry.name))
def test_every_constraint_that_ships_can_be_loaded(entry: EntryPoint) -> None:
    kind = entry.load()
    assert issubclass(kind, CustomConstraint)
    assert kind.name == entry.name
    wrong = True if kind.asks_outside else "?"
    assert CustomConstraints.load()[entry.name].fault(wrong) is not None
