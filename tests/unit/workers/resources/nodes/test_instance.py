"""``Isotherm::Node::Instance`` and ``::Volume``: what they ask of a node, and what becomes of changes."""

import socket
from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.definition import UNKNOWN
from orchestrator.plugins.machine_requirements import MachineRequirements
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.steps import ResourceFailure, ResourceState, Wait
from tests.unit.workers.resources.nodes.machine import Machine, changes
from workers.agent.hypervisors.fake import Fake
from workers.agent.hypervisors.hypervisor import CannotDo, InstanceState
from workers.resources.nodes.instance import NodeInstance
from workers.resources.nodes.volume import NodeVolume

GIVEN: Mapping[str, Any] = {"hypervisor": "fake", "memory": 16}
ROW = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def machine(tmp_path: Any) -> Machine:
    """A machine with a hypervisor whose instances never run."""
    files = tmp_path / "files"
    files.mkdir()
    agent = {"hypervisors": {"fake": {"memory_mib": 1024}}, "backend_seconds": 60}
    return Machine(
        Settings(state_directory=tmp_path / "state", node_directories=(files,), agent=agent)  # type: ignore[arg-type]
    )


@pytest.fixture
def state() -> ResourceState:
    return ResourceState(uuid=ROW)


def fake(machine: Machine) -> Fake:
    hypervisor = machine.nodes.agent().hypervisor("fake")
    assert isinstance(hypervisor, Fake)
    return hypervisor


def carry_out(machine: Machine, state: ResourceState, action: str, *words: Any, **given: Any) -> Any:
    """Carry out an action as the engine does; return the token with which it was complete."""
    machine.now += 1
    state.action, state.started_at = action.upper(), machine.now

    def resource() -> NodeInstance:
        return machine.instance(state, **{**GIVEN, **given})

    token = getattr(resource(), f"handle_{action}")(*words)
    check = f"check_{action}_complete"
    machine.carry_on(token, lambda each: getattr(resource(), check)(each))  # noqa: PLW0108  # a new one each time
    return token


def made(machine: Machine, state: ResourceState, **given: Any) -> None:
    carry_out(machine, state, "create", **given)


