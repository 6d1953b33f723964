"""Domains of libvirt's own driver for tests, which runs in this process and keeps nothing."""

import sys
import threading
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree as ET

import pytest

from tests.unit.workers.agent.hypervisors.contract import HypervisorContract, one
from tests.waiting import PATIENCE_SECONDS
from workers.agent.hypervisors.disk_image import ImageFile
from workers.agent.hypervisors.hypervisor import (
    CannotDo,
    Disk,
    HypervisorFault,
    InstanceSpec,
    InstanceState,
)
from workers.agent.hypervisors.libvirt.domain import DomainKind, domain_uuid, domain_xml
from workers.agent.hypervisors.libvirt.hypervisor import Libvirt, LibvirtOptions

#: A machine of 4096 MiB, which the driver counts in KiB, and eight processors in two cells.
_NODE = """
<node>
  <cpu><nodes>2</nodes><sockets>1</sockets><cores>4</cores><threads>1</threads>
    <active>8</active><mhz>2000</mhz><model>i686</model></cpu>
  <memory>4194304</memory>
</node>
"""


class TestLibvirt(HypervisorContract):
    lasting: ClassVar[bool] = False

    def make(self, directory: Path) -> Libvirt:
        node = directory.parent / "node.xml"
        node.write_text(_NODE)
        return Libvirt(LibvirtOptions(uri=f"test://{node}"), directory)

    def spec(self, name: str = "web", **changes: Any) -> InstanceSpec:
        options = {"max_memory_mib": 512, "max_vcpus": 4}
        return InstanceSpec(**{"name": name, "memory_mib": 128, "vcpus": 2, "options": options, **changes})

    def broken(self) -> InstanceSpec:
        return self.spec("broken", options={"max_memory_mib": 1})

    def test_the_machine_is_counted_in_our_units(self, hypervisor: Libvirt) -> None:
        hypervisor.start(self.spec())
        node = hypervisor.node()
        assert (node.memory_total_mib, node.memory_free_mib) == (4096, 4096 - 128)
        assert (node.cpu_total, node.cpu_nodes, node.cpu_sockets) == (8, 2, 2)
        assert node.hv_version is not None
        assert len(node.hv_version) == 3

    def test_what_happens_to_a_domain_is_heard_of(self, hypervisor: Libvirt) -> None:
        heard: list[str] = []
        stopped = threading.Event()

        def changed(why: str) -> None:
            heard.append(why)
            if why == "domain web stopped":
                stopped.set()

        end = hypervisor.watch(changed)
        hypervisor.start(self.spec())
        hypervisor.pause("web")
        hypervisor.stop("web", grace_seconds=0)
        assert stopped.wait(PATIENCE_SECONDS)
        assert heard == [f"domain web {word}" for word in ("defined", "started", "suspended", "stopped")]
        end()
        heard.clear()
        stopped.clear()
        last = hypervisor.watch(changed)
        hypervisor.start(self.spec())
        hypervisor.stop("web", grace_seconds=0)
        assert stopped.wait(PATIENCE_SECONDS)
        # Each was told to the one that still listens, and once.
        assert heard.count("domain web stopped") == 1
        last()

    def test_more_than_it_was_defined_with_is_refused(self, hypervisor: Libvirt) -> None:
        hypervisor.start(self.spec())
        assert hypervisor.resize("web", memory_mib=64, vcpus=4).vcpus == 4
        with pytest.raises(CannotDo, match="512 MiB and 4 processors at most"):
            hypervisor.resize("web", memory_mib=128, vcpus=5)

    def test_it_comes_back_as_it_was_and_not_only_there(self, hypervisor: Libvirt) -> None:
        hypervisor.start(self.spec())
        hypervisor.snapshot("web", "before")
        hypervisor.stop("web", grace_seconds=0)
        hypervisor.restore("web", "before")
        assert one(hypervisor, "web").state is InstanceState.RUNNING

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"command": ("/bin/true",)}, "takes no command"),
            ({"env": {"A": "b"}}, "type test take no env"),
            ({"image": "/disk"}, "type test take no image"),
            ({"options": {"max_memory": 1}}, "did you mean 'max_memory_mib'"),
            ({"networks": [{"mode": "tap"}]}, "networks.0: option 'mode'"),
        ],
    )
    def test_what_cannot_be_had_is_refused_before_anything_runs(
        self, hypervisor: Libvirt, changes: dict[str, Any], sentence: str
    ) -> None:
        with pytest.raises(HypervisorFault, match=sentence):
            hypervisor.start(self.spec(**changes))
        assert list(hypervisor.instances()) == []


