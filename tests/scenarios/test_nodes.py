"""Stories of what is on nodes: nothing is made twice, and a node that is silent is not an empty one."""

from collections.abc import Mapping
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import yaml

from hooks.lifecycle import Annotations, LifecyclePlugin
from orchestrator.errors import NotFound
from orchestrator.model.messages import DeleteJob
from orchestrator.plugins.client_plugin import ClientContext
from orchestrator.plugins.clients import ClientPlugins
from orchestrator.store import tables
from orchestrator.store.machines.machines import MachineReport
from tests.scenarios.telling import deliver_all, rows_of, states
from tests.scenarios.world import World
from tests.unit.workers.resources.nodes.direct import DirectNodes, client_of
from workers.clients.nodes import NodesClient
from workers.resources.nodes.file import NodeFile
from workers.resources.nodes.instance import NodeInstance
from workers.resources.nodes.volume import NodeVolume

TYPES = {
    "Isotherm::Node::File": NodeFile,
    "Isotherm::Node::Instance": NodeInstance,
    "Isotherm::Node::Volume": NodeVolume,
}
DATA: Mapping[str, Any] = {
    "type": "Isotherm::Node::Volume",
    "properties": {"size": 1, "node": {"get_param": "node"}},
}
SERVER: Mapping[str, Any] = {
    "type": "Isotherm::Node::Instance",
    "properties": {
        "hypervisor": "fake",
        "memory": 16,
        "disks": [{"volume": {"get_resource": "data"}}, {"size": 1}],
        "node": {"get_param": "node"},
    },
}


