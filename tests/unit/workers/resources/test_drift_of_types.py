"""Changes behind the engine's back, of each type that ships, are found by observations and mended by repairs.

Types of OpenStack are in ``tests/services/openstack/test_drift_of_types.py``, which has the same test for each.
"""

import json
from collections.abc import Callable, Collection, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from isotherm.testing import ResourceConformance
from orchestrator.plugins.resource import Resource
from tests.drifting import Drifting, Tampering, Thing, Way
from tests.services.http_api import HttpApi
from tests.services.openstack.tampering import TAMPERING as OF_OPENSTACK
from workers.resources.core.row import RowResource
from workers.resources.core.stack_output import ANOTHER, StackOutput
from workers.resources.http.http_object import HttpObject
from workers.resources.nodes.file import NodeFile
from workers.resources.nodes.instance import NodeInstance
from workers.resources.nodes.process import NodeProcess
from workers.resources.nodes.volume import NodeVolume

_MIB: Final = 2**20


class Case(ResourceConformance):
    """A resource of the type, and the changes of its object behind the engine's back."""

    __test__ = False
    tampering: Tampering

    def drift(self) -> None:
        """Do it."""
        with self._engine() as engine:
            drift = Drifting(self, engine, self.tampering)
            try:
                drift.live()
            finally:
                drift.end()


def way(read: Callable[[Thing], Any], write: Callable[[Thing, Any], object]) -> Way:
    """Return a way to one property."""
    return Way(read=lambda thing, _: read(thing), write=lambda thing, _, value: write(thing, value))


# -- nodes -------------------------------------------------------------------------------------------------------------


class OnNode(Case):
    """An object on this machine, whose agent's records are in a directory of the test."""

    poll_seconds = 0.05

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "files"
        self.directory.mkdir()
        agent = {"hypervisors": {"fake": {"memory_mib": 1024}}}
        self.settings = {
            "node_directories": (self.directory,),
            "state_directory": directory / "state",
            "agent": agent,
        }


def _path(thing: Thing) -> Path:
    return Path(thing.id)


class File(OnNode):
    type = NodeFile
    tampering = Tampering(
        way=way(lambda thing: _path(thing).read_text(), lambda thing, text: _path(thing).write_text(text)),
        ways={
            "mode": way(
                lambda thing: f"{_path(thing).stat().st_mode & 0o777:04o}",
                lambda thing, mode: _path(thing).chmod(int(mode, 8)),
            )
        },
        values={"content": "theirs", "mode": "0666"},
        take=lambda thing: _path(thing).unlink(),
    )

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.properties = {"path": str(self.directory / "one"), "content": "a", "mode": "0640"}

    def objects(self) -> Collection[str]:
        return {path.name for path in self.directory.iterdir()}


def _kill(thing: Thing) -> None:
    process = psutil.Process(int(thing.id))
    supervisor = process.parent()
    process.kill()
    # It leaves once it has written down how the process ended.
    psutil.wait_procs([each for each in (process, supervisor) if each is not None])


class Process(OnNode):
    type = NodeProcess
    properties = {"command": ["sleep", "1000"]}
    tampering = Tampering(
        way=way(lambda _: None, lambda *_: None),
        take=_kill,
        because="a process has no values that can be changed behind the engine's back",
    )

    def objects(self) -> Collection[str]:
        return {
            str(each.pid)
            for each in psutil.process_iter(["cmdline", "environ"])
            if each.info["cmdline"] == ["sleep", "1000"]
            and str(self.directory.parent) in str(each.info["environ"])
        }


def _record(thing: Thing) -> Path:
    """Return the file in which the pretended hypervisor has the instance."""
    name = thing.id.rpartition("/")[2]
    (found,) = thing.case.directory.parent.glob(f"state/**/hypervisors/fake/{name}/instance.json")
    assert isinstance(found, Path)
    return found


def _memory(thing: Thing) -> int:
    size: int = json.loads(_record(thing).read_text())["spec"]["memory_mib"]
    return size


def _set_memory(thing: Thing, size: int) -> None:
    record = json.loads(_record(thing).read_text())
    record["spec"]["memory_mib"] = size
    _record(thing).write_text(json.dumps(record))


