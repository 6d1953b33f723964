"""All that packages bring is listed, each with its own errors; one that is broken hides no other."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.nodes import AgentSettings
from orchestrator.config.settings import Settings
from orchestrator.documentation.installed_plugins import NAMESPACES, list_plugins, show_plugin
from orchestrator.documentation.plugin_views import PluginView
from orchestrator.errors import InvalidInput, NotFound
from tests.unit.packages import install

ROOT = Path(__file__).parents[4]
SOURCE = """
    from pydantic import Field, SecretStr
    from hooks.events import EventSink
    from hooks.options import HookOptions
    from hooks.lifecycle import LifecyclePlugin
    from orchestrator.plugins.client_plugin import ClientPlugin
    from orchestrator.plugins.custom import CustomConstraint
    from orchestrator.plugins.properties import Property, PropertyType
    from orchestrator.plugins.resource import Resource
    from orchestrator.template.functions.base import Function

    class Thing(Resource):
        description = "A thing."

    class Client(ClientPlugin):
        name = "acme"
        description = "Speaks to Acme."
        options_schema = {"password": Property(type=PropertyType.STRING, description="A password.")}
        def look_up(self, entity, name): ...

    class Even(CustomConstraint):
        name = "acme.even"
        def fault(self, value): ...

    class Unmade(CustomConstraint):
        name = "acme.unmade"
        def __init__(self):
            raise RuntimeError("not today")
        def fault(self, value): ...

    class MailOptions(HookOptions):
        to: str = Field(description="To whom.")
        password: SecretStr = Field(default=SecretStr(""), description="By what.")

    class First(LifecyclePlugin):
        description = "Comes first."
        ordinal = 5
        before = ("second",)
        time_limit_seconds = 2.5

    class Second(LifecyclePlugin):
        '''Comes second.

        And says so.
        '''
        Options = MailOptions

    class Off(Second):
        enabled_by_default = False

    class Sink(EventSink):
        description = "Takes events."

    class Stranger:
        pass
"""
ENTRIES = {
    "isotherm.resources": ["Acme::Thing = acme_listed:Thing", "Acme::Odd = acme_listed:Stranger"],
    "isotherm.clients": ["acme = acme_listed:Client", "acme2 = acme_listed:Client"],
    "isotherm.constraints": ["acme.even = acme_listed:Even", "acme.unmade = acme_listed:Unmade"],
    "isotherm.functions": ["acme_odd = acme_listed:Stranger"],
    "isotherm.lifecycle": [
        "second = acme_listed:Second",
        "first = acme_listed:First",
        "off = acme_listed:Off",
        "gone = acme_listed:Gone",
        "acme = acme_listed:First",
    ],
    "isotherm.event_sinks": ["mail = acme_listed:Sink", "odd = acme_listed:Stranger"],
    "isotherm.workers": ["acme = acme_gone:Checker"],
    "isotherm.resource": ["Acme::Lost = acme_listed:Thing"],
}


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that brings something good and something bad of every kind."""
    install(tmp_path, "acme_listed", SOURCE, ENTRIES, version="2.5")
    monkeypatch.syspath_prepend(tmp_path)


def settings_with(**lifecycle: dict[str, Any]) -> Settings:
    return Settings(lifecycle={"second": {"to": "me"}, **lifecycle})


def of_acme(settings: Settings) -> dict[tuple[str, str], PluginView]:
    return {
        (view.namespace.removeprefix("isotherm."), view.name): view
        for view in list_plugins(settings)
        if view.package != "isotherm"
    }