class Site:
    """A world whose stacks are on two nodes, ``n1`` and ``n2``."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        said: dict[str, Any] = {
            # Nobody connects: what asks nodes is given.
            "broker_url": "redis://localhost:1",
            "state_directory": directory,
            "node_directories": (directory,),
            "agent": {
                "hypervisors": {"fake": {"memory_mib": 1024, "cpus": 4}},
                "commands": ["*"],
                "run_as": "root",
            },
            "constraint_cache": {"enabled": False},
            "retry_base_seconds": 0.001,
            **settings,
        }
        directory.mkdir(parents=True, exist_ok=True)
        self.world = World(types=TYPES, **said)
        nodes = self.nodes = DirectNodes(self.world.checker._settings, "n1", "n2", journals=True)

        class Client(NodesClient):
            def __new__(cls, context: ClientContext, *_: Any) -> Any:
                return client_of(context, nodes)

        self.world.clients._plugins = ClientPlugins({"nodes": Client})
        nodes.instruction = self.world.cloud.instruction

    def create(self, node: str = "n1", **resources: Mapping[str, Any]) -> str:
        return self.world.create(template(**resources), parameters={"node": node})

    def settle(self) -> None:
        """Let everything come to rest, whatever dies."""
        while not self.world.survive(self.world.settle):
            pass

    def died(self) -> bool:
        """Tell whether the crash that was set has come; it will not any more."""
        cloud = self.world.cloud
        came, cloud.crash_at = cloud.crash_at is None, None
        return came

    def pass_time(self, seconds: float) -> list[float]:
        """Let time pass for the engine; return the pauses after which it had something to do."""
        pauses, ends = [], self.world.now + seconds
        deliver_all(self.world)
        while self.world.now < ends:
            due = self.world.store.sweeper.next_due()
            assert due is not None
            pauses.append(due)
            self.world.sweep(after=due + 0.001)
            deliver_all(self.world)
        return pauses

    def there(self, node: str) -> tuple[int, int]:
        """Count the instances and the volumes that a node really has."""
        agent = self.nodes.agent(node)
        return (
            len(agent.hypervisor("fake").instances()),
            len(agent.storage_unit("default").volumes()),
        )

    def delete(self) -> None:
        self.world.delete()
        self.settle()
        with pytest.raises(NotFound):
            assert self.world.state() == ""

    def why(self, stack_id: str, name: str) -> str:
        return rows_of(self.world, stack_id)[name][0].reason


def template(**resources: Mapping[str, Any]) -> str:
    document = {
        "heat_template_version": "2021-04-16",
        "parameters": {"node": {"type": "string"}},
        "resources": resources or {"data": DATA, "server": SERVER},
    }
    return yaml.safe_dump(document)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "site")


def test_what_is_on_a_node_is_made_there_and_goes(site: Site) -> None:
    stack_id = site.create()
    site.settle()
    assert site.world.state() == "CREATE_COMPLETE"
    assert (site.there("n1"), site.there("n2")) == ((1, 2), (0, 0))
    rows = rows_of(site.world, stack_id)
    assert {rows[name][0].on_node for name in ("data", "server")} == {"n1"}
    server = rows["server"][0]
    assert server.physical_id == f"n1/{server.id}"
    site.delete()
    assert site.there("n1") == (0, 0)


def test_a_worker_may_die_at_any_instruction_and_nothing_is_made_twice(tmp_path: Path) -> None:
    for instructions in count(1, 3):
        site = Site(tmp_path / str(instructions))
        site.create()
        site.world.cloud.crash_after(instructions)
        site.settle()
        came = site.died()
        assert site.world.state() == "CREATE_COMPLETE"
        assert site.there("n1") == (1, 2)
        site.world.close()
        if not came:
            break
    assert instructions > 20


def test_whatever_a_dead_worker_made_on_one_node_goes_when_another_is_wanted(tmp_path: Path) -> None:
    left = set()
    for instructions in count(2, 4):
        site = Site(tmp_path / str(instructions))
        site.create()
        site.world.cloud.crash_after(instructions)
        site.world.survive(site.world.settle)
        came = site.died()
        left.add(site.there("n1"))
        site.world.messages.clear()
        site.world.update(template(), parameters={"node": "n2"})
        site.settle()
        assert site.world.state() == "UPDATE_COMPLETE"
        assert (site.there("n1"), site.there("n2")) == ((0, 0), (1, 2))
        site.world.close()
        if not came:
            break
    assert {(0, 0), (0, 1), (1, 2)} <= left


# -- nodes that do not answer ------------------------------------------------------------------------------------------


def test_a_check_of_a_silent_node_says_so_and_is_tried_until_the_node_is_back(site: Site) -> None:
    stack_id = site.create()
    site.settle()
    site.nodes.away.add("n1")
    made = site.nodes.counted("instance_start")
    site.world.check()
    pauses = site.pass_time(600)
    # More tries than any other failure gets, and none of them long after the one before.
    assert len(pauses) > 3 * site.world.checker._settings.action_retry_limit
    assert max(pauses) <= 10
    assert site.world.state() == "CHECK_IN_PROGRESS"
    assert states(site.world, stack_id)["server"] == ["CHECK_IN_PROGRESS"]
    assert site.why(stack_id, "server") == "node 'n1' has no agent"
    site.nodes.away.clear()
    site.settle()
    assert site.world.state() == "CHECK_COMPLETE"
    assert site.nodes.counted("instance_start") == made


@pytest.mark.parametrize("away", [["n1"], ["n1", "n2"]], ids=["one", "all"])
def test_a_create_waits_for_a_silent_node_and_takes_no_other(site: Site, away: list[str]) -> None:
    site.nodes.away.update(away)
    stack_id = site.create()
    site.pass_time(120)
    assert states(site.world, stack_id)["data"] == ["CREATE_IN_PROGRESS"]
    site.nodes.away.clear()
    site.settle()
    assert site.world.state() == "CREATE_COMPLETE"
    assert (site.there("n1"), site.there("n2")) == ((1, 2), (0, 0))


def test_it_waits_no_longer_than_the_stack_may_take(tmp_path: Path) -> None:
    site = Site(tmp_path / "site", stack_timeout_minutes=5)
    site.nodes.away.add("n1")
    site.create()
    site.settle()
    assert site.world.state() == "CREATE_FAILED"
    site.nodes.away.clear()
    site.delete()
    assert site.there("n1") == (0, 0)


@pytest.mark.parametrize("rpc", ["storage_create", "instance_start"])
def test_a_change_whose_answer_is_lost_is_made_once(site: Site, rpc: str) -> None:
    site.nodes.deaf.append(rpc)
    site.create()
    site.settle()
    assert site.world.state() == "CREATE_COMPLETE"
    assert site.there("n1") == (1, 2)
    # It was asked for again under the same id.
    asked = [operation for _, name, operation in site.nodes.calls if name == rpc]
    assert len(asked) > len(set(asked))


def test_an_update_that_looks_at_what_is_there_replaces_nothing_on_a_silent_node(site: Site) -> None:
    stack_id = site.create()
    site.settle()
    before = {name: [row.id for row in rows] for name, rows in rows_of(site.world, stack_id).items()}
    site.nodes.away.add("n1")
    site.world.update(template(), parameters={"node": "n1"}, refresh=True)
    site.pass_time(120)
    assert {name: [row.id for row in rows] for name, rows in rows_of(site.world, stack_id).items()} == before
    site.nodes.away.clear()
    site.settle()
    assert site.world.state() == "UPDATE_COMPLETE"
    assert site.there("n1") == (1, 2)


def test_a_deletion_waits_until_the_node_is_back(site: Site) -> None:
    site.create()
    site.settle()
    site.nodes.away.add("n1")
    site.world.delete()
    site.pass_time(120)
    assert site.world.state() == "DELETE_IN_PROGRESS"
    assert site.there("n1") == (1, 2)
    site.nodes.away.clear()
    site.settle()
    assert site.there("n1") == (0, 0)


def test_what_is_really_gone_from_its_node_is_said_to_be(site: Site) -> None:
    stack_id = site.create()
    site.settle()
    server = rows_of(site.world, stack_id)["server"][0]
    site.nodes.agent("n1").hypervisor("fake").remove(server.id)
    site.world.check()
    site.settle()
    assert site.world.state() == "CHECK_FAILED"
    assert site.why(stack_id, "server") == "it is not there any more"


def test_silence_uses_up_none_of_the_tries_that_failures_get(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.nodes.away.add("n1")
    stack_id = site.create(page={"type": "Isotherm::Node::File", "properties": {"path": "p", "node": "n1"}})
    site.pass_time(300)
    site.nodes.away.clear()
    # A directory vanishes while the file is being made: that is tried again, as often as ever.
    failing = iter([FileNotFoundError(2, "vanished")] * 3)
    really = Path.hardlink_to

    def hardlink_to(self: Path, target: Path) -> None:
        if (error := next(failing, None)) is not None:
            raise error
        really(self, target)

    monkeypatch.setattr(Path, "hardlink_to", hardlink_to)
    site.settle()
    assert site.world.state() == "CREATE_COMPLETE", site.why(stack_id, "page")
    assert next(failing, None) is None


# -- taking over -------------------------------------------------------------------------------------------------------


def test_what_is_adopted_is_where_its_export_says_wherever_placement_would_have_it(site: Site) -> None:
    class Elsewhere(LifecyclePlugin):
        name = "placement"

        def __init__(self, node: str) -> None:
            self.node = node

        def do_pre_op(self, *_: Any) -> Annotations:
            return Annotations(resources={"page": {"node": self.node}})

        def do_post_op(self, *_: Any) -> None:
            pass

    page = {"type": "Isotherm::Node::File", "properties": {"path": "p", "content": "x"}}
    site.world.plug(Elsewhere("n1"))
    stack_id = site.create(page=page)
    site.settle()
    (row,) = rows_of(site.world, stack_id)["page"]
    site.world.abandon()
    site.settle()
    site.world.plug(Elsewhere("n2"))
    entry = {"resource_id": row.physical_id, "resource_data": dict(row.data)}
    stack_id = site.world.adopt(template(page=page), {"page": entry}, parameters={"node": "n1"})
    site.settle()
    assert site.world.state() == "ADOPT_COMPLETE"
    (row,) = rows_of(site.world, stack_id)["page"]
    assert row.on_node == "n1"


def test_object_of_another_project_is_no_disk_and_is_not_adopted(site: Site) -> None:
    stack_id = site.world.create(
        template(data=DATA), parameters={"node": "n1"}, name="theirs", project="their-project"
    )
    site.settle()
    (row,) = rows_of(site.world, stack_id)["data"]
    disks = [{"volume": row.physical_id}]
    using = site.create(server={**SERVER, "properties": {**SERVER["properties"], "disks": disks}})
    site.settle()
    assert site.world.state() == "CREATE_FAILED"
    assert "belongs to another stack" in site.why(using, "server")
    assert "theirs" not in site.why(using, "server")
    site.delete()
    # No row has it any more; the node knows all the same whose it is.
    site.world.coordinator.delete(DeleteJob(name="theirs", project="their-project", abandon=True))
    site.settle()
    entry = {"resource_id": row.physical_id, "resource_data": dict(row.data)}
    adopting = site.world.adopt(template(data=DATA), {"data": entry}, parameters={"node": "n1"})
    site.settle()
    assert site.world.state() == "ADOPT_FAILED"
    assert "belongs to another stack" in site.why(adopting, "data")
    assert "theirs" not in site.why(adopting, "data")
    site.delete()
    assert site.there("n1") == (0, 1)


@pytest.mark.parametrize("kind", ["Volume", "Instance", "File"])
def test_abandoned_object_is_adopted_changed_and_deleted_within_its_project(site: Site, kind: str) -> None:
    def resource(size: int) -> Mapping[str, Any]:
        properties: dict[str, Mapping[str, Any]] = {
            "Volume": {"size": size},
            "Instance": {"hypervisor": "fake", "memory": size, "disks": [{"size": 1}]},
            "File": {"path": "p", "content": "x" * size},
        }
        return {"type": f"Isotherm::Node::{kind}", "properties": {"node": "n1", **properties[kind]}}

    first = site.create(it=resource(1))
    site.settle()
    (row,) = rows_of(site.world, first)["it"]
    site.world.abandon()
    site.settle()
    entry = {"resource_id": row.physical_id, "resource_data": dict(row.data)}
    site.world.adopt(template(it=resource(1)), {"it": entry}, "t", parameters={"node": "n1"})
    site.settle()
    assert site.world.state("t") == "ADOPT_COMPLETE"
    site.world.update(template(it=resource(2)), "t", parameters={"node": "n1"})
    site.settle()
    assert site.world.state("t") == "UPDATE_COMPLETE"
    site.world.delete("t")
    site.settle()
    assert site.there("n1") == (0, 0)
    agent = site.nodes.agent("n1")
    assert list((agent.directory / "owners").iterdir()) == []
    assert not (agent.settings.allowed_directories[0] / "p").exists()


# -- nodes that never come back ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tried", "then"),
    [("", "update"), ("update", "update"), ("update", "delete"), ("delete", "delete")],
    ids=["updated", "updated again", "deleted after an update", "deleted again"],
)
def test_what_was_on_a_lost_node_is_made_anew_elsewhere_and_deleted_without_it(
    tmp_path: Path, tried: str, then: str
) -> None:
    site = Site(tmp_path / "site", stack_timeout_minutes=5)
    machines = site.world.store.machines
    machines.note([MachineReport(name="n1", incarnation="i", boot_id="b")])
    stack_id = site.create()
    site.settle()
    site.nodes.away.add("n1")
    if tried:
        update = partial(site.world.update, template(), parameters={"node": "n2"})
        update() if tried == "update" else site.world.delete()
        if tried == "update":
            hindrance = machines.forget("n1", lost=True)
            assert "of stack 's' is in progress" in hindrance
            assert "isotherm stack cancel" in hindrance
        site.settle()
        assert site.world.state() == f"{tried.upper()}_FAILED"
    assert machines.forget("n1") != ""
    assert machines.forget("n1", lost=True) == ""
    assert machines.residents("n1") == []
    if tried == "":
        assert site.why(stack_id, "server") == "node 'n1' is gone for good"
    before = site.world.now
    if then == "update":
        site.world.update(template(), parameters={"node": "n2"})
        site.settle()
        assert site.world.state() == "UPDATE_COMPLETE"
        assert site.there("n2") == (1, 2)
    site.delete()
    assert site.there("n2") == (0, 0)
    # Nobody waited for the lost one.
    assert site.world.now - before < 60


def test_a_deletion_that_waits_for_a_lost_node_goes_on_at_once(site: Site) -> None:
    site.create(page={"type": "Isotherm::Node::File", "properties": {"path": "p", "node": "n1"}}, data=DATA)
    site.settle()
    site.nodes.away.add("n1")
    site.world.delete()
    site.pass_time(60)
    assert site.world.state() == "DELETE_IN_PROGRESS"
    assert site.world.store.machines.forget("n1", lost=True) == ""
    before = site.world.now
    site.settle()
    with pytest.raises(NotFound):
        assert site.world.state() == ""
    assert site.world.now - before < 60


# -- changes that take long --------------------------------------------------------------------------------------------


def test_a_change_that_goes_on_is_waited_for_and_not_begun_again(site: Site) -> None:
    site.nodes.slow["instance_start"] = 3
    stack_id = site.create()
    site.settle()
    assert site.world.state() == "CREATE_COMPLETE"
    asked = [operation for _, name, operation in site.nodes.calls if name == "instance_start"]
    assert (len(asked), len(set(asked))) == (4, 1)
    assert rows_of(site.world, stack_id)["server"][0].id in asked[0]


def test_which_change_is_waited_for_is_on_record(site: Site) -> None:
    site.nodes.slow["storage_create"] = 1000
    stack_id = site.create()
    site.pass_time(10)
    (row,) = rows_of(site.world, stack_id)["data"]
    token = sa.select(tables.resource.c.token).where(tables.resource.c.id == row.id)
    with site.world.store.database.read() as connection:
        (said, _) = site.world.store.codec.unpack(
            connection.execute(token).scalar_one(), ("resource", "token", row.id)
        )
    asked = [operation for _, name, operation in site.nodes.calls if name == "storage_create"]
    assert said == {"stage": "settled", "operation": asked[0]}


def test_another_action_asks_for_another_change(site: Site) -> None:
    site.create()
    site.settle()
    for _ in range(2):
        for begin in (site.world.suspend, site.world.resume):
            site.world.now += 1
            begin()
            site.settle()
    assert site.world.state() == "RESUME_COMPLETE"
    for rpc in ("instance_pause", "instance_unpause"):
        asked = [operation for _, name, operation in site.nodes.calls if name == rpc]
        assert len(asked) == len(set(asked)) == 2
