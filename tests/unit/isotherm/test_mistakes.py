"""What authors of packages get wrong is told in one sentence that names the package, the class and the method.

The package has one plugin of each kind and imports ``isotherm`` alone; each mistake changes one thing in it.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hooks.errors import HookNotLoaded
from hooks.events import find_event_sinks
from hooks.lifecycle import find_lifecycle_plugins
from isotherm.clients import ClientContext
from isotherm.errors import PluginMistake
from orchestrator.plugins.clients import ClientPlugins
from orchestrator.plugins.custom import CustomConstraints
from orchestrator.plugins.registry import ResourceTypes
from tests import keys
from tests.scenarios.telling import reason
from tests.scenarios.world import World
from tests.unit.packages import install
from tests.warm import warm_program

SHOP = """
from isotherm.clients import ClientPlugin, EntityNotFound
from isotherm.constraints import CustomConstraint
from isotherm.hooks import Annotations, EventSink, HookOptions, LifecyclePlugin
from isotherm.properties import Attribute, Property, PropertyError, PropertyType
from isotherm.resources import Resource, Wait

ROOMS = {"attic": "r1"}


class Client(ClientPlugin):
    name = "shop"
    entities = frozenset({"room"})

    def look_up(self, entity, name):
        if name not in ROOMS:
            raise EntityNotFound(entity, name)
        return ROOMS[name]


class Round(CustomConstraint):
    name = "shop.round"

    def fault(self, value):
        return None if value % 10 == 0 else f"{value} is not round"


class Shelf(Resource):
    properties_schema = {
        "boards": Property(type=PropertyType.INTEGER, default=10, update_allowed=True),
        "room": Property(type=PropertyType.STRING, default="attic"),
    }
    attributes_schema = {"room": Attribute("Where it is.", PropertyType.STRING)}

    @classmethod
    def validate(cls, properties):
        if properties["boards"] == 0:
            raise PropertyError(("boards",), "it needs boards")

    def handle_create(self):
        self.state.physical_id = self.state.uuid
        return {"polls": 1}

    def check_create_complete(self, token):
        return True

    def handle_update(self, changes):
        return None

    def attribute(self, name):
        return self.properties[name]


class Owner(LifecyclePlugin):
    class Options(HookOptions):
        house: str = "mine"

    def do_pre_op(self, context, stack, current_stack, action):
        return Annotations(warnings=["the owner has been asked"])


class Ledger(EventSink):
    def consume(self, events):
        with open("ledger.txt", "a") as file:
            file.writelines(f"{event.action}\\n" for event in events)