def test_everything_that_isotherm_brings_is_listed_and_well() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    # What Celery and oslo.policy look for is no plugin of ours.
    del declared["celery.commands"], declared["oslo.policy.policies"]
    ours = [view for view in list_plugins(Settings()) if view.package == "isotherm"]
    assert {view.namespace for view in ours} == set(NAMESPACES) == set(declared)
    assert [view for view in ours if view.errors] == []
    assert all(view.version and view.target for view in ours)
    hooks = [view for view in ours if view.namespace in ("isotherm.lifecycle", "isotherm.event_sinks")]
    # Who wants one says so; but what is part of the engine is at work.
    assert [view.name for view in hooks if view.enabled] == ["placement"]
    named = {(view.namespace, view.name, view.target) for view in ours}
    assert named >= {(group, *point) for group, points in declared.items() for point in points.items()}


@pytest.mark.usefixtures("acme")
def test_each_is_listed_with_its_package_and_its_own_errors() -> None:
    found = of_acme(settings_with())
    assert {view.package for view in found.values()} == {"acme_listed"}
    assert {view.version for view in found.values()} == {"2.5"}
    assert {key for key, view in found.items() if not view.errors} == {
        ("resources", "Acme::Thing"),
        ("clients", "acme"),
        ("constraints", "acme.even"),
        ("lifecycle", "acme"),
        ("lifecycle", "first"),
        ("lifecycle", "second"),
        ("lifecycle", "off"),
        ("event_sinks", "mail"),
    }
    for key, sentence in {
        ("resources", "Acme::Odd"): "which is no subclass of Resource",
        ("clients", "acme2"): "must have the name of its entry point, not 'acme'",
        ("constraints", "acme.unmade"): "cannot be made: not today",
        ("functions", "acme_odd"): "is no subclass of Function or Macro",
        ("lifecycle", "gone"): "cannot be loaded: AttributeError",
        ("event_sinks", "odd"): "not a class derived from EventSink",
        ("workers", "acme"): "No module named 'acme_gone'",
        ("resource", "Acme::Lost"): "nobody reads the namespace 'isotherm.resource'; "
        "did you mean 'isotherm.resources'?",
    }.items():
        (error,) = found[key].errors
        assert sentence in error, key


@pytest.mark.usefixtures("acme")
def test_lifecycle_plugins_come_in_their_order_and_those_that_are_off_after_them() -> None:
    found = of_acme(settings_with())
    listed = [
        (view.name, view.order, view.enabled) for view in found.values() if "lifecycle" in view.namespace
    ]
    assert listed == [
        ("acme", 1, True),
        ("first", 2, True),
        ("second", 3, True),
        ("gone", None, None),
        ("off", None, False),
    ]


@pytest.mark.usefixtures("acme")
def test_a_name_that_only_the_settings_know_is_listed_with_the_nearest() -> None:
    found = of_acme(settings_with(secnd={"enabled": True}))[("lifecycle", "secnd")]
    assert (found.package, found.target, found.enabled) == ("", "", None)
    assert found.errors == (
        "settings.lifecycle.secnd: no such lifecycle plugin is installed; did you mean 'second'?",
    )


def test_two_packages_that_bring_one_name_are_both_listed_with_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        entries = {"isotherm.resources": [f"Acme::Thing = acme_twin{number}:Thing"]}
        install(tmp_path, f"acme_twin{number}", SOURCE, entries)
    monkeypatch.syspath_prepend(tmp_path)
    found = [view for view in list_plugins(Settings(), "resources") if view.name == "Acme::Thing"]
    assert sorted(view.package for view in found) == ["acme_twin1", "acme_twin2"]
    for view in found:
        (other,) = {"acme_twin1", "acme_twin2"} - {view.package}
        assert any(f"isotherm.resources of {other}" in error for error in view.errors)


@pytest.mark.parametrize("name", ["isotherm.lifecycle", "lifecycle"])
@pytest.mark.usefixtures("acme")
def test_a_namespace_may_be_named_for_short(name: str) -> None:
    found = list_plugins(settings_with(), name)
    assert {view.namespace for view in found} == {"isotherm.lifecycle"}


