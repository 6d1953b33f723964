"""What every hypervisor promises, as tests: a hypervisor's own test module has a class that inherits them.

Such a class says how its hypervisor is made and what runs in it; what a hypervisor says it cannot do is held against
it too. Where a machine lacks what a hypervisor needs, its tests are skipped with the reason that its probe gives.
"""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from workers.agent.hypervisors.hypervisor import (
    CannotDo,
    Hypervisor,
    HypervisorFault,
    InstanceData,
    InstanceSpec,
    InstanceState,
    NoInstance,
)

#: Long enough for an instance that heeds the question.
GRACE_SECONDS = 10.0
SECRET = "mellon-of-the-door"


class HypervisorContract:
    """To be inherited by the tests of each hypervisor."""

    #: Whether another object, such as that of an agent started anew, sees the same instances.
    lasting: ClassVar[bool] = True
    #: Whether the hypervisor tells how much memory an instance was promised, to the MiB.
    tells_memory: ClassVar[bool] = True

    def make(self, directory: Path) -> Hypervisor:
        """Return the hypervisor that keeps what it must in ``directory``; called again for the same, another object."""
        raise NotImplementedError

    def spec(self, name: str = "web", **changes: Any) -> InstanceSpec:
        """Return an instance that runs until it is asked to end."""
        raise NotImplementedError

    def broken(self) -> InstanceSpec | None:
        """Return one that can never run; None: there is none."""
        return None

    @pytest.fixture
    def directory(self, tmp_path: Path) -> Path:
        """Where the hypervisor keeps what it must; not there yet."""
        return tmp_path / "hypervisor"

    @pytest.fixture
    def hypervisor(self, directory: Path) -> Iterator[Hypervisor]:
        """The hypervisor, of which nothing is left afterwards."""
        hypervisor = self.make(directory)
        if reason := hypervisor.probe():
            pytest.skip(reason)
        yield hypervisor
        for each in hypervisor.instances():
            hypervisor.remove(each.name)
        hypervisor.close()

    # -- looking -----------------------------------------------------------------------------------------------

    def test_the_nodes_numbers_agree(self, hypervisor: Hypervisor) -> None:
        node = hypervisor.node()
        assert 0 <= node.memory_free_mib <= node.memory_total_mib
        assert 0 <= node.memory_dom0_mib <= node.memory_total_mib
        assert node.memory_total_mib > 0
        assert node.cpu_total >= node.cpu_dom0 >= 0
        assert node.cpu_total >= node.cpu_sockets >= 1
        assert node.cpu_nodes >= 1
        json.dumps(node.to_wire())

    def test_at_first_there_is_nothing(self, hypervisor: Hypervisor) -> None:
        assert list(hypervisor.instances()) == []
        assert hypervisor.instance("web") is None

    def test_looking_changes_nothing(self, hypervisor: Hypervisor, directory: Path) -> None:
        hypervisor.start(self.spec())
        before = fingerprint(directory)
        hypervisor.node()
        hypervisor.instances()
        hypervisor.instance("web")
        hypervisor.instance("other")
        hypervisor.probe()
        assert fingerprint(directory) == before

    # -- starting ----------------------------------------------------------------------------------------------

    def test_what_is_started_runs_and_is_as_it_was_asked_for(self, hypervisor: Hypervisor) -> None:
        spec = self.spec()
        started = hypervisor.start(spec)
        assert started.state is InstanceState.RUNNING
        assert started.name == "web"
        assert started.id
        assert started.vcpus == spec.vcpus
        if self.tells_memory:
            assert started.memory_mib == spec.memory_mib
        assert_alike(started, one(hypervisor, "web"))
        assert [each.name for each in hypervisor.instances()] == ["web"]
        assert InstanceData.from_wire("web", json.loads(json.dumps(started.to_wire()))) == started

    def test_what_runs_is_not_started_again(self, hypervisor: Hypervisor) -> None:
        first = hypervisor.start(self.spec())
        assert_alike(hypervisor.start(self.spec()), first)
        assert len(hypervisor.instances()) == 1

    def test_started_by_many_at_once_it_is_one(self, hypervisor: Hypervisor) -> None:
        with ThreadPoolExecutor(4) as threads:
            started = list(threads.map(hypervisor.start, [self.spec()] * 4))
        assert len({each.id for each in started}) == 1
        assert len(hypervisor.instances()) == 1

    def test_instances_do_not_know_of_each_other(self, hypervisor: Hypervisor) -> None:
        web, store = hypervisor.start(self.spec("web")), hypervisor.start(self.spec("store"))
        assert web.id != store.id
        hypervisor.remove("web")
        assert [each.name for each in hypervisor.instances()] == ["store"]
        assert_alike(one(hypervisor, "store"), store)

    def test_a_start_that_fails_says_so_and_tells_no_secret(self, hypervisor: Hypervisor) -> None:
        if (broken := self.broken()) is None:
            pytest.skip(f"nothing makes {hypervisor.name} fail")
        with pytest.raises(HypervisorFault) as caught:
            hypervisor.start(replace(broken, env={"WORD": SECRET}))
        assert str(caught.value)
        assert SECRET not in str(caught.value)
        found = hypervisor.instance(broken.name)
        assert found is None or found.state is not InstanceState.RUNNING
        hypervisor.remove(broken.name)
        assert hypervisor.instance(broken.name) is None

    @pytest.mark.parametrize(
        "name", ["", "..", "a/b", "-rf", "a\0b"], ids=["none", "up", "path", "option", "null"]
    )
    def test_a_name_that_leads_elsewhere_is_refused(
        self, hypervisor: Hypervisor, directory: Path, name: str
    ) -> None:
        before = fingerprint(directory.parent)
        with pytest.raises(HypervisorFault, match="name"):
            hypervisor.start(self.spec(name))
        assert hypervisor.instance(name) is None
        with suppress(HypervisorFault):
            hypervisor.remove(name)
        assert fingerprint(directory.parent) == before

    # -- stopping ----------------------------------------------------------------------------------------------

    def test_what_is_stopped_is_at_rest_and_starts_again(self, hypervisor: Hypervisor) -> None:
        hypervisor.start(self.spec())
        for _ in range(2):
            hypervisor.stop("web", grace_seconds=GRACE_SECONDS)
            assert one(hypervisor, "web").state is InstanceState.SHUTDOWN
        assert hypervisor.start(self.spec()).state is InstanceState.RUNNING
        assert len(hypervisor.instances()) == 1

    def test_what_is_at_rest_starts_as_it_is_asked_for_now(self, hypervisor: Hypervisor) -> None:
        hypervisor.start(self.spec())
        hypervisor.stop("web", grace_seconds=GRACE_SECONDS)
        spec = self.spec()
        larger = hypervisor.start(replace(spec, memory_mib=spec.memory_mib + 16))
        if self.tells_memory:
            assert larger.memory_mib == spec.memory_mib + 16
        assert larger.state is InstanceState.RUNNING

    def test_without_grace_it_ends_at_once(self, hypervisor: Hypervisor) -> None:
        hypervisor.start(self.spec())
        hypervisor.stop("web", grace_seconds=0)
        assert one(hypervisor, "web").state is InstanceState.SHUTDOWN

    def test_what_was_removed_is_gone(self, hypervisor: Hypervisor) -> None:
        hypervisor.start(self.spec())
        for _ in range(2):
            hypervisor.remove("web")
            assert hypervisor.instance("web") is None
            assert list(hypervisor.instances()) == []
        assert hypervisor.start(self.spec()).state is InstanceState.RUNNING

    def test_what_is_at_rest_can_be_removed(self, hypervisor: Hypervisor) -> None:
        hypervisor.start(self.spec())
        hypervisor.stop("web", grace_seconds=GRACE_SECONDS)
        hypervisor.remove("web")
        assert hypervisor.instance("web") is None

    def test_nothing_can_be_done_with_an_instance_that_is_not_there(self, hypervisor: Hypervisor) -> None:
        with pytest.raises(NoInstance, match="web"):
            hypervisor.stop("web", grace_seconds=0)
        changes: dict[str, Callable[[], object]] = {
            "reboot": lambda: hypervisor.reboot("web"),
            "resize": lambda: hypervisor.resize("web", memory_mib=64, vcpus=1),
            "pause": lambda: hypervisor.pause("web"),
            "snapshot": lambda: hypervisor.snapshot("web", "before"),
        }
        for ability, change in changes.items():
            with pytest.raises(NoInstance if ability in hypervisor.abilities else CannotDo):
                change()
        assert list(hypervisor.instances()) == []

    # -- outliving the agent -----------------------------------------------------------------------------------

    def test_instances_outlive_the_agent(self, hypervisor: Hypervisor, directory: Path) -> None:
        if not self.lasting:
            pytest.skip(f"the instances of {hypervisor.name} are those of one process")
        started = hypervisor.start(self.spec())
        hypervisor.close()
        another = self.make(directory)
        assert_alike(one(another, "web"), started)
        assert_alike(another.start(self.spec()), started)
        another.stop("web", grace_seconds=GRACE_SECONDS)
        another.close()
        assert one(hypervisor, "web").state is InstanceState.SHUTDOWN

    # -- what some can do besides --------------------------------------------------------------------------------

    def test_it_stands_still_and_goes_on(self, hypervisor: Hypervisor) -> None:
        started = hypervisor.start(self.spec())
        if "pause" not in hypervisor.abilities:
            with pytest.raises(CannotDo):
                hypervisor.pause("web")
            with pytest.raises(CannotDo):
                hypervisor.unpause("web")
            return
        for _ in range(2):
            hypervisor.pause("web")
            assert one(hypervisor, "web").state is InstanceState.PAUSED
        for _ in range(2):
            hypervisor.unpause("web")
            assert one(hypervisor, "web").state is InstanceState.RUNNING
        assert one(hypervisor, "web").id == started.id

    def test_what_stands_still_can_be_stopped(self, hypervisor: Hypervisor) -> None:
        if "pause" not in hypervisor.abilities:
            pytest.skip(f"{hypervisor.name} cannot let an instance stand still")
        hypervisor.start(self.spec())
        hypervisor.pause("web")
        hypervisor.stop("web", grace_seconds=GRACE_SECONDS)
        assert one(hypervisor, "web").state is InstanceState.SHUTDOWN
        with pytest.raises(HypervisorFault):
            hypervisor.pause("web")

    def test_it_is_started_anew(self, hypervisor: Hypervisor) -> None:
        started = hypervisor.start(self.spec())
        if "reboot" not in hypervisor.abilities:
            with pytest.raises(CannotDo):
                hypervisor.reboot("web")
            return
        again = hypervisor.reboot("web")
        assert again.state is InstanceState.RUNNING
        assert (again.memory_mib, again.vcpus) == (started.memory_mib, started.vcpus)
        assert len(hypervisor.instances()) == 1

    def test_it_takes_another_size_while_it_runs(self, hypervisor: Hypervisor) -> None:
        spec, started = self.spec(), hypervisor.start(self.spec())
        if "resize" not in hypervisor.abilities:
            with pytest.raises(CannotDo):
                hypervisor.resize("web", memory_mib=spec.memory_mib, vcpus=spec.vcpus)
            return
        for _ in range(2):
            resized = hypervisor.resize("web", memory_mib=spec.memory_mib + 16, vcpus=spec.vcpus)
            assert resized.memory_mib == one(hypervisor, "web").memory_mib == spec.memory_mib + 16
            assert (resized.id, resized.state) == (started.id, InstanceState.RUNNING)

    def test_it_comes_back_to_what_was_kept(self, hypervisor: Hypervisor) -> None:
        spec, _ = self.spec(), hypervisor.start(self.spec())
        if "snapshot" not in hypervisor.abilities:
            with pytest.raises(CannotDo):
                hypervisor.snapshot("web", "before")
            with pytest.raises(CannotDo):
                hypervisor.restore("web", "before")
            return
        json.dumps(dict(hypervisor.snapshot("web", "before")))
        hypervisor.snapshot("web", "before")
        for _ in range(2):
            hypervisor.restore("web", "before")
            assert one(hypervisor, "web").vcpus == spec.vcpus
        with pytest.raises(HypervisorFault, match="after"):
            hypervisor.restore("web", "after")
        for _ in range(2):
            hypervisor.forget_snapshot("web", "before")
        with pytest.raises(HypervisorFault, match="before"):
            hypervisor.restore("web", "before")

    def test_another_node_takes_it_over(self, hypervisor: Hypervisor, tmp_path: Path) -> None:
        hypervisor.start(self.spec())
        if "migrate" not in hypervisor.abilities:
            with pytest.raises(CannotDo):
                hypervisor.export("web", tmp_path / "handed")
            return
        with pytest.raises(HypervisorFault):
            hypervisor.export("web", tmp_path / "handed")
        hypervisor.stop("web", grace_seconds=GRACE_SECONDS)
        for _ in range(2):
            json.dumps(dict(hypervisor.export("web", tmp_path / "handed")))
        hypervisor.remove("web")
        another = self.make(tmp_path / "another")
        for _ in range(2):
            another.take_in(self.spec(), tmp_path / "handed")
            assert one(another, "web").state is InstanceState.SHUTDOWN
        try:
            assert another.start(self.spec()).state is InstanceState.RUNNING
        finally:
            another.remove("web")
            another.close()


def one(hypervisor: Hypervisor, name: str) -> InstanceData:
    """Return an instance that must be there, and be the same in the list."""
    found = hypervisor.instance(name)
    assert found is not None
    (listed,) = [each for each in hypervisor.instances() if each.name == name]
    assert_alike(listed, found)
    return found


def assert_alike(one: InstanceData, other: InstanceData) -> None:
    """Hold two looks at an instance against each other: what it uses may have changed, nothing else."""
    assert _lasting(one) == _lasting(other)


def _lasting(instance: InstanceData) -> InstanceData:
    return replace(instance, cpu_seconds=0.0, memory_used_mib=None, details={}, raw_state="")


def fingerprint(directory: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return what is in a directory, down to the last time each file was written and all that it holds."""
    return {
        str(path.relative_to(directory)): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(directory.rglob("*"))
    }
