"""Objects whose ids templates give: a replacement has the id of what it replaces, and is not deleted in its place."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest

from isotherm.testing.engine import Engine
from orchestrator.model.messages import UpdateJob
from orchestrator.plugins.client_plugin import ClientContext, ClientPlugin, LookupCache
from workers.clients.openstack import OpenStack
from workers.resources.openstack.keystone.region import Region
from workers.resources.openstack.nova.flavor import Flavor


class Missing(Exception):
    """There is no such object."""


class Taken(Exception):
    """There is an object with this id."""


class Memory(OpenStack):
    """A service in memory, which makes objects with the ids that it is sent."""

    settings_of = OpenStack.name
    entities = frozenset()
    #: The objects by their paths, and the paths of those that were made, in order.
    there: ClassVar[dict[str, dict[str, Any]]] = {}
    made: ClassVar[list[str]] = []

    def __init__(
        self, context: ClientContext, options: Mapping[str, Any], cache: LookupCache | None = None
    ) -> None:
        ClientPlugin.__init__(self, context, options, cache)

    def is_not_found(self, error: Exception) -> bool:
        return isinstance(error, Missing)

    def is_conflict(self, error: Exception) -> bool:
        return isinstance(error, Taken)

    def secrets(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        """Do nothing."""

    def ask(self, method: str, path: str, *, body: Any = None, **_: Any) -> Any:
        if method == "POST":
            ((key, values),) = body.items()
            at = f"{path}/{values['id']}"
            if at in self.there:
                raise Taken(at)
            self.there[at] = dict(values)
            self.made.append(at)
            return {key: self.there[at]}
        if path.endswith("/os-extra_specs"):
            return {"extra_specs": {}}
        if path not in self.there:
            raise Missing(path)
        if method == "DELETE":
            return self.there.pop(path)
        return {path.split("/")[1].removesuffix("s"): self.there[path]}


class Nova(Memory):
    name = "nova"


class Keystone(Memory):
    name = "keystone"


class Names(Memory):
    name = "openstack"


RESOURCES: Mapping[str, Mapping[str, Any]] = {
    "/flavors/tiny": {
        "type": "OS::Nova::Flavor",
        "properties": {"flavorid": "tiny", "name": "tiny", "ram": 64, "vcpus": 1},
    },
    "/regions/north": {
        "type": "OS::Keystone::Region",
        "properties": {"id": "north", "description": "the northern halls"},
    },
}


@pytest.fixture
def engine() -> Iterator[Engine]:
    Memory.there.clear()
    Memory.made.clear()
    engine = Engine(
        {"OS::Nova::Flavor": Flavor, "OS::Keystone::Region": Region},
        clients={each.name: each for each in (Nova, Keystone, Names)},
        settings={"clients": {"openstack": {"cloud": "memory"}}},
    )
    yield engine
    engine.close()


@pytest.fixture(params=RESOURCES)
def path(engine: Engine, request: pytest.FixtureRequest) -> str:
    """The path of the one object of the stack ``s``."""
    made = engine.create("s", template(request.param))
    assert made is not None
    assert (made.state, list(Memory.there)) == ("CREATE_COMPLETE", [request.param])
    return str(request.param)


def template(path: str) -> str:
    return json.dumps({"heat_template_version": "2021-04-16", "resources": {"one": RESOURCES[path]}})


def delete(engine: Engine) -> None:
    assert engine.delete("s") is None
    assert Memory.there == {}


def test_one_that_others_deleted_survives_its_repair(engine: Engine, path: str) -> None:
    first = engine.resource("s", "one")
    del Memory.there[path]
    (drift,) = engine.observe("s")
    # It is gone.
    assert (drift.resource, drift.key) == ("one", "")
    assert engine.repair("s") == []
    assert list(Memory.there) == [path]
    row = engine.resource("s", "one")
    assert (row.id != first.id, row.physical_id) == (True, path.rpartition("/")[2])
    assert engine.observe("s") == []
    delete(engine)


def test_one_that_is_replaced_gives_way_and_its_replacement_stays(engine: Engine, path: str) -> None:
    engine.run(UpdateJob(name="s", template=template(path), replaces=("one",)))
    assert Memory.made == [path, path]
    assert list(Memory.there) == [path]
    assert engine.observe("s") == []
    delete(engine)