def update(
    machine: Machine, state: ResourceState, before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    told = changes(before, after)
    carry_out(machine, state, "update", told, **after)


# -- instances ---------------------------------------------------------------------------------------------------------


def test_an_instance_is_what_the_template_says(machine: Machine, state: ResourceState) -> None:
    volume = ResourceState(uuid="22222222-2222-4222-8222-222222222222")
    machine.volume(volume, size=2).check_create_complete({"stage": "settled"})
    disks = [{"volume": volume.physical_id, "readonly": True}, {"size": 1}]
    made(machine, state, command="serve --all", env={"A": 1}, vcpus=2, disks=disks, options={"x": 1})
    assert state.physical_id == f"local/{ROW}"
    record = fake(machine)._records.get(ROW).spec
    assert (record.memory_mib, record.vcpus, list(record.command)) == (16, 2, ["serve", "--all"])
    assert (dict(record.env), dict(record.options), record.title) == ({"A": "1"}, {"x": 1}, "site/box")
    assert [disk.readonly for disk in record.disks] == [True, False]
    assert [f"{ROW}-disk1" in disk.path for disk in record.disks] == [False, True]
    box = machine.instance(state, **GIVEN)
    told = {name: box.attribute(name) for name in ("node", "hypervisor", "name", "state")}
    assert told == {"node": "local", "hypervisor": "fake", "name": ROW, "state": "running"}


def test_deleting_takes_what_was_made_for_it_and_leaves_volumes(
    machine: Machine, state: ResourceState
) -> None:
    volume = ResourceState(uuid="22222222-2222-4222-8222-222222222222")
    machine.volume(volume, size=1).check_create_complete({"stage": "settled"})
    disks = [{"volume": volume.physical_id}, {"size": 1}]
    made(machine, state, disks=disks)
    for _ in range(2):
        carry_out(machine, state, "delete", disks=disks)
    assert fake(machine).instances() == []
    assert [each.name for each in machine.nodes.agent().storage_unit("default").volumes()] == [volume.uuid]


def test_a_volume_elsewhere_or_nowhere_is_refused(machine: Machine, state: ResourceState) -> None:
    for volume, sentence in (
        (f"far/{ROW}", "is on node 'far', and the instance on 'local'"),
        (f"local/{ROW}", "there is no volume"),
        ("volume", "expected an id such as node/name"),
    ):
        with pytest.raises(ResourceFailure, match=sentence):
            made(machine, state, disks=[{"volume": volume}])
    assert fake(machine).instances() == []


def test_another_size_is_given_in_place_where_the_hypervisor_can(
    machine: Machine, state: ResourceState
) -> None:
    made(machine, state)
    before = fake(machine).instances()[0].id
    update(machine, state, GIVEN, {**GIVEN, "memory": 32})
    (box,) = fake(machine).instances()
    assert (box.id, box.memory_mib) == (before, 32)


def test_elsewhere_it_is_started_anew_with_it(
    machine: Machine, state: ResourceState, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resize(*_: Any, **__: Any) -> None:
        raise CannotDo("no")

    monkeypatch.setattr(Fake, "resize", resize)
    made(machine, state)
    before = fake(machine).instances()[0].id
    update(machine, state, GIVEN, {**GIVEN, "memory": 32})
    (box,) = fake(machine).instances()
    assert box.id != before
    assert (box.memory_mib, box.state) == (32, InstanceState.RUNNING)


@pytest.mark.parametrize("changed", [{"command": "x"}, {"env": {"A": "b"}}, {"options": {"x": 1}}])
def test_what_it_is_given_otherwise_starts_it_anew_under_its_name(
    machine: Machine, state: ResourceState, changed: dict[str, Any]
) -> None:
    made(machine, state)
    before = fake(machine).instances()[0].id
    update(machine, state, GIVEN, {**GIVEN, **changed})
    (box,) = fake(machine).instances()
    assert (box.name, box.id != before) == (ROW, True)


def test_labels_and_groups_count_when_a_node_is_chosen_and_move_nothing(
    machine: Machine, state: ResourceState
) -> None:
    made(machine, state)
    calls = len(machine.nodes.calls)
    update(machine, state, GIVEN, {**GIVEN, "node_labels": {"rack": "r1"}, "groups": ["g"]})
    assert {rpc for _, rpc, _ in machine.nodes.calls[calls:]} == {"instance_look"}


def test_another_node_needs_another_resource(machine: Machine, state: ResourceState) -> None:
    made(machine, state)
    box = machine.instance(state, **GIVEN)
    assert box.needs_replace(changes({"node": ""}, {"node": "far"}))
    assert not box.needs_replace(changes({"node": ""}, {"node": "local"}))
    assert not box.needs_replace(changes({"node": "local"}, {"node": ""}))


def test_one_that_ended_is_found_by_a_check_and_started_by_the_update(
    machine: Machine, state: ResourceState
) -> None:
    made(machine, state)
    box = machine.instance(state, **GIVEN)
    box.handle_check()
    assert box.observe() == {"node": "", "memory": 16, "vcpus": 1}
    fake(machine).stop(ROW, grace_seconds=0)
    with pytest.raises(ResourceFailure, match="the instance is shutdown"):
        box.handle_check()
    seen = box.observe()
    assert seen == {"node": "", "memory": 0, "vcpus": 0}
    update(machine, state, {**GIVEN, **seen}, GIVEN)
    assert box.attribute("state") == "running"


def test_one_that_is_gone_does_not_exist(machine: Machine, state: ResourceState) -> None:
    box = machine.instance(state, **GIVEN)
    assert box.observe() is None
    assert box.find() is None
    made(machine, state)
    assert box.find() == state.physical_id
    fake(machine).remove(ROW)
    assert box.observe() is None
    assert box.attribute("state") is None
    assert box.attribute("node") == "local"


def test_it_stands_still_and_goes_on(machine: Machine, state: ResourceState) -> None:
    made(machine, state)
    for action, expected in (("suspend", "paused"), ("suspend", "paused"), ("resume", "running")):
        carry_out(machine, state, action)
        assert machine.instance(state, **GIVEN).attribute("state") == expected


def test_a_snapshot_brings_back_what_was(machine: Machine, state: ResourceState) -> None:
    made(machine, state)
    entry = carry_out(machine, state, "snapshot")
    update(machine, state, GIVEN, {**GIVEN, "memory": 32})
    carry_out(machine, state, "restore", entry)
    assert fake(machine).instances()[0].memory_mib == 16
    machine.instance(ResourceState(uuid="gone"), **GIVEN).handle_delete_snapshot(entry)
    with pytest.raises(ResourceFailure, match="no snapshot"):
        carry_out(machine, state, "restore", entry)
    other = ResourceState(uuid="33333333-3333-4333-8333-333333333333", on_node="local")
    with pytest.raises(ResourceFailure, match="which is another one"):
        machine.instance(other, **GIVEN).handle_restore(entry)


def test_where_no_snapshots_can_be_taken_nothing_is_kept(
    machine: Machine, state: ResourceState, monkeypatch: pytest.MonkeyPatch
) -> None:
    def snapshot(*_: Any) -> None:
        raise CannotDo("no")

    monkeypatch.setattr(Fake, "snapshot", snapshot)
    made(machine, state)
    assert carry_out(machine, state, "snapshot") is None


def test_it_is_ready_when_its_node_finds_that_it_answers(machine: Machine, state: ResourceState) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        given = {**GIVEN, "ready": {"tcp": str(listener.getsockname()[1]), "timeout": 5}}
        box = machine.instance(state, **given)
        waits = box.check_create_complete({"stage": "settled"})
        assert waits == Wait(0.2, token={"stage": "ready", "since": machine.now})
        assert isinstance(waits, Wait)
        machine.now += 5
        with pytest.raises(ResourceFailure, match=r"not ready after 5 s: .*Connection refused"):
            machine.instance(state, **given).check_create_complete(waits.token)
        listener.listen()
        assert box.check_create_complete(waits.token) is True
    assert machine.nodes.counted("ready_look") == 3


def test_one_that_was_to_run_and_ended_has_failed(machine: Machine, state: ResourceState) -> None:
    made(machine, state)
    fake(machine).stop(ROW, grace_seconds=0)
    token = {"stage": "ready", "since": machine.now}
    with pytest.raises(ResourceFailure, match="the instance is shutdown, and was to run"):
        machine.instance(state, **GIVEN).check_create_complete(token)
    to_end = machine.instance(state, **{**GIVEN, "ready": {"exit": True}})
    assert to_end.check_create_complete(token) is True
    to_end.handle_check()


def test_an_adopted_one_keeps_its_name_and_its_node(machine: Machine, state: ResourceState) -> None:
    made(machine, state)
    mine = ResourceState(uuid="33333333-3333-4333-8333-333333333333", physical_id=state.physical_id)
    box = machine.instance(mine, **GIVEN)
    assert box.observe() is not None
    box.handle_adopt()
    assert mine.on_node == "local"
    carry_out(machine, mine, "delete")
    assert fake(machine).instances() == []


# -- volumes -----------------------------------------------------------------------------------------------------------


def test_a_volume_grows_in_place_and_a_smaller_one_is_another(machine: Machine, state: ResourceState) -> None:
    volume = machine.volume(state, size=1)
    assert volume.find() is None
    assert volume.check_create_complete(volume.handle_create()) is True
    assert (state.physical_id, volume.find()) == (f"local/{ROW}",) * 2
    assert volume.observe() == {"size": 1, "node": ""}
    larger = machine.volume(state, size=3)
    told = changes({"size": 1}, {"size": 3})
    assert not larger.needs_replace(told)
    assert larger.check_update_complete(larger.handle_update(told)) is True
    assert larger.attribute("size") == 3
    assert larger.attribute("format") == "raw"
    assert volume.needs_replace(changes({"size": 3}, {"size": 1}))
    assert volume.needs_replace(changes({"node": ""}, {"node": "far"}))
    for _ in range(2):
        assert volume.check_delete_complete(volume.handle_delete()) is True
    assert volume.observe() is None
    assert volume.attribute("size") is None


def test_a_storage_unit_that_is_not_there_is_no_missing_volume(
    machine: Machine, state: ResourceState
) -> None:
    with pytest.raises(ResourceFailure, match="nowhere"):
        machine.volume(
            ResourceState(uuid=ROW, physical_id=f"local/{ROW}"), size=1, storage="nowhere"
        ).observe()


# -- what is asked of nodes --------------------------------------------------------------------------------------------


def test_asks_are_those_of_the_template() -> None:
    assert NodeInstance.machine_requirements({"memory": "64"}) == MachineRequirements(
        hypervisor="process", memory_mib=64, vcpus=1
    )
    disks = [{"size": 4}, {"size": "2"}, {"size": 8, "storage": "fast"}, {"volume": "n/v"}, UNKNOWN]
    given = {
        "node": "n",
        "node_labels": {"rack": 1},
        "groups": ["g", UNKNOWN],
        "hypervisor": "qemu",
        "vcpus": 2,
    }
    assert NodeInstance.machine_requirements({**given, "disks": disks}) == MachineRequirements(
        node="n",
        hypervisor="qemu",
        vcpus=2,
        disks_mib={"default": 6, "fast": 8},
        labels={"rack": "1"},
        groups=("g",),
    )
    # It can only be where its volume is.
    found = NodeInstance.machine_requirements(
        {"disks": [{"size": 1}, {"volume": UNKNOWN}, {"volume": "m/v"}]}
    )
    assert found is not None
    assert found.node == "m"
    assert NodeVolume.machine_requirements({"size": 7}) == MachineRequirements(disks_mib={"default": 7})
    nothing = dict.fromkeys(NodeInstance.properties_schema, UNKNOWN)
    assert NodeInstance.machine_requirements(nothing) == MachineRequirements()
    assert NodeVolume.machine_requirements({"size": UNKNOWN, "storage": UNKNOWN}) == MachineRequirements()


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"disks": [{"size": 1}, {}]}, ("disks", 1)),
        ({"disks": [{"size": 1, "volume": "n/v"}]}, ("disks", 0)),
        ({"command": []}, ("command",)),
        ({"cwd": "../up"}, ("cwd",)),
        ({"env": {"A": []}}, ("env", "A")),
        ({"ready": {"tcp": "nowhere"}}, ("ready", "tcp")),
        ({"node_labels": {"rack": None}}, ("node_labels", "rack")),
    ],
)
def test_what_cannot_be_read_is_refused(given: dict[str, Any], path: tuple[str | int, ...]) -> None:
    with pytest.raises(PropertyError) as refused:
        NodeInstance.validate({**GIVEN, **given})
    assert refused.value.path == path