def test_a_namespace_that_is_not_there_is_told_with_the_nearest() -> None:
    with pytest.raises(NotFound, match=r"no namespace 'lifecycel'; did you mean 'lifecycle'"):
        list_plugins(Settings(), "lifecycel")


@pytest.mark.usefixtures("acme")
def test_a_sink_that_environments_may_not_name_is_listed_once_with_that() -> None:
    settings = Settings(environment_event_sinks=("mail", "mial"))
    found = [view for view in list_plugins(settings, "event_sinks") if view.name in ("mail", "mial")]
    assert [(view.name, view.package, len(view.errors)) for view in found] == [
        ("mail", "acme_listed", 1),
        ("mial", "", 1),
    ]


@pytest.mark.usefixtures("acme")
def test_a_plugin_is_shown_with_its_options_and_what_the_settings_say() -> None:
    said = {"to": "everybody", "password": "hunter2", "time_limit_seconds": 7}
    shown = show_plugin(settings_with(second=said), "second")
    assert shown.description == "Comes second."
    assert shown.traits == {"time_limit_seconds": 7.0, "ordinal": 100, "before": [], "after": []}
    assert [(each.name, each.type, each.required, each.said) for each in shown.options] == [
        ("to", "text", True, "everybody"),
        ("password", "secret", False, "******"),
    ]
    first = show_plugin(settings_with(), "first").to_dict()
    assert first["before"] == ["second"]
    assert (first["ordinal"], first["time_limit_seconds"], first["order"]) == (5, 2.5, 2)
    sink = show_plugin(settings_with(), "mail").to_dict()
    assert (sink["description"], sink["in_environments"]) == ("Takes events.", False)


@pytest.mark.usefixtures("acme")
def test_plugins_of_other_kinds_are_shown_too_and_what_the_settings_say_of_clients_is_not() -> None:
    settings = Settings(clients={"acme": {"password": "hunter2"}})
    client = show_plugin(settings, "acme", "clients")
    assert client.description == "Speaks to Acme."
    assert [(each.name, each.said) for each in client.options] == [("password", "******")]
    assert show_plugin(settings, "Acme::Thing").description == "A thing."


@pytest.mark.usefixtures("acme")
def test_what_is_broken_can_be_shown() -> None:
    shown = show_plugin(settings_with(), "gone")
    assert "cannot be loaded" in shown.plugin.errors[0]
    assert show_plugin(settings_with(), "acme", "workers").plugin.errors
    assert show_plugin(settings_with(second={"rooms": 3}), "second").options


@pytest.mark.usefixtures("acme")
def test_a_name_that_several_have_or_none_is_told() -> None:
    with pytest.raises(InvalidInput, match=r"several plugins 'acme'.*say which is meant with --namespace"):
        show_plugin(settings_with(), "acme")
    with pytest.raises(NotFound, match="no plugin 'secnd' here; did you mean 'second'"):
        show_plugin(settings_with(), "secnd")


def test_of_hypervisors_and_storage_it_is_shown_what_settings_and_templates_may_say() -> None:
    offering = Settings(
        agent=AgentSettings(
            hypervisors={"qemu": {"accelerator": "tcg"}}, storage={"fast": {"type": "lvm-vg"}}
        )
    )
    enabled = {view.name for view in list_plugins(offering, "hypervisors") if view.enabled}
    assert enabled == {"qemu"}
    assert [view.name for view in list_plugins(offering, "storage") if view.enabled] == ["lvm-vg"]
    qemu = show_plugin(offering, "qemu").to_dict()
    said = {option["name"]: option["said"] for option in qemu["options"]}
    assert said["accelerator"] == "tcg"
    assert said["machine"] is None
    assert "kernel" in {option["name"] for option in qemu["options_of_an_instance"]}
    assert "mac" in {option["name"] for option in qemu["networks_of_an_instance"]}
    file = show_plugin(offering, "file", "storage").to_dict()
    assert "format" in {option["name"] for option in file["options_of_a_volume"]}
