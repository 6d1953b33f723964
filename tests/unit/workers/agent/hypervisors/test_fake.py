"""Instances that are declared, take room, and never run."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.workers.agent.hypervisors.contract import HypervisorContract, one
from workers.agent.hypervisors.fake import Fake, FakeOptions
from workers.agent.hypervisors.hypervisor import HypervisorFault, InstanceSpec


class TestFake(HypervisorContract):
    def make(self, directory: Path) -> Fake:
        return Fake(FakeOptions(memory_mib=4096, cpus=8), directory)

    def spec(self, name: str = "web", **changes: Any) -> InstanceSpec:
        return InstanceSpec(**{"name": name, "memory_mib": 512, "vcpus": 2, **changes})

    def test_what_is_declared_takes_room_until_it_is_at_rest(self, hypervisor: Fake) -> None:
        node = hypervisor.node()
        assert (node.memory_total_mib, node.memory_free_mib, node.cpu_total) == (4096, 4096, 8)
        hypervisor.start(self.spec("web"))
        hypervisor.start(self.spec("store", memory_mib=1024))
        hypervisor.pause("store")
        assert hypervisor.node().memory_free_mib == 4096 - 512 - 1024
        hypervisor.stop("store", grace_seconds=0)
        assert hypervisor.node().memory_free_mib == 4096 - 512

    def test_free_memory_is_never_less_than_nothing(self, hypervisor: Fake) -> None:
        hypervisor.start(self.spec(memory_mib=100_000))
        assert hypervisor.node().memory_free_mib == 0

    def test_its_size_comes_back_with_what_was_kept(self, hypervisor: Fake) -> None:
        hypervisor.start(self.spec())
        hypervisor.snapshot("web", "before")
        hypervisor.resize("web", memory_mib=64, vcpus=1)
        hypervisor.restore("web", "before")
        assert (one(hypervisor, "web").memory_mib, one(hypervisor, "web").vcpus) == (512, 2)

    def test_a_tag_that_leads_elsewhere_is_refused(self, hypervisor: Fake) -> None:
        hypervisor.start(self.spec())
        with pytest.raises(HypervisorFault, match="name"):
            hypervisor.snapshot("web", "../../other")

    def test_a_damaged_record_is_said_to_be(self, hypervisor: Fake, directory: Path) -> None:
        hypervisor.start(self.spec())
        (directory / "web" / "instance.json").write_text("{}")
        with pytest.raises(HypervisorFault, match="damaged"):
            hypervisor.instances()
        hypervisor.remove("web")
        assert list(hypervisor.instances()) == []


def test_without_options_it_is_the_machine_it_is_on(tmp_path: Path) -> None:
    node = Fake(FakeOptions(), tmp_path).node()
    assert node.memory_total_mib > node.memory_free_mib > 0
    assert node.cpu_total >= 1