def test_the_domain_of_somebody_else_is_told_of_and_left_alone(tmp_path: Path) -> None:
    hypervisor = Libvirt(LibvirtOptions(uri="test:///default"), tmp_path)
    if reason := hypervisor.probe():
        pytest.skip(reason)
    # The driver has one of its own.
    assert one(hypervisor, "test").state is InstanceState.RUNNING
    for change in (
        lambda: hypervisor.stop("test", grace_seconds=0),
        lambda: hypervisor.remove("test"),
        lambda: hypervisor.pause("test"),
        lambda: hypervisor.start(InstanceSpec(name="test", memory_mib=1)),
    ):
        with pytest.raises(HypervisorFault, match="made by somebody else"):
            change()
    assert one(hypervisor, "test").state is InstanceState.RUNNING
    hypervisor.close()


def test_without_the_library_it_says_where_that_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "libvirt", None)
    assert "isotherm[libvirt]" in Libvirt(LibvirtOptions(), tmp_path).probe()


def test_where_nobody_answers_the_reason_is_libvirts(tmp_path: Path) -> None:
    pytest.importorskip("libvirt", exc_type=ImportError)
    uri = f"qemu:///session?socket={tmp_path}/missing"
    assert Libvirt(LibvirtOptions(uri=uri), tmp_path).probe().startswith("libvirt: ")


def test_a_machine_is_described_with_all_that_was_asked_for() -> None:
    spec = InstanceSpec(
        name="web",
        title="shop <web>",
        memory_mib=512,
        vcpus=2,
        env={"WORD": "a & b"},
        disks=(Disk(path="/v/data"), Disk(path="/v/dir", format="dir", readonly=True)),
        networks=({"mac": "52:54:00:12:34:56"}, {"mode": "bridge", "source": "br0"}),
        options={"max_memory_mib": 1024, "kernel": "/k", "append": "quiet"},
    )
    kind = DomainKind(type="qemu", log="/log")
    domain = ET.fromstring(domain_xml(spec, kind, ImageFile(path="/v/root", format="qcow2")))
    assert domain.findtext("uuid") == domain_uuid("web")
    assert domain.findtext("title") == "shop <web>"
    assert (domain.findtext("memory"), domain.findtext("currentMemory")) == ("1024", "512")
    assert domain.findtext("os/cmdline") == "quiet"
    assert [each.get("dev") for each in domain.iterfind("devices/disk/target")] == ["vda", "vdb"]
    assert [each.get("file") for each in domain.iterfind("devices/disk/source")] == ["/v/root", "/v/data"]
    assert domain.find("devices/filesystem/readonly") is not None
    assert [each.get("type") for each in domain.iterfind("devices/interface")] == ["network", "bridge"]
    assert domain.findtext("sysinfo/entry") == '{"WORD": "a & b"}'


def test_a_container_is_described_by_its_command() -> None:
    spec = InstanceSpec(
        name="web",
        memory_mib=64,
        image="/image",
        command=("/bin/sh", "-c", "exit 0"),
        env={"A": "b"},
        disks=(Disk(path="/data", format="dir"),),
    )
    domain = ET.fromstring(domain_xml(spec, DomainKind(type="lxc"), None))
    assert domain.findtext("os/init") == "/bin/sh"
    assert [each.text for each in domain.iterfind("os/initarg")] == ["-c", "exit 0"]
    assert [each.get("dir") for each in domain.iterfind("devices/filesystem/target")] == ["/", "/disks/0"]
    with pytest.raises(CannotDo, match="takes directories as disks, not raw"):
        domain_xml(
            InstanceSpec.from_wire({**spec.to_wire(), "disks": [{"path": "/a"}]}),
            DomainKind(type="lxc"),
            None,
        )
    with pytest.raises(HypervisorFault, match="needs a command"):
        domain_xml(InstanceSpec(name="web", memory_mib=1), DomainKind(type="lxc"), None)


def test_a_name_that_is_a_number_is_the_domains_own() -> None:
    number = "4f0c2a4e-8a51-4d1c-9b5a-0c6a54f0f9aa"
    assert domain_uuid(number) == number
    assert domain_uuid("web") != domain_uuid("store")