def test_what_is_not_known_yet_may_be_right() -> None:
    NodeInstance.validate(dict.fromkeys(NodeInstance.properties_schema, UNKNOWN))
    NodeInstance.validate({"disks": [{"volume": UNKNOWN}, UNKNOWN], "command": [UNKNOWN]})


def test_without_a_choice_in_an_installation_of_many_nodes_people_are_told(state: ResourceState) -> None:
    machine = Machine(Settings(broker_url="redis://localhost:1"))
    box = machine.instance(state, **GIVEN)
    with pytest.raises(ResourceFailure, match="name one by the property 'node', or enable"):
        box.handle_create()
    # Nothing was made: there is nothing to find, and nothing to be deleted.
    assert box.find() is None
    assert box.check_delete_complete(box.handle_delete()) is True
    assert state.on_node is None


def test_what_is_on_record_counts_before_the_template_and_that_before_placement(
    state: ResourceState,
) -> None:
    machine = Machine(Settings(broker_url="redis://localhost:1"))
    box, named = machine.instance(state, **GIVEN), machine.instance(state, **{**GIVEN, "node": "n1"})
    for each in (box, named):
        each.annotations = {"placement": {"node": "n2"}}
    assert (box.node, named.node) == ("n2", "n1")
    state.on_node = "n3"
    assert (box.node, named.node) == ("n3", "n3")
