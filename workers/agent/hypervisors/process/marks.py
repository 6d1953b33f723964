"""The marks of instances that are commands: variables by which they are found again without a record.

A command carries the token of its instance (``ISOTHERM_RESOURCE``), its run, and the variables below. The token is the
same for every agent of the same scope, whatever its directory, and another for other agents of the machine.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_OID, uuid5

import psutil

from workers.agent.commands.launcher import RUN_MARKER
from workers.agent.commands.process_table import ProcessTable
from workers.agent.hypervisors.hypervisor import Disk, InstanceSpec

#: The whole specification, as a digest.
ORDER_MARK: Final = "ISOTHERM_ORDER"
_NAME: Final = "ISOTHERM_INSTANCE"


def token_of(scope: str, name: str) -> str:
    """Return the token of an instance."""
    return uuid5(NAMESPACE_OID, f"{scope}\0{name}").hex


def order_mark(spec: InstanceSpec) -> str:
    """Return the digest of a specification."""
    text = json.dumps(spec.to_wire(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def marked_instances(table: ProcessTable, scope: str) -> set[str]:
    """Return the names of the instances of an agent that run."""
    names = set()
    for token, processes in table.by_marker.items():
        for process in processes:
            with suppress(psutil.Error):
                name = process.environ().get(_NAME, "")
                if token == token_of(scope, name):
                    names.add(name)
    return names


def recovered_spec(
    name: str, token: str, table: ProcessTable, work: Path
) -> tuple[InstanceSpec, str, str] | None:
    """Return what a running instance's marks tell: specification, run and order; None: it does not run.

    The specification lacks the variables that it was given, and its options. ``work`` is its own directory.
    """
    members = {process.pid: process for process in table.by_marker.get(token, ())}
    for process in members.values():
        with suppress(psutil.Error, KeyError, ValueError):
            if process.ppid() in members:
                continue
            environ, cwd = process.environ(), process.cwd()
            spec = InstanceSpec(
                name=name,
                memory_mib=int(environ["ISOTHERM_MEMORY_MIB"]),
                vcpus=int(environ["ISOTHERM_VCPUS"]),
                command=tuple(process.cmdline()),
                cwd="" if Path(cwd) == work else cwd,
                user=_user(process),
                disks=tuple(_disks(environ)),
            )
            return spec, environ[RUN_MARKER], environ[ORDER_MARK]
    return None


def _disks(environ: Mapping[str, str]) -> list[Disk]:
    found: list[Disk] = []
    while (path := environ.get(f"ISOTHERM_DISK_{len(found)}")) is not None:
        found.append(Disk(path=path, format=environ[f"ISOTHERM_DISK_{len(found)}_FORMAT"]))
    return found


def _user(process: psutil.Process) -> str:
    return "" if process.uids().real == os.geteuid() else process.username()
