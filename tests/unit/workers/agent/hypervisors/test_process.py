"""Instances that are commands of this machine."""

from pathlib import Path
from typing import Any

from tests.unit.workers.agent.hypervisors.contract import HypervisorContract
from workers.agent.hypervisors.hypervisor import InstanceSpec
from workers.agent.hypervisors.process import ProcessHypervisor, ProcessOptions


class TestProcess(HypervisorContract):
    def make(self, directory: Path) -> ProcessHypervisor:
        return ProcessHypervisor(ProcessOptions(), directory)

    def spec(self, name: str = "web", **changes: Any) -> InstanceSpec:
        return InstanceSpec(**{"name": name, "memory_mib": 64, "command": ["sleep", "1000"], **changes})

    def broken(self) -> InstanceSpec:
        return self.spec("broken", command=["/no/such/program"])