class Instance(OnNode):
    type = NodeInstance
    properties = {"hypervisor": "fake", "memory": 16}
    tampering = Tampering(
        way=way(_memory, _set_memory), values={"memory": 32}, take=lambda thing: _record(thing).unlink()
    )

    def objects(self) -> Collection[str]:
        return {
            path.parent.name
            for path in self.directory.parent.glob("state/**/hypervisors/fake/*/instance.json")
        }


def _volume(thing: Thing) -> Path:
    (found,) = thing.case.volumes()
    assert isinstance(found, Path)
    return found


def _truncate(thing: Thing, size: int) -> None:
    with _volume(thing).open("r+b") as file:
        file.truncate(size * _MIB)


class Volume(OnNode):
    type = NodeVolume
    properties = {"size": 2}
    tampering = Tampering(
        way=way(lambda thing: _volume(thing).stat().st_size // _MIB, _truncate),
        values={"size": 1},
        take=lambda thing: _volume(thing).unlink(),
    )

    def volumes(self) -> list[Path]:
        """Return the files of volumes."""
        return list(self.directory.parent.glob("state/**/storage/**/*-*-*"))

    def objects(self) -> Collection[str]:
        return {path.name for path in self.volumes()}


# -- HTTP objects and outputs of stacks --------------------------------------------------------------------------------


class Http(Case):
    type = HttpObject
    tampering = Tampering(
        way=way(
            lambda thing: thing.case.api.objects("/things")[thing.id]["name"],
            lambda thing, name: thing.case.api.put(f"/things/{thing.id}", {"name": name}),
        ),
        values={"body": "theirs"},
        take=lambda thing: thing.case.api.remove(f"/things/{thing.id}"),
    )

    def __init__(self, api: HttpApi) -> None:
        self.api = api
        self.settings = {"clients": {"http": {"base_url": api.url}}}
        self.properties = {
            "body": {"name": "a"},
            "create": {"path": "/things", "token_header": "Idempotency-Key"},
            "update": {"method": "PATCH"},
            "compare": {"name": "name"},
        }

    def objects(self) -> Collection[str]:
        return set(self.api.objects("/things"))


def _of_source(value: str) -> str:
    return f"heat_template_version: 2021-04-16\noutputs: {{a: {{value: {value}}}}}\n"


def _set_output(thing: Thing, value: str) -> None:
    thing.engine.update("source", _of_source(value))


class Output(Case):
    """The value that is read: it is another by then, and is read again by a repair."""

    type = StackOutput
    properties = {"stack": "source", "output": "a"}


@pytest.fixture
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    kind = request.param
    if issubclass(kind, OnNode):
        return kind(tmp_path)  # type: ignore[no-any-return]
    made: Case = kind(request.getfixturevalue("http_api"))
    return made


CASES: Final[Mapping[str, type[Case]]] = {
    "Isotherm::Http::Object": Http,
    "Isotherm::Node::File": File,
    "Isotherm::Node::Instance": Instance,
    "Isotherm::Node::Process": Process,
    "Isotherm::Node::Volume": Volume,
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES, indirect=True)
def test_changes_behind_the_engines_back_are_found_and_repaired(case: Case) -> None:
    case.drift()


def test_an_output_that_has_another_value_is_drift_until_it_is_read_again() -> None:
    case = Output()
    with case._engine() as engine:
        engine.create("source", _of_source("one"))
        case._is(engine.create("s", case._template()), "CREATE_COMPLETE")
        assert engine.observe("s") == []
        _set_output(Thing(case, engine), "two")
        (found,) = engine.observe("s")
        # The value may be a secret of the other stack.
        assert (found.key, found.hidden, found.observed) in (("value", True, None), ("value", False, ANOTHER))
        _set_output(Thing(case, engine), "one")
        assert engine.observe("s") == []
        _set_output(Thing(case, engine), "two")
        assert engine.repair("s") == []
        assert engine.resource("s", "it").data["value"] == "two"


def _is_observed(kind: type[Resource]) -> bool:
    """Whether a type declares that its objects can drift: it observes them, and they are not its own rows."""
    observes = kind.implements("observe") or kind.implements("observe_all")
    return observes and not (kind.is_row and kind.observe is RowResource.observe)


def test_every_type_that_ships_is_drifted() -> None:
    shipped = {
        entry.name: entry.load()
        for entry in entry_points(group="isotherm.resources")
        if not entry.name.startswith("Testing")
    }
    observed = {name for name, kind in shipped.items() if _is_observed(kind)}
    assert observed == {*CASES, *OF_OPENSTACK, "Isotherm::Stack::Output"}
