"""An agent keeps who has made each object, and refuses it to others: every RPC about objects, in one table."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest

from orchestrator.nodes.rpc.errors import NotOurs
from orchestrator.nodes.rpc.registry import NodeRpc, load_rpcs
from orchestrator.nodes.rpc.requester import REQUESTER, Requester
from tests.unit.workers.agent.agents import agent_of, ask, change, spec
from workers.agent.commands.readiness import Probe, ReadyWhen
from workers.agent.owners import volume_key

OURS: Final = Requester(project="p", stack="s-1", stack_name="shop", resource="web", uuid="row-1")
#: Another resource of the stack, another stack of the project, another project that happens to use the same names.
BESIDE: Final = Requester(project="p", stack="s-1", stack_name="shop", resource="db", uuid="row-2")
NEAR: Final = Requester(project="p", stack="s-2", stack_name="bank", resource="web", uuid="row-3")
FAR: Final = Requester(project="q", stack="s-3", stack_name="shop", resource="web", uuid="row-4")
#: Names that no refusal may show in another project.
SECRETS: Final = ("shop", "'web'", "s-1", "row-1", "'p'")

NOT_PROBED: Final = Probe(when=ReadyWhen.RUNNING, host="", port=0).to_wire()
#: RPCs about no object of a resource.
ABOUT_NONE: Final = {
    "node_snapshot",
    "node_version",
    "node_powercycle",
    "operation",
    "volume_list",
}
#: Those by which a resource takes over what no stack has any more: within its project alone.
TAKING_OVER: Final = {"object_take_over", "file_take_over"}


class Site:
    """An agent on which the resource ``OURS`` has made one object of each kind."""

    def __init__(self, directory: Path) -> None:
        self.agent = agent_of(directory)
        # Processes are found on the whole machine, where others run the same test.
        self.row = f"process{uuid4().hex}"
        self.files = directory / "files"
        self.moving = self.files / "moving"
        self.moving.mkdir()
        self.page = str(self.files / "page")
        self.by(OURS, "instance_start", hypervisor="fake", spec=spec("box"))
        self.by(OURS, "storage_create", storage="default", name="data", size_mib=1)
        self.by(OURS, "file_put", **self.file(OURS), content=b"ours", mode=0o600, new=True)
        self.by(OURS, "process_start", **self.process(), run="1")

    def process(self) -> dict[str, Any]:
        return {"uuid": self.row, "argv": ["sleep", "600"], "cwd": "", "env": {}, "probe": NOT_PROBED}

    def file(self, requester: Requester) -> dict[str, Any]:
        owner = {"uuid": requester.uuid, "stack": requester.stack, "resource": requester.resource}
        return {"owner": owner, "path": self.page}

    def by(self, requester: Requester, rpc: str, **arguments: Any) -> Any:
        call = ask if load_rpcs()[rpc].is_read else change
        return call(self.agent, rpc, **{REQUESTER: requester.to_wire()}, **arguments)

    def calls(self, requester: Requester) -> Mapping[str, Mapping[str, Any]]:
        """Return a call of each RPC about an object that is there, by a requester."""
        box = {"hypervisor": "fake", "name": "box"}
        data = {"storage": "default", "name": "data"}
        taken = {"hypervisor": "fake", "spec": spec("box"), "directory": str(self.moving)}
        given = {**box, "directory": str(self.moving)}
        file = self.file(requester)
        return {
            "instance_look": box,
            "ready_look": {**box, "probe": NOT_PROBED},
            "instance_start": {"hypervisor": "fake", "spec": spec("box")},
            "instance_stop": {**box, "grace_seconds": 0.0},
            "instance_reboot": box,
            "instance_resize": {**box, "memory_mib": 1, "vcpus": 1},
            "instance_pause": box,
            "instance_unpause": box,
            "instance_remove": box,
            "instance_snapshot": {**box, "tag": "t"},
            "instance_restore": {**box, "tag": "t"},
            "instance_forget_snapshot": {**box, "tag": "t"},
            "instance_export": given,
            "instance_import": taken,
            "instance_failover": taken,
            "instance_migrate": {**given, "grace_seconds": 0.0},
            "volume_look": data,
            "storage_create": {**data, "size_mib": 1},
            "storage_grow": {**data, "size_mib": 2},
            "storage_remove": data,
            "file_look": {"path": self.page, "most_bytes": 9},
            "file_put": {**file, "content": b"theirs", "mode": 0o600, "new": False},
            "file_take_over": {**file, "expected": self.page},
            "process_look": {"uuid": self.row},
            "process_start": {**self.process(), "run": "2"},
            "process_find": {"uuid": self.row},
            "process_signal": {"uuid": self.row, "number": 15},
            "process_kill": {"uuid": self.row},
            "process_forget": {"uuid": self.row},
            "object_take_over": {"kind": "volume", "name": volume_key("default", "data")},
        }

    def picture(self) -> Any:
        """Return what can be seen of the objects by their owner."""
        calls = self.calls(OURS)
        looks = ("instance_look", "volume_look", "file_look", "process_look")
        return [self.by(OURS, rpc, **calls[rpc]) for rpc in looks]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path)
    yield site
    change(site.agent, "process_kill", uuid=site.row)


@pytest.fixture(scope="module")
def rpcs() -> Mapping[str, NodeRpc]:
    return load_rpcs()


def test_each_rpc_about_an_object_is_in_the_table(site: Site, rpcs: Mapping[str, NodeRpc]) -> None:
    # file_find and file_remove go by the row of the requester's own resource: another row has no file there.
    assert set(site.calls(OURS)) | ABOUT_NONE | {"file_find", "file_remove"} == set(rpcs)


def test_object_of_another_project_is_neither_shown_nor_changed(site: Site) -> None:
    before = site.picture()
    for rpc, arguments in site.calls(FAR).items():
        with pytest.raises(NotOurs) as refused:
            site.by(FAR, rpc, **arguments)
        assert "belongs to another stack" in str(refused.value), rpc
        assert [each for each in SECRETS if each in str(refused.value)] == [], rpc
        assert site.picture() == before, rpc
    assert site.by(FAR, "volume_list", storage="default") == []


@pytest.mark.parametrize(
    ("other", "whose"), [(BESIDE, "the resource 'web'"), (NEAR, "the stack 'shop'")], ids=["beside", "near"]
)
def test_object_of_the_same_project_is_changed_by_its_resource_alone(
    site: Site, rpcs: Mapping[str, NodeRpc], other: Requester, whose: str
) -> None:
    before = site.picture()
    for rpc, arguments in site.calls(other).items():
        if rpcs[rpc].is_read or rpc in TAKING_OVER:
            continue
        with pytest.raises(NotOurs, match=f"belongs to {whose}"):
            site.by(other, rpc, **arguments)
        assert site.picture() == before, rpc


def test_adopted_object_is_refused_to_its_former_owner(site: Site) -> None:
    site.by(NEAR, "object_take_over", kind="instance", name="box")
    site.by(NEAR, "instance_pause", hypervisor="fake", name="box")
    with pytest.raises(NotOurs, match="belongs to the stack 'bank'"):
        site.by(OURS, "instance_remove", hypervisor="fake", name="box")


def test_replacement_of_a_resource_has_what_the_resource_had(site: Site) -> None:
    replacing = Requester(**{**OURS.to_wire(), "uuid": "row-9"})
    site.by(replacing, "storage_grow", storage="default", name="data", size_mib=2)
    site.by(OURS, "storage_remove", storage="default", name="data")


def test_object_that_is_gone_has_no_owner(site: Site) -> None:
    calls = site.calls(OURS)
    site.by(OURS, "file_remove", owner=site.file(OURS)["owner"], path=site.page, content=b"ours")
    for rpc in ("instance_remove", "storage_remove", "process_kill", "process_forget"):
        site.by(OURS, rpc, **calls[rpc])
    assert list((site.agent.directory / "owners").iterdir()) == []
    site.by(FAR, "file_put", **site.file(FAR), content=b"theirs", mode=0o600, new=True)


def test_removal_by_a_row_that_never_had_the_file_leaves_it(site: Site) -> None:
    owner = site.file(FAR)["owner"]
    assert site.by(FAR, "file_find", owner=owner) is None
    # By path and content, as where the records of a row are lost.
    site.by(FAR, "file_remove", owner=owner, path=site.page, content=b"ours")
    assert Path(site.page).read_bytes() == b"ours"


def test_path_is_free_where_the_file_has_gone_and_taken_from_then_on(site: Site) -> None:
    Path(site.page).unlink()
    site.by(FAR, "file_put", **site.file(FAR), content=b"theirs", mode=0o600, new=True)
    with pytest.raises(NotOurs, match="belongs to another stack"):
        site.by(OURS, "file_put", **site.file(OURS), content=b"ours", mode=0o600, new=False)
    # Of the same content: the very file is another's all the same.
    site.by(FAR, "file_put", **site.file(FAR), content=b"ours", mode=0o600, new=False)
    site.by(OURS, "file_remove", owner=site.file(OURS)["owner"], path=site.page, content=b"ours")
    assert Path(site.page).read_bytes() == b"ours"


@pytest.mark.parametrize("of", ["volume", "file"])
def test_instance_gets_no_disk_of_another_project(site: Site, of: str) -> None:
    volume = site.by(OURS, "volume_look", storage="default", name="data")
    disk = {"path": volume["path"], "format": volume["format"]}
    if of == "file":
        disk = {"path": site.page, "format": "raw"}
    wanted = spec("other", disks=[{**disk, "readonly": True}])
    with pytest.raises(NotOurs, match="belongs to another stack"):
        site.by(FAR, "instance_start", hypervisor="fake", spec=wanted)
    site.by(NEAR, "instance_start", hypervisor="fake", spec=wanted)


def test_object_of_an_earlier_agent_belongs_to_who_changes_it_next(tmp_path: Path) -> None:
    agent = agent_of(tmp_path)
    change(agent, "storage_create", storage="default", name="data", size_mib=1)
    looked = {"storage": "default", "name": "data"}
    assert ask(agent, "volume_look", **{REQUESTER: FAR.to_wire()}, **looked)
    change(agent, "storage_grow", **{REQUESTER: OURS.to_wire()}, size_mib=2, **looked)
    with pytest.raises(NotOurs):
        ask(agent, "volume_look", **{REQUESTER: FAR.to_wire()}, **looked)


def test_file_of_an_earlier_agent_is_not_overwritten_by_another_stack(tmp_path: Path) -> None:
    agent, page = agent_of(tmp_path), tmp_path / "files" / "page"
    put = {"path": "page", "mode": 0o600}
    change(agent, "file_put", owner=_owner(OURS), content=b"ours", new=True, **put)
    for new, requester in ((True, FAR), (False, FAR), (False, NEAR)):
        with pytest.raises(Exception, match="belongs to another stack"):
            change(
                agent,
                "file_put",
                **{REQUESTER: requester.to_wire()},
                owner=_owner(requester),
                content=b"theirs",
                new=new,
                **put,
            )
    assert page.read_bytes() == b"ours"


def test_owners_survive_the_end_of_the_agent(site: Site, tmp_path: Path) -> None:
    site.agent = agent_of(tmp_path)
    with pytest.raises(NotOurs):
        site.by(FAR, "instance_look", hypervisor="fake", name="box")


def test_request_without_a_requester_is_carried_out_as_before(site: Site) -> None:
    change(site.agent, "instance_pause", hypervisor="fake", name="box")
    assert ask(site.agent, "volume_look", storage="default", name="data")


@pytest.mark.parametrize("stated", ["web", {"project": "p"}, {**OURS.to_wire(), "uuid": 1}])
def test_requester_that_cannot_be_read_is_refused(site: Site, stated: Any) -> None:
    with pytest.raises(Exception, match="the requester cannot be read"):
        ask(site.agent, "volume_look", **{REQUESTER: stated}, storage="default", name="data")


def _owner(requester: Requester) -> dict[str, str]:
    return {"uuid": requester.uuid, "stack": requester.stack, "resource": requester.resource}
