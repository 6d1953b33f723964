"""The plan of a command, made from a specification and checked."""

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, field_validator

from cache.stores.private_files import make_private_directory
from workers.agent.commands.account import Account, NoAccount, account_of
from workers.agent.commands.environment import environment, fault_of_environment
from workers.agent.hypervisors.hypervisor import CannotDo, HypervisorFault, InstanceSpec
from workers.agent.options import read_options


class ProcessInstanceOptions(BaseModel):
    """The options of one instance."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    stop_signal: str = Field(default="TERM", description="The signal that requests its end.")

    @field_validator("stop_signal")
    @classmethod
    def _known(cls, name: str) -> str:
        short = name.upper().removeprefix("SIG")
        if f"SIG{short}" not in signal.Signals.__members__:
            raise ValueError("expected the name of a signal, such as TERM, INT or QUIT")
        return short


@dataclass(frozen=True, slots=True)
class ProcessPlan:
    """A specification that can be carried out, as far as that is known beforehand."""

    argv: list[str]
    #: None: the agent's own user.
    account: Account | None
    #: Empty: the instance's own directory.
    cwd: str
    disks: tuple[str, ...]

    @classmethod
    def of(cls, spec: InstanceSpec) -> Self:
        """Read a specification.

        Raises:
            CannotDo: it requires what processes do not have.
            HypervisorFault: it is invalid, or does not fit this machine.
        """
        if spec.networks:
            raise CannotDo(
                "a process has the networks of its machine: hypervisor 'process' takes no networks"
            )
        if spec.image:
            raise CannotDo("a process has the files of its machine: hypervisor 'process' takes no image")
        argv = list(spec.command)
        if not argv or not argv[0] or any("\0" in each for each in argv):
            raise HypervisorFault(
                "hypervisor 'process' expects a command, not empty and without null characters"
            )
        if "/" in argv[0] and not argv[0].startswith("/") and not spec.cwd:
            # The operator's permission cannot mean a program in a directory that the instance itself writes to.
            raise HypervisorFault(f"program {argv[0]!r} is relative to a directory: a cwd is expected")
        if fault := fault_of_environment(spec.env):
            raise HypervisorFault(fault)
        read_options(ProcessInstanceOptions, spec.options, fault=HypervisorFault)
        if spec.cwd and not (Path(spec.cwd).is_absolute() and Path(spec.cwd).is_dir()):
            raise HypervisorFault(f"there is no directory {spec.cwd}")
        disks = tuple(disk.path for disk in spec.disks)
        if missing := next((path for path in disks if not Path(path).exists()), None):
            raise HypervisorFault(f"there is no disk {missing}")
        try:
            return cls(argv, account_of(spec.user), spec.cwd, disks)
        except NoAccount as error:
            raise HypervisorFault(str(error)) from error

    def prepare(self, work: Path) -> Path:
        """Return the directory in which the command runs; give its user access to it and to its disks."""
        make_private_directory(work)
        if self.account is not None:
            for path in (str(work), *self.disks):
                os.chown(path, self.account.uid, self.account.gid)
        return Path(self.cwd) if self.cwd else work.resolve()

    def environment(self, spec: InstanceSpec) -> Mapping[str, str]:
        """Return all variables of the command; reserved ones override the given ones."""
        known = {
            "ISOTHERM_INSTANCE": spec.name,
            "ISOTHERM_MEMORY_MIB": str(spec.memory_mib),
            "ISOTHERM_VCPUS": str(spec.vcpus),
        }
        for number, disk in enumerate(spec.disks):
            known[f"ISOTHERM_DISK_{number}"] = disk.path
            known[f"ISOTHERM_DISK_{number}_FORMAT"] = disk.format
        account = {} if self.account is None else self.account.environment
        return environment({**account, **spec.env, **known})


def signal_of(spec: InstanceSpec) -> signal.Signals:
    """Return the signal that requests an instance to end."""
    options = read_options(ProcessInstanceOptions, spec.options, fault=HypervisorFault)
    return signal.Signals[f"SIG{options.stop_signal}"]
