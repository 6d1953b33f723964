"""What `isotherm node` shows of nodes, and what it does with them; the nodes are fakes, their rows are not."""

import json
from collections.abc import Iterator

import pytest

from cache.node_state.errors import NodeOffline, NoSuchNode, StateStoreFailed
from orchestrator.config.settings import Settings
from orchestrator.nodes.admin import NodeAdmin
from orchestrator.nodes.inquiry import NodeInquiry
from orchestrator.nodes.statistics import NodeStatistics
from orchestrator.store import tables
from orchestrator.store.machines.machines import Machines
from orchestrator.store.store import Store
from tests.migrated import migrate
from tests.unit.orchestrator.cli.fake_service import FakeService, Terminal
from tests.unit.orchestrator.fake_nodes import FakeNodes, instance

PROMISED = [("n1", "vcpus", 2), ("n1", "memory_mib", 300)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    settings = Settings(state_directory=tmp_path_factory.mktemp("nodes"))
    migrate(settings.effective_database_url)
    store = Store.of(settings)
    yield store
    store.close()


@pytest.fixture
def machines(store: Store) -> Machines:
    with store.database.write() as connection:
        for table in (tables.machine, tables.stack, tables.resource, tables.node_counter):
            connection.execute(table.delete())
    return store.machines


@pytest.fixture
def nodes(service: FakeService, machines: Machines, store: Store) -> FakeNodes:
    """Two nodes are there, and one was."""
    nodes = FakeNodes()
    for name in ("n1", "n2", "lost"):
        nodes.add(name, {"uuid-of-server": instance()} if name == "n1" else None)
    service.nodes_held = NodeAdmin(
        NodeInquiry(nodes, timeout_seconds=10),
        machines,
        lambda names: {(name, kind): n for name, kind, n in PROMISED if name in names},
        NodeStatistics(lambda: nodes.cache, store.node_counters),
    )
    service.nodes_held.all()
    nodes.remove("lost")
    nodes.now += 5
    return nodes


def put_server_on(store: Store, node: str) -> None:
    """A stack web whose server is on the node."""
    times = {"created_at": 1.0, "updated_at": 1.0}
    stack = {
        "id": "web-id",
        "name": "web",
        "project": "default",
        "root_id": "web-id",
        "template_id": "t",
        "action": "CREATE",
        "status": "COMPLETE",
        "traversal_id": "t1",
        "timeout_minutes": 1.0,
    }
    row = {"id": "uuid-of-server", "stack_id": "web-id", "name": "server", "type": "Isotherm::Node::Instance"}
    with store.database.write() as connection:
        connection.execute(tables.stack.insert().values({**stack, **times}))
        more = {
            "action": "CREATE",
            "physical_id": f"{node}/uuid-of-server",
            "on_node": node,
            "template_id": "t",
        }
        connection.execute(tables.resource.insert().values({**row, **more, **times}))


def test_each_node_is_a_row_and_one_that_is_away_says_so_with_its_age(
    terminal: Terminal, nodes: FakeNodes
) -> None:
    result = terminal.run("node", "list")
    assert result.exit_code == 0
    header, lost, first, second = (line.split() for line in result.stdout.splitlines())
    assert header[:6] == ["NAME", "STATE", "LABELS", "HYPERVISORS", "MEMORY", "PROMISED"]
    assert header[6:] == ["FREE", "VCPUS", "INSTANCES", "AGE", "REASON"]
    assert lost[:2] == ["lost", "unreachable"]
    assert "5 s its agent was last there 5 s ago" in " ".join(lost)
    assert first == ["n1", "up", "rack=r1", "process", "1000", "300", "700", "2/4", "1", "5", "s"]
    assert second == ["n2", "up", "rack=r1", "process", "1000", "0", "700", "0/4", "0", "5", "s"]


def test_programs_get_all_of_it(terminal: Terminal, nodes: FakeNodes) -> None:
    nodes.mute.add("n2")
    nodes.cache.bump("n2", "test")
    lost, first, second = json.loads(terminal.run("node", "list", "-f", "json").stdout)
    assert (first["is_up"], first["storage"], first["boot_id"]) == (True, {"default": "file"}, "boot-1")
    assert (first["reserved_memory_mib"], first["promised"]) == (100, {"memory_mib": 300, "vcpus": 2})
    assert (second["state"], second["reason"]) == ("unreachable", "its agent does not answer")
    assert (lost["is_up"], lost["age_seconds"]) == (False, 5.0)


def test_a_node_whose_agent_came_and_went_while_nobody_looked_can_be_forgotten(
    terminal: Terminal, nodes: FakeNodes
) -> None:
    nodes.add("brief")
    nodes.remove("brief")
    brief, *_ = json.loads(terminal.run("node", "list", "-f", "json").stdout)
    assert (brief["name"], brief["state"], brief["labels"]) == ("brief", "unreachable", {})
    assert brief["reason"] == "its agent came and went while nobody looked"
    assert terminal.run("node", "show", "brief").exit_code == 0
    assert terminal.run("node", "forget", "brief").exit_code == 0
    assert "brief" not in terminal.run("node", "list").stdout


def test_a_node_that_never_told_its_state_is_listed_too(terminal: Terminal, nodes: FakeNodes) -> None:
    nodes.mute.add("n3")
    nodes.add("n3")
    *_, third = json.loads(terminal.run("node", "list", "-f", "json").stdout)
    assert (third["state"], third["reason"]) == ("unreachable", "node 'n3' did not answer within 10 s")
    assert (third["memory_mib"], third["instances"], third["age_seconds"]) == (1000, None, None)


def test_a_node_is_shown_with_what_is_on_it(terminal: Terminal, nodes: FakeNodes, store: Store) -> None:
    put_server_on(store, "n1")
    nodes.add("n1", {"uuid-of-server": instance()}, broken=True, boot_id="boot-2")
    result = terminal.run("node", "show", "n1")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "state up" in lines
    assert (
        "reason hypervisor 'qemu': error; it has rebooted, and not all resources on it have been checked since"
        in lines
    )
    assert "hypervisor process ok 1 memory_total_mib=1000, memory_free_mib=700" in lines
    assert "hypervisor qemu error no such program" in lines
    assert "storage default (file) ok storage_size_mib=5000, storage_free_mib=4000" in lines
    assert "web server CREATE_COMPLETE Isotherm::Node::Instance n1/uuid-of-server" in lines
    assert "bumps instance_start=4" in lines
    shown = json.loads(terminal.run("node", "show", "n1", "-f", "json").stdout)
    assert (shown["version"], shown["bumps"]) == ("1.2", {"instance_start": 4})
    assert (shown["node"]["booted"], shown["node"]["instances"]) == (True, None)
    assert [each["status"] for each in shown["sections"]] == ["ok", "error", "ok"]


def test_instances_are_listed_with_whose_they_are(terminal: Terminal, nodes: FakeNodes, store: Store) -> None:
    put_server_on(store, "n1")
    nodes.add(
        "n1", {"uuid-of-server": instance(cpu_seconds=2.26), "odd": instance(state="paused")}, broken=True
    )
    result = terminal.run("node", "instances", "n1")
    assert [line.split() for line in result.stdout.splitlines()[1:]] == [
        ["paused", "process", "64", "10", "1", "0.0", "7", "odd"],
        ["web", "server", "running", "process", "64", "10", "1", "2.3", "7", "uuid-of-server"],
    ]
    assert result.stderr == "hypervisor 'qemu': error: no such program\n"
    nodes.remove("n1")
    nodes.now += 85
    away = terminal.run("node", "instances", "n1")
    assert "node 'n1' does not answer: this was reported 85 s ago" in away.stderr
    assert json.loads(terminal.run("node", "instances", "n1", "-f", "json").stdout)["stale"] is True


def test_instances_of_a_node_that_never_told_are_not_none(terminal: Terminal, nodes: FakeNodes) -> None:
    nodes.mute.add("n3")
    nodes.add("n3")
    result = terminal.run("node", "instances", "n3")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "node 'n3' did not answer" in result.stderr


def test_nodes_are_asked_anew_and_one_that_does_not_answer_is_told(
    terminal: Terminal, nodes: FakeNodes
) -> None:
    nodes.asked.clear()
    result = terminal.run("node", "refresh", "n2", "n1")
    assert (result.exit_code, sorted(nodes.asked)) == (0, ["n1", "n2"])
    assert [line.split()[:2] for line in result.stdout.splitlines()[1:]] == [
        ["n2", "refreshed"],
        ["n1", "refreshed"],
    ]
    everybody = terminal.run("node", "refresh", "-f", "json")
    assert everybody.exit_code == 3
    assert {each["node"]: each["state"] for each in json.loads(everybody.stdout)} == {
        "lost": "unreachable",
        "n1": "refreshed",
        "n2": "refreshed",
    }


def test_what_is_remembered_is_forgotten_of_some_or_of_all(terminal: Terminal, nodes: FakeNodes) -> None:
    assert terminal.run("node", "flush", "n1", "n2").exit_code == 0
    assert terminal.run("node", "flush").exit_code == 0
    counted = nodes.cache.counters
    assert (counted.bumps["operator"], counted.flushes) == (2, {"operator": 1})
    nodes.asked.clear()
    terminal.run("node", "list")
    assert sorted(nodes.asked) == ["n1", "n2"]


def test_a_node_is_drained_and_taken_back(terminal: Terminal, nodes: FakeNodes, machines: Machines) -> None:
    result = terminal.run("node", "drain", "n1", "--reason", "new disks")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert ("state drained" in lines, "reason new disks" in lines) == (True, True)
    with pytest.raises(NodeOffline, match="new disks"):
        nodes.cache.machine_state("n1")
    shown = json.loads(terminal.run("node", "instances", "n1", "-f", "json").stdout)
    assert (shown["stale"], [each["name"] for each in shown["instances"]]) == (False, ["uuid-of-server"])
    away = json.loads(terminal.run("node", "drain", "lost", "-f", "json").stdout)
    assert (away["states"], away["state"], away["drained"]) == ("unreachable, drained", "unreachable", True)
    assert [row.name for row in machines.all() if row.is_drained] == ["lost", "n1"]
    back = json.loads(terminal.run("node", "undrain", "n1", "-f", "json").stdout)
    assert (back["states"], back["drain_reason"]) == ("up", "")
    assert [row.name for row in machines.all() if row.is_drained] == ["lost"]


@pytest.mark.parametrize("words", ["show", "drain", "undrain", "forget", "refresh", "flush", "instances"])
def test_a_name_that_is_not_there_is_refused_with_the_nearest(
    terminal: Terminal, nodes: FakeNodes, words: str
) -> None:
    nodes.asked.clear()
    result = terminal.run("node", words, "losst")
    assert result.exit_code == 2
    assert "there is no node 'losst'; did you mean 'lost'?" in result.stderr
    assert (nodes.asked, nodes.cache.counters.flushes) == ([], {})


def test_where_no_agent_ever_was_that_is_said(
    terminal: Terminal, nodes: FakeNodes, machines: Machines
) -> None:
    nodes.remove("n1")
    nodes.remove("n2")
    for name in ("n1", "n2", "lost"):
        nodes.cache.forget(name)
    with machines._db.write() as connection:
        connection.execute(tables.machine.delete())
    assert json.loads(terminal.run("node", "list", "-f", "json").stdout) == []
    assert "there is no node 'n1'; no agent has been there yet" in terminal.run("node", "show", "n1").stderr


def test_what_was_counted_is_shown_and_begun_again(terminal: Terminal, nodes: FakeNodes) -> None:
    terminal.run("node", "list")
    lines = [" ".join(line.split()) for line in terminal.run("node", "stats").stdout.splitlines()]
    # Three were asked first; then two were remembered, and one is not there.
    assert "hits 2" in lines
    assert "misses absent=3" in lines
    assert "hit rate 40.0%" in lines
    assert "age at serve 5.0 s" in lines
    assert "nodes queried 3" in lines
    shown = json.loads(terminal.run("node", "stats", "--reset", "-f", "json").stdout)
    assert (shown["hits"], shown["misses"], shown["hit_rate"]) == (2, {"absent": 3}, 0.4)
    again = json.loads(terminal.run("node", "stats", "-f", "json").stdout)
    assert (again["hits"], again["since"], again["hit_rate"]) == (0, None, None)


def test_where_nobody_looks_after_nodes_a_boot_is_told_until_what_is_there_was_checked(
    terminal: Terminal, service: FakeService, nodes: FakeNodes, store: Store
) -> None:
    put_server_on(store, "n1")
    tally = NodeStatistics(lambda: nodes.cache, store.node_counters)
    service.nodes_held = NodeAdmin(
        NodeInquiry(nodes, timeout_seconds=10), store.machines, lambda _: {}, tally, booted_at=2.0
    )
    _, first, second = json.loads(terminal.run("node", "list", "-f", "json").stdout)
    assert (first["booted"], second["booted"]) == (True, False)
    with store.database.write() as connection:
        connection.execute(tables.resource.update().values(updated_at=3.0))
    assert json.loads(terminal.run("node", "show", "n1", "-f", "json").stdout)["node"]["booted"] is False


def test_a_node_that_is_gone_for_good_is_forgotten_once_nothing_is_on_it(
    terminal: Terminal, nodes: FakeNodes, store: Store
) -> None:
    there = terminal.run("node", "forget", "n1")
    assert (there.exit_code, "node 'n1' has an agent: end it first" in there.stderr) == (2, True)
    put_server_on(store, "lost")
    taken = terminal.run("node", "forget", "lost")
    assert taken.exit_code == 2
    assert "cannot be forgotten: resource 'server' of stack 'web' is on it" in taken.stderr
    with store.database.write() as connection:
        connection.execute(tables.resource.delete())
    forgotten = json.loads(terminal.run("node", "forget", "lost", "-f", "json").stdout)
    assert forgotten == {"name": "lost", "state": "forgotten"}
    assert [each["name"] for each in json.loads(terminal.run("node", "list", "-f", "json").stdout)] == [
        "n1",
        "n2",
    ]
    with pytest.raises(NoSuchNode):
        nodes.cache.machine_state("lost")


def test_a_node_is_drained_where_nodes_states_are_out_of_reach(
    terminal: Terminal, nodes: FakeNodes, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise StateStoreFailed("redis does not answer")

    monkeypatch.setattr(nodes.cache, "leases", away)
    monkeypatch.setattr(nodes.cache, "set_offline", away)
    for words, drained in (("drain", True), ("undrain", False)):
        result = terminal.run("node", words, "n1", "-f", "json")
        assert result.exit_code == 0
        view = json.loads(result.stdout)
        assert (view["state"], view["reason"]) == ("failing", "redis does not answer")
        assert (view["drained"], [row.name for row in machines.all() if row.is_drained]) == (
            drained,
            ["n1"] if drained else [],
        )
    assert terminal.run("node", "list").exit_code == 3
