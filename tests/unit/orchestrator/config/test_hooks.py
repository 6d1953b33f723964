"""What cannot be loaded keeps every process that would need it from starting, and none that would not."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hooks.lifecycle import LifecyclePlugin
from orchestrator.cli.main import isotherm
from orchestrator.config.hooks import all_at_once, event_sinks, lifecycle_plugins
from orchestrator.config.settings import Settings
from orchestrator.errors import HooksNotLoaded
from orchestrator.lifecycle.brackets import Brackets
from orchestrator.store.store import Store
from tests.unit.packages import install

TEMPLATE = "heat_template_version: 2021-04-16\nresources: {it: {type: OS::Heat::TestResource}}\n"
SOURCE = """
    from hooks.events import EventSink
    from hooks.lifecycle import LifecyclePlugin

    class Usual(LifecyclePlugin):
        after = ("limits",)

    class Broken(LifecyclePlugin):
        def __init__(self, options):
            raise RuntimeError("the moon is full")

    class Sink(EventSink):
        def __init__(self, options):
            raise RuntimeError("the sink is full")
"""
#: What a broken installation says, whoever asks.
SAID = "cannot be made: RuntimeError('the moon is full')"


class Machine:
    """A machine that a person types at; packages can be installed there."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory, self._monkeypatch = directory, monkeypatch
        self.template = directory / "one.yaml"
        self.template.write_text(TEMPLATE)

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(isotherm, list(words), prog_name="isotherm")

    def say(self, settings: str) -> None:
        (self.directory / "isotherm.toml").write_text(settings)

    def install(self, *plugins: str, sinks: tuple[str, ...] = ()) -> None:
        groups = {"isotherm.lifecycle": plugins, "isotherm.event_sinks": sinks}
        install(self.directory, "acme_loading", SOURCE, groups)
        self._monkeypatch.syspath_prepend(self.directory)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    for name in ("ISOTHERM_BROKER_URL", "ISOTHERM_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    monkeypatch.setenv("ISOTHERM_CONFIG", str(tmp_path / "isotherm.toml"))
    machine = Machine(tmp_path, monkeypatch)
    machine.say("")
    return machine


def test_an_embedded_command_that_would_begin_something_is_refused_and_those_that_read_are_not(
    machine: Machine,
) -> None:
    assert machine.run("stack", "create", "one", "-t", str(machine.template)).exit_code == 0
    machine.install("broken = acme_loading:Broken")
    for words in (
        ("create", "two", "-t", str(machine.template)),
        ("update", "one", "-t", str(machine.template)),
        ("check", "one"),
        ("suspend", "one"),
        ("delete", "one", "--yes"),
    ):
        refused = machine.run("stack", *words)
        assert refused.exit_code == 2, refused.output
        assert SAID in refused.stderr
        assert "Traceback" not in refused.output
    listed = json.loads(machine.run("stack", "list", "-f", "json").stdout)
    assert [(each["name"], each["state"]) for each in listed] == [("one", "CREATE_COMPLETE")]
    for words in (
        ("stack", "show", "one"),
        ("stack", "event", "list", "one"),
        ("stack", "resource", "list", "one"),
        ("resource-type", "list"),
        ("template", "validate", "-t", str(machine.template)),
    ):
        assert machine.run(*words).exit_code == 0


def test_what_an_earlier_command_left_is_not_touched_by_one_that_is_refused(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken_over: list[object] = []
    monkeypatch.setattr(
        "orchestrator.store.traversals.sweeping.Sweeper.take_over",
        lambda _, is_dead: taken_over.append(is_dead),
    )
    machine.install("broken = acme_loading:Broken")
    assert machine.run("stack", "create", "one", "-t", str(machine.template)).exit_code == 2
    assert taken_over == []


def test_an_error_is_json_where_json_is_asked_for(machine: Machine) -> None:
    machine.install("usual = acme_loading:Usual")
    machine.say("[lifecycle.usul]\nenabled = true\n")
    refused = machine.run("stack", "create", "one", "-t", str(machine.template), "-f", "json")
    assert refused.exit_code == 2
    (problem,) = json.loads(refused.stderr)
    assert problem["error"] == "HooksNotLoaded"
    assert problem["path"] == "settings.lifecycle.usul"
    assert problem["message"] == "no such lifecycle plugin is installed"
    assert problem["hint"] == "did you mean 'usual'?"


@pytest.mark.parametrize("process", ["coordinator", "worker"])
def test_a_process_does_not_start_and_its_broker_is_not_asked(
    process: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOTHERM_BROKER_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("ISOTHERM_DATABASE_URL", f"sqlite:///{machine.directory}/state/isotherm.db")
    machine.install("broken = acme_loading:Broken", sinks=("full = acme_loading:Sink",))
    refused = machine.run(process)
    assert refused.exit_code == 2, refused.output
    assert SAID in refused.stderr
    assert "Traceback" not in refused.output
    # A worker hands nothing to sinks.
    assert ("the sink is full" in refused.stderr) == (process == "coordinator")


def test_a_client_of_a_broker_loads_no_plugin(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.install("broken = acme_loading:Broken")
    assert machine.run("stack", "list").exit_code == 0, "the database is there"
    monkeypatch.setenv("ISOTHERM_BROKER_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("ISOTHERM_DATABASE_URL", f"sqlite:///{machine.directory}/state/isotherm.db")
    sent = machine.run("stack", "create", "one", "-t", str(machine.template))
    assert sent.exit_code == 3, sent.output
    assert "the broker does not answer" in sent.stderr


def test_what_is_wrong_with_plugins_and_with_sinks_is_told_at_once(machine: Machine) -> None:
    machine.install("broken = acme_loading:Broken", sinks=("full = acme_loading:Sink",))
    settings = Settings(lifecycle={"nobody": {}}, event_sinks={"nothing": {}})
    loads: list[Callable[[], object]] = [lambda: lifecycle_plugins(settings), lambda: event_sinks(settings)]
    with pytest.raises(HooksNotLoaded) as error:
        all_at_once(*loads)
    assert [problem.path for problem in error.value.problems] == [
        "",
        "settings.lifecycle.nobody",
        "",
        "settings.event_sinks.nothing",
    ]


def test_a_plugin_may_come_after_one_that_is_installed_and_not_enabled(machine: Machine) -> None:
    machine.install("usual = acme_loading:Usual")
    settings = Settings(state_directory=machine.directory)
    plugins = lifecycle_plugins(settings)
    names = [(plugin.name, isinstance(plugin, LifecyclePlugin)) for plugin in plugins]
    assert names == [("usual", True), ("placement", True)]
    assert Brackets(Store.of(settings), plugins, settings, owner="this test")
