"""Virtual machines that really run, emulated, where the machine has qemu; each is ended by its test."""

import json
import os
import queue
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from tests.unit.workers.agent.hypervisors.contract import HypervisorContract, one
from tests.waiting import PATIENCE_SECONDS, until
from workers.agent.hypervisors.acceleration import boot_disk, fault_of_kvm
from workers.agent.hypervisors.hypervisor import (
    CannotDo,
    Disk,
    HypervisorFault,
    InstanceData,
    InstanceSpec,
    InstanceState,
)
from workers.agent.hypervisors.qemu.hypervisor import Qemu
from workers.agent.hypervisors.qemu.virtual_machine import QemuOptions, machine_command

_SAYS: Final = b"isotherm\r\n\0"
#: Prints what it says to the serial port, asks for the power button to be told of, sleeps until it is pressed, and
#: powers itself off: the smallest operating system that can be asked to end.
_HEEDS: Final = bytes.fromhex(
    "fa 31c0 8ed8 8ed0 bc007c fc ba f803 be 367c ac 84c0 7403 ee ebf8"
    "ba0206 b80001 ef fb f4 ba0006 ed f6c401 74f6 ba0406 b80020 ef fa f4 ebfd"
)


class TestQemu(HypervisorContract):
    #: One that says nothing, so that its log stays as it is, and one that says something at its start.
    image: ClassVar[Path]
    talking: ClassVar[Path]

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _image(cls, tmp_path_factory: pytest.TempPathFactory) -> None:
        images = tmp_path_factory.mktemp("image")
        cls.image, cls.talking = images / "quiet", images / "talking"
        cls.image.write_bytes(boot_disk(_HEEDS + b"\0"))
        cls.talking.write_bytes(boot_disk(_HEEDS + _SAYS))

    def make(self, directory: Path) -> Qemu:
        return Qemu(QemuOptions(accelerator="tcg"), directory)

    def spec(self, name: str = "web", **changes: Any) -> InstanceSpec:
        return InstanceSpec(**{"name": name, "memory_mib": 32, "image": str(self.image), **changes})

    def broken(self) -> InstanceSpec:
        return self.spec("broken", image="/nowhere")

    def test_what_its_image_holds_runs_on_a_disk_of_its_own(self, hypervisor: Qemu) -> None:
        before = self.talking.read_bytes()
        started = hypervisor.start(self.spec(image=str(self.talking)))
        said = when_logged(Path(started.details["log"]))
        assert said == "isotherm"
        assert started.raw_state == "running"
        assert self.talking.read_bytes() == before
        assert (Path(started.details["log"]).parent / "root.qcow2").exists()

    def test_one_that_its_user_powers_off_is_at_rest_and_not_crashed(
        self, hypervisor: Qemu, tmp_path: Path
    ) -> None:
        image = tmp_path / "disk"
        image.write_bytes(boot_disk(bytes.fromhex("ba0406 b80020 ef fa f4 ebfd")))
        hypervisor.start(self.spec(image=str(image)))
        ended = when(hypervisor, lambda found: found.state is not InstanceState.RUNNING)
        assert (ended.state, ended.raw_state, ended.id) == (InstanceState.SHUTDOWN, "shutdown", "")
        with pytest.raises(HypervisorFault, match="does not run"):
            hypervisor.pause("web")
        assert hypervisor.start(self.spec(image=str(image))).name == "web"

    def test_what_a_guest_does_unasked_is_heard_of(self, hypervisor: Qemu, directory: Path) -> None:
        hypervisor.start(self.spec())
        heard: queue.SimpleQueue[str] = queue.SimpleQueue()
        another = self.make(directory)
        end = another.watch(heard.put)
        hypervisor.pause("web")
        assert heard.get(timeout=PATIENCE_SECONDS) == "instance 'web' stands still"
        another.start(self.spec("store"))
        os.kill(int(one(hypervisor, "web").id), signal.SIGKILL)
        assert heard.get(timeout=PATIENCE_SECONDS) == "instance 'web' has ended"
        hypervisor.stop("store", grace_seconds=10)
        assert heard.get(timeout=PATIENCE_SECONDS) == "instance 'store' has shut down"
        end()
        another.close()

    def test_one_whose_process_was_killed_has_crashed_and_starts_again(self, hypervisor: Qemu) -> None:
        started = hypervisor.start(self.spec())
        os.kill(int(started.id), signal.SIGKILL)
        ended = when(hypervisor, lambda found: found.state is not InstanceState.RUNNING)
        assert (ended.state, ended.raw_state, ended.id) == (InstanceState.CRASHED, "gone", "")
        assert hypervisor.start(self.spec()).state is InstanceState.RUNNING

    def test_one_that_was_started_and_not_put_on_record_is_found(
        self, hypervisor: Qemu, directory: Path
    ) -> None:
        started = hypervisor.start(self.spec())
        record = directory / "web" / "instance.json"
        known = json.loads(record.read_text())
        record.write_text(json.dumps({**known, "notes": {**known["notes"], "pid": 0, "mark": ""}}))
        assert hypervisor.start(self.spec()).id == started.id

    def test_a_process_that_has_got_its_number_is_not_taken_for_it(
        self, hypervisor: Qemu, directory: Path
    ) -> None:
        hypervisor.start(self.spec())
        hypervisor.stop("web", grace_seconds=0)
        (directory / "web" / "pid").write_text(str(os.getpid()))
        assert one(hypervisor, "web").state is InstanceState.SHUTDOWN
        hypervisor.remove("web")

    def test_its_memory_comes_back_with_what_was_kept(self, hypervisor: Qemu) -> None:
        log = Path(hypervisor.start(self.spec(image=str(self.talking))).details["log"])
        when_logged(log)
        hypervisor.snapshot("web", "before")
        assert one(hypervisor, "web").details["snapshots"] == ["before"]
        hypervisor.stop("web", grace_seconds=0)
        hypervisor.restore("web", "before")
        assert one(hypervisor, "web").state is InstanceState.RUNNING
        # It goes on where it was: it heeds the power button, and has not said again what it says at its start.
        hypervisor.stop("web", grace_seconds=10)
        assert log.read_text().split() == ["isotherm"]

    def test_what_is_kept_of_one_at_rest_is_its_disks(self, hypervisor: Qemu, tmp_path: Path) -> None:
        volume = tmp_path / "volume.qcow2"
        qemu_img("create", "-q", "-f", "qcow2", str(volume), "1M")
        spec = self.spec(disks=(Disk(path=str(volume), format="qcow2"),))
        hypervisor.start(spec)
        hypervisor.stop("web", grace_seconds=0)
        assert hypervisor.snapshot("web", "before") == {"state": "shutdown", "disks": ["root", "disk0"]}
        hypervisor.start(spec)
        hypervisor.restore("web", "before")
        assert one(hypervisor, "web").state is InstanceState.SHUTDOWN
        hypervisor.forget_snapshot("web", "before")
        assert "before" not in qemu_img("snapshot", "-l", str(volume))

    def test_a_disk_that_cannot_keep_what_it_was_is_named(self, hypervisor: Qemu, tmp_path: Path) -> None:
        volume = tmp_path / "vol,ume"
        volume.write_bytes(bytes(1024 * 1024))
        hypervisor.start(self.spec(disks=(Disk(path=str(volume)), Disk(path=str(tmp_path), format="dir"))))
        with pytest.raises(CannotDo, match="disk 1 is a directory"):
            hypervisor.snapshot("web", "before")
        hypervisor.remove("web")
        hypervisor.start(self.spec(disks=(Disk(path=str(volume)),)))
        with pytest.raises(CannotDo, match="disk0 is raw"):
            hypervisor.snapshot("web", "before")

    def test_its_volumes_go_with_it_to_another_node(self, hypervisor: Qemu, tmp_path: Path) -> None:
        here, there = tmp_path / "here", tmp_path / "there"
        here.write_bytes(b"mellon".ljust(1024 * 1024, b"\0"))
        there.write_bytes(bytes(1024 * 1024))
        hypervisor.start(self.spec(image=str(self.talking), disks=(Disk(path=str(here)),)))
        hypervisor.stop("web", grace_seconds=0)
        hypervisor.export("web", tmp_path / "handed")
        another = self.make(tmp_path / "another")
        # The image is not there: the disk that was handed over needs it no more.
        moved = self.spec(image=str(self.talking), disks=(Disk(path=str(there)),))
        another.take_in(moved, tmp_path / "handed")
        assert there.read_bytes().startswith(b"mellon")
        try:
            when_logged(Path(another.start(moved).details["log"]))
        finally:
            another.remove("web")

    def test_what_it_was_given_while_it_ran_comes_back_with_its_state(self, hypervisor: Qemu) -> None:
        hypervisor.start(self.spec())
        grown = hypervisor.resize("web", memory_mib=48, vcpus=2)
        assert (grown.memory_mib, grown.vcpus) == (48, 2)
        hypervisor.snapshot("web", "before")
        hypervisor.stop("web", grace_seconds=0)
        assert hypervisor.resize("web", memory_mib=40, vcpus=1).vcpus == 1
        assert hypervisor.reboot("web").memory_mib == 40
        hypervisor.restore("web", "before")
        back = one(hypervisor, "web")
        assert (back.memory_mib, back.vcpus, back.state) == (48, 2, InstanceState.RUNNING)
        assert hypervisor.resize("web", memory_mib=64, vcpus=3).vcpus == 3

    def test_there_is_an_end_to_what_it_can_be_given_while_it_runs(self, hypervisor: Qemu) -> None:
        hypervisor.start(self.spec(vcpus=2))
        with pytest.raises(CannotDo, match="can lose one only while it is at rest"):
            hypervisor.resize("web", memory_mib=48, vcpus=1)
        with pytest.raises(CannotDo, match="room for 8 processors"):
            hypervisor.resize("web", memory_mib=48, vcpus=9)
        with pytest.raises(CannotDo, match="no place for more memory"):
            hypervisor.resize("web", memory_mib=4096, vcpus=2)
        # Nobody knows what it was given until then: there is no state that could be brought back.
        with pytest.raises(HypervisorFault, match="start it anew first"):
            hypervisor.snapshot("web", "before")
        hypervisor.reboot("web")
        hypervisor.snapshot("web", "before")

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"command": ("/bin/true",)}, "takes no command"),
            ({"user": "web"}, "takes no user"),
            ({"options": {"kernal": "/a"}}, "no option 'kernal'; did you mean 'kernel'"),
            ({"options": {"append": "quiet"}}, "belong to a kernel"),
            ({"options": {"kernel": "/nowhere"}}, "options.kernel: there is no /nowhere"),
            ({"options": {"max_memory_mib": 16}}, "below the one it starts with"),
            ({"networks": [{"mode": "tap"}]}, "networks.0: modes tap and bridge need a device"),
            ({"networks": [{"device": "../etc"}]}, "networks.0: option 'device'"),
            ({"networks": [{"mode": "bridge", "device": "br0", "forward": ["tcp::80-:80"]}]}, "can forward"),
            ({"disks": (Disk(path="/nowhere"),)}, "disk 0: there is no /nowhere"),
        ],
    )
    def test_what_cannot_be_had_is_refused_before_anything_runs(
        self, hypervisor: Qemu, changes: dict[str, Any], sentence: str
    ) -> None:
        with pytest.raises(HypervisorFault, match=sentence):
            hypervisor.start(self.spec(**changes))
        assert list(hypervisor.instances()) == []

    def test_an_image_that_refers_to_another_file_is_refused(self, hypervisor: Qemu, tmp_path: Path) -> None:
        layer = tmp_path / "layer"
        qemu_img("create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(self.image), str(layer))
        with pytest.raises(CannotDo, match="refers to another file"):
            hypervisor.start(self.spec(image=str(layer)))

    def test_it_runs_with_cards_and_variables(self, hypervisor: Qemu) -> None:
        networks = [{"mac": "52:54:00:12:34:56", "forward": ["tcp:127.0.0.1:0-:22"]}, {}]
        started = hypervisor.start(self.spec(networks=networks, env={"WORD": "mellon"}))
        command = Path(f"/proc/{started.id}/cmdline").read_text()
        assert command.count("virtio-net-pci") == 2
        assert "mellon" not in command


def when(hypervisor: Qemu, holds: Callable[[InstanceData], bool]) -> InstanceData:
    """Return the instance as soon as something holds of it."""

    def found() -> InstanceData | None:
        there = hypervisor.instance("web")
        return there if there is not None and holds(there) else None

    return until(found)


def when_logged(log: Path) -> str:
    """Return what a machine says at its start, as soon as it has said all of it."""

    def said() -> str:
        text = log.read_text() if log.exists() else ""
        return text if text.endswith("\n") else ""

    return until(said).strip()


def qemu_img(*arguments: str) -> str:
    """Run the program that makes images."""
    return subprocess.run(["qemu-img", *arguments], check=True, capture_output=True, text=True).stdout


def test_kvm_is_believed_only_if_a_machine_ran_with_it(tmp_path: Path) -> None:
    program = tmp_path / "qemu"
    program.write_text("#!/bin/sh\necho 'no such accelerator' >&2; exit 1\n")
    program.chmod(0o700)
    expected = "no such accelerator" if Path("/dev/kvm").exists() else "there is no /dev/kvm"
    assert fault_of_kvm(str(program)) == expected
    hypervisor = Qemu(QemuOptions(program=str(program), image_program="true", accelerator="kvm"), tmp_path)
    assert hypervisor.probe() == f"KVM cannot be used: {expected}"


def test_a_machine_without_it_says_what_is_missing(tmp_path: Path) -> None:
    assert Qemu(QemuOptions(program="qemu-missing"), tmp_path).probe() == "there is no program 'qemu-missing'"


def test_a_directory_with_a_comma_ends_no_option(tmp_path: Path) -> None:
    directory = tmp_path / "a,id=log"
    spec = InstanceSpec(name="web", memory_mib=32, disks=(Disk(path=str(tmp_path), format="dir"),))
    emulator = QemuOptions(program="qemu", accelerator="tcg")
    command = machine_command(spec, emulator=emulator, directory=directory, root=None, below=None)
    assert f"file,id=log,append=on,path={tmp_path}/a,,id=log/log" in command


def test_a_network_that_the_node_does_not_allow_is_refused(tmp_path: Path) -> None:
    spec = InstanceSpec(name="web", memory_mib=32, networks=({"mode": "tap", "device": "tap0"},))
    emulator = QemuOptions(program="qemu", accelerator="tcg", networks=("user",))
    with pytest.raises(CannotDo, match="this node allows user, not tap"):
        machine_command(spec, emulator=emulator, directory=tmp_path, root=None, below=None)
