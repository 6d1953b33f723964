"""Containers that really run, where the machine has a runtime; each is ended by its test."""

import os
import queue
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.unit.workers.agent.hypervisors.contract import HypervisorContract, one
from tests.unit.workers.agent.hypervisors.root_file_system import busybox, make_root
from tests.waiting import PATIENCE_SECONDS, until
from workers.agent.hypervisors.containers.container import OciOptions
from workers.agent.hypervisors.containers.hypervisor import Oci
from workers.agent.hypervisors.containers.podman import store_arguments
from workers.agent.hypervisors.hypervisor import (
    CannotDo,
    Disk,
    Hypervisor,
    HypervisorFault,
    InstanceData,
    InstanceSpec,
    InstanceState,
)

#: Ends at once when it is asked to, as a first process does only if it says so.
_SERVE = "trap 'exit 0' TERM; while :; do sleep 0.02; done"
_IMAGE = "localhost/isotherm-test:1"


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root file system that all of them see, none writes to."""
    if not busybox():
        pytest.skip("there is no busybox that needs no libraries")
    return make_root(tmp_path_factory.mktemp("image") / "root")


def shell(script: str) -> tuple[str, ...]:
    """Return the command that runs a script inside."""
    return ("/bin/sh", "-c", script)


def when(hypervisor: Hypervisor, name: str, holds: Callable[[InstanceData], bool]) -> InstanceData:
    """Return the instance as soon as something holds of it."""

    def found() -> InstanceData | None:
        there = hypervisor.instance(name)
        return there if there is not None and holds(there) else None

    return until(found)


def log_of(instance: InstanceData) -> Path:
    """Return the file with what an instance has printed."""
    return Path(instance.details["log"])


def printed(hypervisor: Oci, name: str) -> list[str]:
    """Return what an instance has printed when it has ended."""
    ended = when(hypervisor, name, lambda found: "exit_code" in found.details)
    return log_of(ended).read_text().splitlines()


class TestRunc(HypervisorContract):
    image: ClassVar[Path]

    @pytest.fixture(autouse=True)
    def _image(self, root: Path) -> None:
        type(self).image = root

    def make(self, directory: Path) -> Oci:
        return Oci(OciOptions(engines=("runc",)), directory)

    def spec(self, name: str = "web", **changes: Any) -> InstanceSpec:
        ordered = {"name": name, "memory_mib": 32, "image": str(self.image), "command": shell(_SERVE)}
        return InstanceSpec(**{**ordered, **changes})

    def broken(self) -> InstanceSpec:
        return self.spec("broken", command=("/bin/missing",))

    def test_its_control_group_counts_what_it_uses(self, hypervisor: Oci) -> None:
        hypervisor.start(self.spec(command=shell("while :; do :; done")))
        busy = when(hypervisor, "web", lambda found: found.cpu_seconds > 0.1)
        assert busy.memory_used_mib is not None
        assert busy.memory_used_mib <= 32

    def test_who_takes_more_than_was_promised_is_ended(self, hypervisor: Oci) -> None:
        hog = ("/bin/busybox", "dd", "if=/dev/zero", "of=/dev/null", "bs=64M", "count=1")
        hypervisor.start(self.spec(command=hog, memory_mib=16))
        assert (
            when(hypervisor, "web", lambda it: it.state is InstanceState.CRASHED).details["exit_code"] == -9
        )

    def test_one_that_ends_unasked_is_heard_of(self, hypervisor: Oci, directory: Path) -> None:
        hypervisor.start(self.spec())
        heard: queue.SimpleQueue[str] = queue.SimpleQueue()
        another = self.make(directory)
        end = another.watch(heard.put)
        another.start(self.spec("store"))
        for name in ("web", "store"):
            os.kill(int(one(hypervisor, name).id), signal.SIGKILL)
            assert heard.get(timeout=PATIENCE_SECONDS) == f"instance {name!r} has ended"
        end()
        another.close()

    def test_a_network_that_the_node_does_not_allow_is_refused(self, directory: Path) -> None:
        hypervisor = Oci(OciOptions(networks=("none",)), directory)
        with pytest.raises(CannotDo, match="this node allows none, not host"):
            hypervisor.start(self.spec(networks=[{"mode": "host"}]))

    @pytest.mark.parametrize(("code", "state"), [(0, InstanceState.SHUTDOWN), (3, InstanceState.CRASHED)])
    def test_how_it_ended_is_remembered(self, hypervisor: Oci, code: int, state: InstanceState) -> None:
        hypervisor.start(self.spec(command=shell(f"exit {code}")))
        ended = when(hypervisor, "web", lambda found: "exit_code" in found.details)
        assert (ended.details["exit_code"], ended.state) == (code, state)

    def test_it_runs_as_who_and_where_it_is_told_with_its_variables_alone(self, hypervisor: Oci) -> None:
        script = 'id -u; id -g; pwd; echo "$WORD"; env | /bin/busybox cut -d= -f1 | /bin/busybox sort'
        asked: dict[str, Any] = {"user": "web:staff", "cwd": "/tmp", "env": {"WORD": "a b\nc", "MORE": ""}}
        hypervisor.start(self.spec(command=shell(script), **asked))
        seen = printed(hypervisor, "web")
        assert seen[:5] == ["1234", "50", "/tmp", "a b", "c"]
        # The runtime adds where home is, the shell its depth and its directory; WORD has a second line.
        assert seen[5:] == ["HOME", "MORE", "PATH", "PWD", "SHLVL", "WORD", "c"]

    def test_it_finds_its_disks_and_cannot_write_elsewhere(self, hypervisor: Oci, tmp_path: Path) -> None:
        data, other = tmp_path / "data", tmp_path / "other"
        for directory in (data, other):
            directory.mkdir()
        (other / "word").write_text("mellon")
        disks = (Disk(path=str(data), format="dir"), Disk(path=str(other), format="dir", readonly=True))
        script = (
            "cat /disks/1/word; echo; touch /srv/new /disks/1/a /bin/x 2>/dev/null; touch /tmp/a && echo fine"
        )
        options = {"disk_paths": ["/srv"]}
        hypervisor.start(self.spec(command=shell(script), disks=disks, options=options))
        assert printed(hypervisor, "web") == ["mellon", "fine"]
        assert [path.name for path in data.iterdir()] == ["new"]
        assert [path.name for path in other.iterdir()] == ["word"]
        assert not (self.image / "bin" / "x").exists()

    def test_it_sees_no_network_unless_it_is_asked_for(self, hypervisor: Oci) -> None:
        # Each line beyond the two of the heading is an interface.
        count = shell("/bin/busybox wc -l </proc/net/dev")
        hypervisor.start(self.spec("alone", command=count))
        hypervisor.start(self.spec("open", command=count, networks=[{"mode": "host"}]))
        # Kernels add interfaces of their own to each namespace, of which the machine has more all the same.
        assert int(printed(hypervisor, "alone")[0]) <= int(printed(hypervisor, "open")[0])
        machine = len(Path("/proc/net/dev").read_text().splitlines())
        assert printed(hypervisor, "open") == [str(machine)]

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"image": ""}, "image: expected a directory"),
            ({"image": "/nowhere"}, "expected a directory that holds a file system"),
            ({"image": "localhost/web"}, "'podman' is not among"),
            ({"command": ()}, "expected a command"),
            ({"user": "nobody-here"}, "knows no 'nobody-here'"),
            ({"options": {"writeable": True}}, "no option 'writeable'; did you mean 'writable'"),
            ({"options": {"disk_paths": ["/a/../.."]}}, "options: option 'disk_paths'"),
            ({"networks": [{"mode": "bridge"}]}, "only podman has mode bridge"),
            ({"networks": [{"mode": "namespace"}]}, "belong together"),
            ({"networks": [{}, {}]}, "expected one network at most, found 2"),
            ({"disks": (Disk(path="/dev/null", format="qcow2"),)}, "disk 0: a container cannot use qcow2"),
            ({"disks": (Disk(path="/nowhere"),)}, "disk 0: there is no /nowhere"),
        ],
    )
    def test_what_cannot_be_had_is_refused_before_anything_runs(
        self, hypervisor: Oci, changes: dict[str, Any], sentence: str
    ) -> None:
        with pytest.raises(HypervisorFault, match=sentence):
            hypervisor.start(self.spec(**changes))
        assert not [each for each in hypervisor.instances() if each.state is InstanceState.RUNNING]


class TestPodman:
    """What podman does otherwise than runc; it is slow, and the rest is the same code."""

    @pytest.fixture(scope="class")
    @classmethod
    def podman_root(cls, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
        """A store of podman's that holds one image."""
        if shutil.which("podman") is None:
            pytest.skip("there is no program 'podman'")
        archive = Path(shutil.make_archive(str(tmp_path_factory.mktemp("image") / "root"), "tar", root))
        store = tmp_path_factory.mktemp("podman")
        told = store_arguments(str(store), "vfs")
        done = subprocess.run(["podman", *told, "import", archive, _IMAGE], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(done.stderr.strip())
        yield store
        shutil.rmtree(told[told.index("--runroot") + 1], ignore_errors=True)

    @pytest.fixture
    def make(self, podman_root: Path, tmp_path: Path) -> Callable[[], Oci]:
        options = OciOptions(
            engines=("podman",), podman_root=str(podman_root), storage_driver="vfs", pull="never"
        )
        return lambda: Oci(options, tmp_path / "hypervisor")

    def spec(self, **changes: Any) -> InstanceSpec:
        ordered = {"name": "web", "memory_mib": 32, "image": _IMAGE, "command": shell(_SERVE)}
        return InstanceSpec(**{**ordered, **changes})

    def test_a_life(self, make: Callable[[], Oci]) -> None:
        hypervisor = make()
        if reason := hypervisor.probe():
            pytest.skip(reason)
        try:
            command = shell(f"[ -e /mark ] && echo again; touch /mark; {_SERVE}")
            spec = self.spec(env={"WORD": "mellon", "PATH": "/bin"}, command=command)
            started = hypervisor.start(spec)
            assert (started.state, started.memory_mib) == (InstanceState.RUNNING, 32)
            assert "mellon" in Path(f"/proc/{started.id}/environ").read_text()
            hypervisor.pause("web")
            assert one(make(), "web").state is InstanceState.PAUSED
            assert make().start(spec).id == started.id
            assert hypervisor.resize("web", memory_mib=48, vcpus=1).memory_mib == 48
            hypervisor.stop("web", grace_seconds=10)
            ended = hypervisor.instance("web")
            assert ended is not None
            assert (ended.state, ended.details["exit_code"]) == (InstanceState.SHUTDOWN, 0)
            with pytest.raises(CannotDo, match="podman's own"):
                hypervisor.export("web", log_of(ended).parent)
            # The same again is the same container, with what it has written.
            assert hypervisor.start(spec).state is InstanceState.RUNNING
            until(lambda: "again" in log_of(ended).read_text())
        finally:
            hypervisor.remove("web")
        assert list(hypervisor.instances()) == []
        hypervisor.remove("web")

    def test_an_image_that_is_not_there_is_said_to_be(self, make: Callable[[], Oci]) -> None:
        hypervisor = make()
        if reason := hypervisor.probe():
            pytest.skip(reason)
        with pytest.raises(HypervisorFault, match=r"podman: .*localhost/missing"):
            hypervisor.start(self.spec(image="localhost/missing:1"))
        hypervisor.remove("web")

    def test_what_only_the_other_engine_takes_is_refused(self, make: Callable[[], Oci], root: Path) -> None:
        with pytest.raises(CannotDo, match="'runc' is not among"):
            make().start(self.spec(image=str(root)))


def test_a_machine_without_any_engine_says_what_is_missing(tmp_path: Path) -> None:
    reason = Oci(OciOptions(runtime="runc-missing", podman="podman-missing"), tmp_path).probe()
    assert reason == "runc: there is no program 'runc-missing'; podman: there is no program 'podman-missing'"
