"""RPCs of migration: an instance moves from one machine to another, through a directory that both can reach.

A migration is two calls: ``instance_migrate`` on the source, then ``instance_failover`` on the target, which is used
alone if the source is gone for good. Each invalidates the machine-state cache of all machines.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from orchestrator.nodes.rpc.errors import NotThere, RpcFailed, RpcRefused
from orchestrator.nodes.rpc.registry import SLOW, Effect, node_rpc
from workers.agent.agent import Agent
from workers.agent.hypervisors.hypervisor import Hypervisor, InstanceData, InstanceSpec
from workers.agent.names import fault_of_name
from workers.agent.owners import INSTANCE
from workers.agent.records import read_record, write_record
from workers.agent.rpcs.instances import allowed_instance, alone_with_own, room_for

#: The fate of an instance that went to another machine: it may come back, on purpose.
MOVED: Final = "has gone to another node"
#: Marks a complete export, and describes it.
_WHOLE: Final = "handed-over.json"


@node_rpc("instance_export", effect=Effect.FLUSH_ALL, timeout_seconds=SLOW)
def instance_export(agent: Agent, *, hypervisor: str, name: str, directory: str) -> dict[str, Any]:
    """Write an instance, which is at rest, into a directory of its own in ``directory``; return its description.

    It stays where it is. The caller removes what is written.
    """
    backend, target = agent.hypervisor(hypervisor), _place_of(agent, directory, name)
    with alone_with_own(agent, name):
        return _handed_over(backend, name, target)


@node_rpc("instance_import", effect=Effect.FLUSH_ALL, timeout_seconds=SLOW)
def instance_import(
    agent: Agent, *, hypervisor: str, spec: Mapping[str, Any], directory: str
) -> dict[str, Any]:
    """Make an instance, at rest, from another machine's export in ``directory``; return it.

    Raises:
        Gone: it was removed from this machine, not moved away.
        NoCapacity: the machine is full.
        NotThere: there is no complete export.
    """
    backend, wanted = allowed_instance(agent, hypervisor, spec)
    with agent.alone_with(INSTANCE, wanted.name), _coming_back(agent, wanted.name):
        agent.owners.claim(INSTANCE, wanted.name)
        return _taken_in(agent, hypervisor, backend, wanted, directory).to_wire()


@node_rpc("instance_failover", effect=Effect.FLUSH_ALL, timeout_seconds=SLOW)
def instance_failover(
    agent: Agent, *, hypervisor: str, spec: Mapping[str, Any], directory: str
) -> dict[str, Any]:
    """Take in an instance of a machine that is gone, or has released it, and start it here; return it.

    The caller must ensure that the other machine does not run it any more.

    Raises:
        Gone, NoCapacity, NotThere: as with ``instance_import``.
    """
    backend, wanted = allowed_instance(agent, hypervisor, spec)
    with agent.alone_with(INSTANCE, wanted.name), _coming_back(agent, wanted.name):
        agent.owners.claim(INSTANCE, wanted.name)
        _taken_in(agent, hypervisor, backend, wanted, directory)
        return backend.start(wanted).to_wire()


@node_rpc("instance_migrate", effect=Effect.FLUSH_ALL, timeout_seconds=SLOW)
def instance_migrate(
    agent: Agent, *, hypervisor: str, name: str, directory: str, grace_seconds: float
) -> dict[str, Any]:
    """End an instance, export it to ``directory``, and delete it here; return its description.

    The export is complete before the deletion, and no late message starts it here again.
    """
    backend, target = agent.hypervisor(hypervisor), _place_of(agent, directory, name)
    with alone_with_own(agent, name):
        if backend.instance(name) is None:
            # An earlier delivery may have finished without recording its end.
            described = _whole(agent, target, name)
        else:
            backend.stop(name, grace_seconds=grace_seconds)
            described = _handed_over(backend, name, target)
        agent.journal.bury(INSTANCE, name, MOVED)
        backend.remove(name)
        agent.reservations.release(hypervisor, name)
        agent.owners.release(INSTANCE, name)
        return described


def _place_of(agent: Agent, directory: str, name: str) -> Path:
    if fault := fault_of_name(name):
        raise RpcRefused(agent.name, fault)
    return agent.limits.directory(directory) / name


def _handed_over(backend: Hypervisor, name: str, target: Path) -> dict[str, Any]:
    target.mkdir(mode=0o700, exist_ok=True)
    # An earlier attempt's export is not complete while it is rewritten.
    (target / _WHOLE).unlink(missing_ok=True)
    described = dict(backend.export(name, target))
    write_record(target / _WHOLE, {"name": name, "described": described})
    return described


def _whole(agent: Agent, place: Path, name: str) -> dict[str, Any]:
    record = read_record(place / _WHOLE)
    if record is None or record["name"] != name:
        raise NotThere(agent.name, f"instance {name!r} was not handed over to node {agent.name!r} as a whole")
    described: dict[str, Any] = record["described"]
    return described


def _taken_in(
    agent: Agent, hypervisor: str, backend: Hypervisor, wanted: InstanceSpec, directory: str
) -> InstanceData:
    if (existing := backend.instance(wanted.name)) is not None:
        return existing
    place = _place_of(agent, directory, wanted.name)
    _whole(agent, place, wanted.name)
    with room_for(agent, hypervisor, backend, wanted):
        backend.take_in(wanted, place)
        made = backend.instance(wanted.name)
    if made is None:
        raise RpcFailed(agent.name, f"instance {wanted.name!r} was taken in and is not there")
    return made


@contextmanager
def _coming_back(agent: Agent, name: str) -> Iterator[None]:
    """Allow an instance that has moved to another machine to come back, unless it was removed since."""
    if agent.journal.burial(INSTANCE, name) != MOVED:
        agent.refuse_gone(INSTANCE, name)
    yield
    agent.journal.dig_up(INSTANCE, name)