"""
KINDS = {
    "resources": "Shop::Shelf = {}:Shelf",
    "clients": "shop = {}:Client",
    "constraints": "shop.round = {}:Round",
    "lifecycle": "owner = {}:Owner",
    "event_sinks": "ledger = {}:Ledger",
}
LOADERS: dict[str, Callable[[str], object]] = {
    "resources": ResourceTypes.load,
    "clients": ClientPlugins.load,
    "constraints": CustomConstraints.load,
    "lifecycle": lambda group: find_lifecycle_plugins(namespace=group, passes_by=()).enabled(),
    "event_sinks": lambda group: find_event_sinks(namespace=group, passes_by=()).enabled(),
}


class Package:
    """The package, installed under a name of its own, in groups of its own."""

    def __init__(self, directory: Path, *changes: tuple[str, str]) -> None:
        source = SHOP
        for old, new in changes:
            assert old in source, old
            source = source.replace(old, new)
        self.name = f"shop_{uuid4().hex}"
        self.file = directory / f"{self.name}.py"
        entries = {self.group(kind): [entry.format(self.name)] for kind, entry in KINDS.items()}
        install(directory, self.name, source, entries)

    def group(self, kind: str) -> str:
        return f"isotherm.test.{self.name}.{kind}"

    def load(self, kind: str) -> Any:
        return LOADERS[kind](self.group(kind))

    def plain(self, sentence: str) -> str:
        """Return a sentence with the package's name and file as everybody else's are, and no line."""
        said = sentence.replace(str(self.file), "shop.py").replace(self.name, "shop")
        return re.sub(r"(shop\.py):\d+", r"\1:N", said).replace("isotherm.test.shop.", "isotherm.")


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_the_package_itself_is_in_order(directory: Path) -> None:
    package = Package(directory)
    for kind in KINDS:
        assert len(package.load(kind)) == 1
    world = World({"Shop::Shelf": package.load("resources")["Shop::Shelf"]})
    world.create("heat_template_version: 2021-04-16\nresources: {it: {type: Shop::Shelf}}\n")
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    imports = re.findall(r"^from (\S+) import", SHOP, flags=re.MULTILINE)
    assert all(name.startswith("isotherm.") for name in imports)


AT_LOADING = [
    pytest.param(
        "resources",
        ("def handle_create(", "def handle_creat("),
        "shop:Shelf: handle_creat (shop.py:N) overrides nothing; did you mean 'handle_create'?",
        id="a handler is misspelt",
    ),
    pytest.param(
        "resources",
        ("def check_create_complete(", "def check_create_completed("),
        "check_create_completed (shop.py:N) overrides nothing; did you mean 'check_create_complete'?",
        id="a check is misspelt",
    ),
    pytest.param(
        "resources",
        ("properties_schema =", "property_schema ="),
        "shop:Shelf: property_schema overrides nothing; did you mean 'properties_schema'?",
        id="a schema is misspelt",
    ),
    pytest.param(
        "resources",
        ("def handle_update(self, changes)", "def handle_update(self)"),
        "shop:Shelf: handle_update (shop.py:N) must take what it is called with: (self, changes)",
        id="a handler takes too little",
    ),
    pytest.param(
        "resources",
        ("    @classmethod\n    def validate(cls, properties)", "    def validate(self, properties)"),
        "shop:Shelf: validate (shop.py:N) must be a class method: write @classmethod above it",
        id="validate is no class method",
    ),
    pytest.param(
        "resources",
        ("from isotherm.resources", "import shelves\nfrom isotherm.resources"),
        "cannot be loaded: No module named 'shelves' (shop.py:N); correct the package shop, or uninstall it",
        id="the module cannot be imported",
    ),
    pytest.param(
        "resources",
        ("class Shelf(Resource):", "class Shelves(Resource):"),
        "resource type 'Shop::Shelf' (shop:Shelf, isotherm.resources of shop) cannot be loaded: "
        "AttributeError: module 'shop' has no attribute 'Shelf'; correct the package shop, or uninstall it",
        id="the entry point names no class",
    ),
    pytest.param(
        "resources",
        ("class Shelf(Resource):", "class Shelf:"),
        "resource type 'Shop::Shelf' (shop:Shelf, isotherm.resources of shop) is <class 'shop.Shelf'>, "
        "which is no subclass of Resource",
        id="the class derives from nothing",
    ),
    pytest.param(
        "resources",
        ("default=10,", "default='ten',"),
        "shop:Shelf: properties_schema.boards: the default is wrong",
        id="a default has another type",
    ),
    pytest.param(
        "clients",
        ("def look_up(", "def lookup("),
        "shop:Client: lookup (shop.py:N) overrides nothing; did you mean 'look_up'?",
        id="a client's look-up is misspelt",
    ),
    pytest.param(
        "clients",
        ("    def look_up(", "    def ask("),
        "client plugin 'shop' (shop:Client) must have the methods: look_up",
        id="a client looks nothing up",
    ),
    pytest.param(
        "clients",
        ('name = "shop"', 'name = "store"'),
        "client plugin 'shop' (shop:Client) must have the name of its entry point, not 'store'",
        id="a client has another name",
    ),
    pytest.param(
        "constraints",
        ("def fault(self, value)", "def fault(self)"),
        "(shop:Round): fault (shop.py:N) must take what it is called with: (self, value)",
        id="a constraint takes no value",
    ),
    pytest.param(
        "lifecycle",
        ("def do_pre_op(", "def do_preop("),
        "lifecycle plugin 'owner' (shop:Owner, isotherm.lifecycle of shop) do_preop (shop.py:N) overrides nothing; "
        "did you mean 'do_pre_op'?",
        id="a lifecycle plugin's method is misspelt",
    ),
    pytest.param(
        "lifecycle",
        ("stack, current_stack, action)", "stack, action)"),
        "do_pre_op (shop.py:N) must take what it is called with: (self, context, stack, current_stack, action)",
        id="a lifecycle plugin takes too little",
    ),
    pytest.param(
        "lifecycle",
        ('house: str = "mine"', "house: str"),
        "owner.house: it must be given, for lifecycle plugin 'owner' (shop:Owner, isotherm.lifecycle of shop)",
        id="an option is required",
    ),
    pytest.param(
        "event_sinks",
        ("def consume(self, events)", "def consume(self)"),
        "event sink 'ledger' (shop:Ledger, isotherm.event_sinks of shop) consume (shop.py:N) must take what it is "
        "called with: (self, events)",
        id="a sink takes no events",
    ),
]


@pytest.mark.parametrize(("kind", "change", "sentence"), AT_LOADING)
def test_a_mistake_is_told_when_its_package_is_loaded(
    kind: str, change: tuple[str, str], sentence: str, directory: Path
) -> None:
    package = Package(directory, change)
    with pytest.raises((PluginMistake, HookNotLoaded)) as error:
        package.load(kind)
    told = package.plain(str(error.value))
    assert sentence in told
    assert "\n" not in told


AT_WORK = [
    pytest.param(
        ("        return True\n", "        pass\n"),
        "shop:Shelf.check_create_complete (shop.py:N) returned None: expected True, False or Wait(seconds)",
        id="a check returns nothing",
    ),
    pytest.param(
        ("        return True\n", "        return 'yes'\n"),
        "shop:Shelf.check_create_complete (shop.py:N) returned str: expected True, False or Wait(seconds)",
        id="a check returns a text",
    ),
    pytest.param(
        ("        return True\n", "        return Wait('5')\n"),
        "shop:Shelf.check_create_complete (shop.py:N) returned Wait('5'): expected seconds",
        id="a wait has no seconds",
    ),
    pytest.param(
        ("physical_id = self.state.uuid", "physical_id = 17"),
        "shop:Shelf.handle_create (shop.py:N) left self.state.physical_id as int: expected text",
        id="an id is no text",
    ),
    pytest.param(
        ("physical_id = self.state.uuid", "physical_id = 'a\\x00b'"),
        "shop:Shelf.handle_create (shop.py:N) left self.state.physical_id as text with characters that are none",
        id="an id is no text that can be stored",
    ),
    pytest.param(
        ("physical_id = self.state.uuid", "data['made'] = object()"),
        "type 'Shop::Shelf' left behind what is no plain value: self.state.data: can not serialize 'object' object",
        id="data cannot be stored",
    ),
]


@pytest.mark.parametrize(("change", "sentence"), AT_WORK)
def test_a_mistake_is_told_by_the_resource_and_nothing_waits_for_ever(
    change: tuple[str, str], sentence: str, directory: Path
) -> None:
    package = Package(directory, change)
    world = World({"Shop::Shelf": package.load("resources")["Shop::Shelf"]})
    world.create("heat_template_version: 2021-04-16\nresources: {it: {type: Shop::Shelf}}\n")
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert sentence in package.plain(reason(world))


def test_what_was_made_under_a_wrong_id_is_known_by_one_that_can_be_stored(directory: Path) -> None:
    package = Package(directory, ("physical_id = self.state.uuid", "physical_id = 'a\\x00b'"))
    world = World({"Shop::Shelf": package.load("resources")["Shop::Shelf"]})
    stack_id = world.create("heat_template_version: 2021-04-16\nresources: {it: {type: Shop::Shelf}}\n")
    world.settle()
    assert world.store.stacks.resource(stack_id, "it").physical_id == "a\\u0000b"


def test_what_a_plugin_says_is_stored_whatever_characters_are_in_it(directory: Path) -> None:
    package = Package(directory, ('return {"polls": 1}', "raise RuntimeError('a\\x00b\\ud800c')"))
    world = World({"Shop::Shelf": package.load("resources")["Shop::Shelf"]})
    world.create("heat_template_version: 2021-04-16\nresources: {it: {type: Shop::Shelf}}\n")
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert "RuntimeError: a\\u0000b\\ud800c" in reason(world)


def test_a_look_up_that_returns_nothing_is_told_with_what_was_asked(directory: Path) -> None:
    package = Package(directory, ("return ROOMS[name]", "ROOMS[name]"))
    client = package.load("clients")["shop"](ClientContext("default"), {})
    with pytest.raises(PluginMistake) as error:
        client.find("room", "attic")
    assert package.plain(str(error.value)) == (
        "shop:Client.look_up (shop.py:N) returned null for room 'attic': it must return the id, as text, "
        "or raise EntityNotFound"
    )


def test_a_constraint_that_returns_true_is_told(directory: Path) -> None:
    package = Package(directory, ("return None if value % 10 == 0 else", "return value % 10 == 0 or"))
    constraint = package.load("constraints")["shop.round"]
    verdict = import_module("orchestrator.plugins.custom")._verdict
    with pytest.raises(PluginMistake, match=r"'shop\.round' returned a bool, not a sentence or None"):
        verdict(constraint, 10, None)


def test_a_helper_of_its_own_is_no_mistake(directory: Path) -> None:
    helpers = (
        "def handle_rooms(self): ...\n    def check_boards(self): ...\n    def attributes(self): ...\n    "
    )
    package = Package(directory, ("def handle_update(", f"{helpers}def handle_update("))
    assert len(package.load("resources")) == 1


# -- on a machine ----------------------------------------------------------------------------------------------


def run(directory: Path, words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    environment = {
        **keys.others(),
        "PYTHONPATH": os.pathsep.join([str(directory), *filter(None, sys.path)]),
        "ISOTHERM_STATE_DIRECTORY": str(directory / "state"),
    }
    program = str(warm_program())
    return subprocess.run([program, *words], cwd=directory, env=environment, capture_output=True, text=True)


def install_for_all(directory: Path, *changes: tuple[str, str]) -> None:
    source = SHOP
    for old, new in changes:
        source = source.replace(old, new)
    entries = {f"isotherm.{kind}": [entry.format("shop")] for kind, entry in KINDS.items()}
    install(directory, "shop", source, entries)


def test_a_package_with_one_of_each_works_for_everybody(directory: Path) -> None:
    install_for_all(directory)
    (directory / "it.yaml").write_text(
        "heat_template_version: 2021-04-16\n"
        "parameters: {boards: {type: number, default: 20, constraints: [{custom_constraint: shop.round}]}}\n"
        "resources: {it: {type: Shop::Shelf, properties: {boards: {get_param: boards}}}}\n"
    )
    listed = json.loads(run(directory, ["plugin", "list", "-f", "json"]).stdout)
    ours = [each for each in listed if each["package"] == "shop"]
    assert [(each["namespace"], each["errors"]) for each in ours] == [
        (f"isotherm.{kind}", []) for kind in KINDS
    ]
    made = run(directory, ["stack", "create", "it", "-t", "it.yaml"])
    assert made.returncode == 0, made.stderr
    assert (directory / "ledger.txt").read_text().split()[0] == "CREATE"
    refused = run(directory, ["stack", "create", "other", "-t", "it.yaml", "-P", "boards=21"])
    assert (refused.returncode, "21 is not round" in refused.stderr) == (2, True), refused.stderr


def test_an_option_that_is_required_stops_what_changes_stacks_and_nothing_that_reads(directory: Path) -> None:
    (directory / "it.yaml").write_text(
        "heat_template_version: 2021-04-16\nresources: {it: {type: OS::Heat::None}}\n"
    )
    assert run(directory, ["stack", "create", "it", "-t", "it.yaml"]).returncode == 0
    install_for_all(directory, ('house: str = "mine"', "house: str"))
    for words in (
        ["stack", "list"],
        ["stack", "show", "it"],
        ["plugin", "list"],
        ["plugin", "show", "owner"],
    ):
        done = run(directory, words)
        assert (done.returncode, done.stderr) == (0, ""), words
    told = run(directory, ["doctor", "-f", "json"])
    assert "settings.lifecycle.owner.house: it must be given, for lifecycle plugin 'owner'" in told.stdout
    assert "correct it, or set settings.lifecycle.owner.enabled = false" in told.stdout
    assert "Traceback" not in told.stdout + told.stderr
    refused = run(directory, ["stack", "delete", "it", "--yes"])
    assert refused.returncode == 2
    origin = "shop:Owner, isotherm.lifecycle of shop"
    assert refused.stderr.splitlines() == [
        f"settings.lifecycle.owner.house: it must be given, for lifecycle plugin 'owner' ({origin})",
        "  hint: to go on without it: settings.lifecycle.owner.enabled = false",
    ]
    (directory / "isotherm.toml").write_text("[lifecycle.owner]\nenabled = false\n")
    assert run(directory, ["stack", "delete", "it", "--yes"]).returncode == 0


def test_a_type_that_cannot_be_imported_stops_nothing_that_reads(directory: Path) -> None:
    (directory / "it.yaml").write_text(
        "heat_template_version: 2021-04-16\nresources: {it: {type: OS::Heat::None}}\n"
    )
    assert run(directory, ["stack", "create", "it", "-t", "it.yaml"]).returncode == 0
    install_for_all(directory, ("ROOMS = {", "import shelves\nROOMS = {"))
    for words in (["stack", "list"], ["stack", "show", "it"], ["plugin", "list"]):
        assert run(directory, words).returncode == 0, words
    refused = run(directory, ["resource-type", "list"])
    assert refused.returncode == 1
    assert "No module named 'shelves' (" in refused.stderr
    assert "correct the package shop, or uninstall it" in refused.stderr
