"""Instances that are commands of this machine."""

import json
import os
import pwd
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

import psutil
import pytest

from tests import waiting
from tests.unit.workers.agent.hypervisors.contract import (
    GRACE_SECONDS,
    SECRET,
    HypervisorContract,
    fingerprint,
    one,
)
from tests.unit.workers.agent.killing import in_a_small_process, killed_after
from tests.waiting import PATIENCE_SECONDS
from workers.agent.hypervisors.control_groups import trees_of
from workers.agent.hypervisors.hypervisor import (
    Disk,
    Hypervisor,
    HypervisorFault,
    InstanceData,
    InstanceSpec,
    InstanceState,
)
from workers.agent.hypervisors.process.hypervisor import ProcessHypervisor, ProcessOptions

T = TypeVar("T")
MOUNTS = Path("/proc/self/mounts")
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run commands as others")


class TestProcess(HypervisorContract):
    def make(self, directory: Path) -> ProcessHypervisor:
        return ProcessHypervisor(ProcessOptions(), directory)

    def spec(self, name: str = "web", **changes: Any) -> InstanceSpec:
        return InstanceSpec(**{"name": name, "memory_mib": 64, "command": ["sleep", "1000"], **changes})

    def broken(self) -> InstanceSpec:
        return self.spec("broken", command=["/no/such/program"])

    def shell(self, script: str, **changes: Any) -> InstanceSpec:
        return self.spec(command=["sh", "-c", script], **changes)

    # -- what it is ----------------------------------------------------------------------------------------------

    def test_it_is_a_process_with_a_number_and_a_log(self, hypervisor: Hypervisor) -> None:
        before = time.time()
        hypervisor.start(self.shell("echo hello; exec sleep 1000"))
        said = one(hypervisor, "web")
        process = psutil.Process(int(said.id))
        assert said.details["pid"] == process.pid
        assert said.details["exit_code"] is None
        assert before - 1 <= said.details["started_at"] <= time.time() + 1
        log = Path(said.details["log"])
        assert until(log.read_text, "hello\n".__eq__)

    def test_what_its_children_use_counts(self, hypervisor: Hypervisor) -> None:
        # The child carries no marker, like servers that write their title over their environment.
        script = "env -u ISOTHERM_RESOURCE python3 -Ic 'x = bytearray(48 << 20); import time; time.sleep(1000)' & wait"
        hypervisor.start(self.shell(script))
        used = until(lambda: look(hypervisor), lambda said: (said.memory_used_mib or 0) >= 48)
        assert used.details["processes"] >= 2
        assert used.memory_mib == 64

    def test_a_disk_is_found_in_the_environment(self, hypervisor: Hypervisor, tmp_path: Path) -> None:
        disks = [Disk(path=str(tmp_path / "data.raw")), Disk(path=str(tmp_path / "files"), format="dir")]
        Path(disks[0].path).touch()
        Path(disks[1].path).mkdir()
        spec = self.shell(
            "env > out; mv out env; exec sleep 1000", disks=disks, env={"WORD": SECRET}, vcpus=2
        )
        hypervisor.start(spec)
        env = dict(line.split("=", 1) for line in until(self.work("env").read_text).splitlines())
        assert env["ISOTHERM_DISK_0"] == disks[0].path
        assert (env["ISOTHERM_DISK_1"], env["ISOTHERM_DISK_1_FORMAT"]) == (disks[1].path, "dir")
        assert (env["ISOTHERM_INSTANCE"], env["ISOTHERM_MEMORY_MIB"], env["ISOTHERM_VCPUS"]) == (
            "web",
            "64",
            "2",
        )
        assert env["WORD"] == SECRET

    def test_variables_are_for_nobody_elses_eyes(self, hypervisor: Hypervisor, directory: Path) -> None:
        hypervisor.start(self.spec(env={"WORD": SECRET}))
        assert SECRET not in json.dumps(one(hypervisor, "web").to_wire())
        holding = [path for path in directory.rglob("*") if path.is_file() and SECRET in path.read_text()]
        assert [path.name for path in holding] == ["instance.json"]
        assert holding[0].stat().st_mode & 0o077 == 0

    # -- how it ends -----------------------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("script", "state", "raw_state"),
        [
            ("exit 0", InstanceState.SHUTDOWN, "exit code 0"),
            ("exit 7", InstanceState.CRASHED, "exit code 7"),
            ("kill -SEGV $$", InstanceState.CRASHED, "ended by SIGSEGV"),
        ],
        ids=["well", "ill", "signal"],
    )
    def test_one_that_ends_by_itself_tells_how(
        self, hypervisor: Hypervisor, script: str, state: InstanceState, raw_state: str
    ) -> None:
        hypervisor.start(self.shell(script))
        ended = until(lambda: look(hypervisor), lambda said: said.state is not InstanceState.RUNNING)
        assert (ended.state, ended.raw_state, ended.id) == (state, raw_state, "")
        assert hypervisor.start(self.spec()).state is InstanceState.RUNNING

    def test_the_signal_that_it_heeds_is_its_own(self, hypervisor: Hypervisor) -> None:
        spec = self.shell(
            "trap 'exit 5' INT; touch ready; while :; do sleep 0.01; done", options={"stop_signal": "int"}
        )
        hypervisor.start(spec)
        until(self.work("ready").stat)
        hypervisor.stop("web", grace_seconds=GRACE_SECONDS)
        assert one(hypervisor, "web").raw_state == "exit code 5"
        assert one(hypervisor, "web").state is InstanceState.SHUTDOWN

    def test_one_that_heeds_nothing_is_killed_after_the_grace(self, hypervisor: Hypervisor) -> None:
        hypervisor.start(self.shell("trap '' TERM; touch ready; while :; do sleep 0.01; done"))
        until(self.work("ready").stat)
        hypervisor.stop("web", grace_seconds=0.1)
        assert one(hypervisor, "web").raw_state == "ended by SIGKILL"

    def test_what_it_started_elsewhere_ends_with_it(self, hypervisor: Hypervisor) -> None:
        hypervisor.start(self.shell("setsid sleep 1000 & echo $! > out; mv out child; exec sleep 1000"))
        child = psutil.Process(int(until(self.work("child").read_text)))
        hypervisor.stop("web", grace_seconds=GRACE_SECONDS)
        # It has let go of its memory, and may take a moment to be dead.
        assert until(lambda: ended(child), bool)

    def test_what_a_crashed_one_left_behind_ends_before_it_starts_again(self, hypervisor: Hypervisor) -> None:
        hypervisor.start(self.shell("sleep 1000 & echo $! > out; mv out child; exec sleep 1000"))
        child = psutil.Process(int(until(self.work("child").read_text)))
        os.kill(int(one(hypervisor, "web").id), signal.SIGKILL)
        crashed = until(lambda: look(hypervisor), lambda said: said.state is InstanceState.CRASHED)
        assert crashed.raw_state == "ended by SIGKILL"
        assert not ended(child)
        hypervisor.start(self.spec())
        # It has let go of its memory, and may take a moment to be dead.
        assert until(lambda: ended(child), bool)

    def test_a_number_that_went_to_a_stranger_is_not_taken_for_it(
        self, hypervisor: Hypervisor, directory: Path
    ) -> None:
        hypervisor.start(self.spec())
        stranger = psutil.Process(int(one(hypervisor, "web").id))
        (status,) = directory.glob("web/*/status.json")
        record = json.loads(status.read_text())
        status.write_text(
            json.dumps({**record, "mark": "another-boot/1", "supervisor_mark": "another-boot/2"})
        )
        said = one(hypervisor, "web")
        assert (said.state, said.raw_state, said.id) == (InstanceState.CRASHED, "ended unseen", "")
        status.write_text(json.dumps(record))
        assert not ended(stranger)

    def test_whoever_watches_hears_that_it_ended(self, hypervisor: Hypervisor) -> None:
        said: list[str] = []
        heard = Event()

        def changed(why: str) -> None:
            said.append(why)
            heard.set()

        hypervisor.start(self.spec("before"))
        end = hypervisor.watch(changed)
        assert end is not None
        hypervisor.start(self.spec("after"))
        for name in ("before", "after"):
            os.kill(int(one(hypervisor, name).id), signal.SIGKILL)
            assert heard.wait(PATIENCE_SECONDS)
            heard.clear()
            assert one(hypervisor, name).raw_state == "ended by SIGKILL"
        hypervisor.start(self.spec("before"))
        hypervisor.stop("before", grace_seconds=GRACE_SECONDS)
        hypervisor.start(self.spec("before"))
        end()
        assert said == ["instance 'before' has ended", "instance 'after' has ended"]

    # -- what is refused -------------------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"command": []}, "command"),
            ({"command": ["a\0b"]}, "null"),
            ({"image": "ubuntu"}, "image"),
            ({"networks": [{"bridge": "br0"}]}, "networks"),
            ({"command": ["./run"]}, "cwd"),
            ({"cwd": "/no/such/place"}, "no directory /no/such/place"),
            ({"cwd": "relative"}, "no directory relative"),
            ({"user": "no-such-user"}, "no user 'no-such-user'"),
            ({"env": {"A=B": SECRET}}, "variable"),
            ({"disks": [Disk(path="/no/such/disk")]}, "no disk /no/such/disk"),
            ({"options": {"stop_signel": "TERM"}}, "did you mean 'stop_signal'"),
            ({"options": {"stop_signal": "LOUD"}}, "name of a signal"),
        ],
        ids=[
            "nothing",
            "null",
            "image",
            "networks",
            "program",
            "cwd",
            "where",
            "user",
            "env",
            "disk",
            "option",
            "signal",
        ],
    )
    def test_what_cannot_be_is_refused_before_anything_is_touched(
        self, hypervisor: Hypervisor, directory: Path, changes: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(HypervisorFault, match=said) as caught:
            hypervisor.start(self.spec(**changes))
        assert SECRET not in str(caught.value)
        assert not directory.exists()

    def test_one_at_rest_stands_still_already(self, hypervisor: Hypervisor) -> None:
        hypervisor.start(self.spec())
        hypervisor.stop("web", grace_seconds=GRACE_SECONDS)
        for change in (hypervisor.pause, hypervisor.unpause):
            with pytest.raises(HypervisorFault, match="does not run"):
                change("web")

    # -- what goes along ---------------------------------------------------------------------------------------

    def test_it_takes_its_files_to_another_node(self, hypervisor: Hypervisor, tmp_path: Path) -> None:
        hypervisor.start(self.shell("echo here > page; mkfifo pipe; touch ready; exec sleep 1000"))
        until(self.work("ready").stat)
        hypervisor.stop("web", grace_seconds=GRACE_SECONDS)
        hypervisor.export("web", tmp_path / "handed")
        assert SECRET not in str(fingerprint(tmp_path / "handed"))
        another = self.make(tmp_path / "another")
        another.take_in(self.spec(), tmp_path / "handed")
        work = tmp_path / "another" / "web" / "work"
        assert sorted(path.name for path in work.iterdir()) == ["page", "ready"]
        another.remove("web")
        assert not work.exists()

    def test_it_is_not_taken_in_over_one_that_runs(self, hypervisor: Hypervisor, tmp_path: Path) -> None:
        hypervisor.start(self.spec())
        hypervisor.stop("web", grace_seconds=GRACE_SECONDS)
        hypervisor.export("web", tmp_path / "handed")
        started = hypervisor.start(self.spec())
        with pytest.raises(HypervisorFault, match="runs here already"):
            hypervisor.take_in(self.spec(), tmp_path / "handed")
        assert one(hypervisor, "web").id == started.id
        with pytest.raises(HypervisorFault, match="nothing was handed over"):
            hypervisor.take_in(self.spec("other"), tmp_path / "empty")

    # -- as whom -------------------------------------------------------------------------------------------------

    @AS_ROOT
    def test_it_runs_as_another_user_who_may_use_its_disks(
        self, hypervisor: Hypervisor, tmp_path: Path
    ) -> None:
        disk = tmp_path / "data.raw"
        disk.touch(0o600)
        user = pwd.getpwnam("nobody")
        script = (
            'id -un > who; id -un >> "$ISOTHERM_DISK_0" || echo refused >> who; touch ready; exec sleep 1000'
        )
        # Tests' own directories are for nobody else: what leads to the disk must be open to its user.
        for each in (tmp_path, *tmp_path.parents[:3]):
            if each.stat().st_uid == 0 and each != Path("/tmp"):
                each.chmod(each.stat().st_mode | 0o011)
        hypervisor.start(self.shell(script, user="nobody", disks=[Disk(path=str(disk))]))
        until(self.work("ready").stat)
        assert self.work("who").read_text() == "nobody\n"
        assert disk.read_text() == "nobody\n"
        process = psutil.Process(int(one(hypervisor, "web").id))
        assert set(process.uids()) == {user.pw_uid}
        assert set(process.gids()) == {user.pw_gid}
        assert process.environ()["USER"] == "nobody"
        hypervisor.stop("web", grace_seconds=GRACE_SECONDS)
        assert one(hypervisor, "web").state is InstanceState.SHUTDOWN

    @pytest.fixture(autouse=True)
    def _in_directory(self, directory: Path) -> None:
        self._directory = directory

    def work(self, name: str) -> Path:
        """Where a command finds itself that was told no directory."""
        return self._directory / "web" / "work" / name


@in_a_small_process
def test_wherever_the_agent_dies_in_a_start_it_runs_once(tmp_path: Path) -> None:
    script = "echo started >> starts; exec sleep 1000"
    spec = InstanceSpec(name="web", memory_mib=64, command=["sh", "-c", script])
    hypervisor, ran, lines = ProcessHypervisor(ProcessOptions(), tmp_path), [False], 0
    # Up to deaths after the command was started.
    while ran.count(True) < 3:
        assert killed_after(lines, lambda: ProcessHypervisor(ProcessOptions(), tmp_path).start(spec))
        found = hypervisor.instance("web")
        ran.append(found is not None and found.state is InstanceState.RUNNING)
        assert hypervisor.start(spec).state is InstanceState.RUNNING
        until((tmp_path / "web" / "work" / "starts").read_text, "started\n".__eq__)
        hypervisor.remove("web")
        lines += 23
    assert ran.count(False) > 3


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[ProcessHypervisor]:
    """The hypervisor with the same promises, held by control groups."""
    options = ProcessOptions(limits=True, control_group=f"isotherm-test-{os.getpid()}/instances")
    hypervisor = ProcessHypervisor(options, tmp_path / "limited")
    if reason := hypervisor.probe():
        pytest.skip(reason)
    yield hypervisor
    hypervisor.remove("web")
    assert groups_of(options) == []
    for tree in trees_of(MOUNTS.read_text()).values():
        for group in (tree.path / options.control_group, (tree.path / options.control_group).parent):
            with suppress(FileNotFoundError):
                group.rmdir()


def test_an_instance_that_takes_more_memory_than_it_was_promised_is_killed(
    limited: ProcessHypervisor,
) -> None:
    hoard = ["python3", "-c", "x = bytearray(200 << 20)"]
    limited.start(InstanceSpec(name="web", memory_mib=24, command=hoard))
    killed = until(lambda: look(limited), lambda said: said.state is InstanceState.CRASHED)
    assert killed.raw_state == "ended by SIGKILL, more memory was wanted than 24 MiB"
    assert killed.details["killed_for_memory"] == 1


def test_an_instance_gets_no_more_processor_time_than_it_was_promised(limited: ProcessHypervisor) -> None:
    started = limited.start(InstanceSpec(name="web", memory_mib=24, vcpus=2, command=["sleep", "1000"]))
    assert limits_of(started) == (24, 2)
    limited.pause("web")
    for memory_mib, vcpus in ((100, 1), (48, 3)):
        limited.resize("web", memory_mib=memory_mib, vcpus=vcpus)
        assert limits_of(one(limited, "web")) == (memory_mib, vcpus)
    limited.stop("web", grace_seconds=GRACE_SECONDS)
    assert limited.resize("web", memory_mib=24, vcpus=1).memory_mib == 24
    assert limits_of(limited.start(InstanceSpec(name="web", memory_mib=32, command=["sleep", "1000"]))) == (
        32,
        1,
    )


def limits_of(instance: InstanceData) -> tuple[int, int]:
    """Return the memory in MiB and the processors that the kernel grants a process, by the groups it is in."""
    lines = Path(f"/proc/{instance.id}/cgroup").read_text().splitlines()
    inside = {
        name: group for line in lines for _, names, group in [line.split(":", 2)] for name in names.split(",")
    }
    trees = trees_of(MOUNTS.read_text())
    groups = {
        name: tree.path / inside[name if tree.version == 1 else ""].lstrip("/")
        for name, tree in trees.items()
    }
    if trees["memory"].version == 1:
        memory = int((groups["memory"] / "memory.limit_in_bytes").read_text())
    else:
        memory = int((groups["memory"] / "memory.max").read_text())
    if trees["cpu"].version == 1:
        quota, period = (
            int((groups["cpu"] / f"cpu.cfs_{each}_us").read_text()) for each in ("quota", "period")
        )
    else:
        quota, period = map(int, (groups["cpu"] / "cpu.max").read_text().split())
    return memory // (1 << 20), quota // period


def groups_of(options: ProcessOptions) -> list[str]:
    """Return the instances that have a control group."""
    places = {tree.path / options.control_group for tree in trees_of(MOUNTS.read_text()).values()}
    return sorted(each.name for place in places for each in place.glob("*/"))


def look(hypervisor: Hypervisor) -> InstanceData:
    """Look once at an instance that may end in this very moment."""
    found = hypervisor.instance("web")
    assert found is not None
    return found


def until(look: Callable[[], T], enough: Callable[[T], bool] = lambda _: True) -> T:
    """Look until what is found is enough; a file that is not there is not."""

    def enough_of_it() -> tuple[T] | None:
        with suppress(FileNotFoundError):
            if enough(found := look()):
                return (found,)
        return None

    (found,) = waiting.until(enough_of_it)
    return found


def ended(process: psutil.Process) -> bool:
    """Whether a process has ended, though its parent may not have asked about it yet."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
