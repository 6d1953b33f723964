"""The RPCs by which an instance goes from one node to another, through a directory that both can reach.

Migrating is two calls: ``instance_migrate`` where it is, then ``instance_failover`` where it is to be, which alone is
what is left if its node is gone for good. What is remembered of any node is void after each of them.
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
from workers.agent.records import read_record, write_record
from workers.agent.rpcs.instances import INSTANCE, allowed_instance, room_for

#: Why an instance is gone that went to another node: it may come back, by an order that knows.
MOVED: Final = "has gone to another node"
#: Beside what was handed over: that it is whole, and what describes it.
_WHOLE: Final = "handed-over.json"


@node_rpc("instance_export", effect=Effect.FLUSH_ALL, timeout_seconds=SLOW)
def instance_export(agent: Agent, *, hypervisor: str, name: str, directory: str) -> dict[str, Any]:
    """Write an instance, which is at rest, into a directory of its own in ``directory``; return what describes it.

    It stays where it is. What is written there is the caller's to remove.
    """
    backend, target = agent.hypervisor(hypervisor), _place_of(agent, directory, name)
    with agent.alone_with(INSTANCE, name):
        return _handed_over(backend, name, target)


@node_rpc("instance_import", effect=Effect.FLUSH_ALL, timeout_seconds=SLOW)
def instance_import(
    agent: Agent, *, hypervisor: str, spec: Mapping[str, Any], directory: str
) -> dict[str, Any]:
    """Make an instance, at rest, of what another node has written into ``directory``; return it.

    Raises:
        Gone: it was removed from this node, rather than moved away.
        NoCapacity: there is no room for it.
        NotThere: nothing whole was handed over.
    """
    backend, wanted = allowed_instance(agent, hypervisor, spec)
    with agent.alone_with(INSTANCE, wanted.name), _coming_back(agent, wanted.name):
        return _taken_in(agent, hypervisor, backend, wanted, directory).to_wire()


@node_rpc("instance_failover", effect=Effect.FLUSH_ALL, timeout_seconds=SLOW)
def instance_failover(
    agent: Agent, *, hypervisor: str, spec: Mapping[str, Any], directory: str
) -> dict[str, Any]:
    """Take in an instance of a node that is gone, or has let go of it, and start it here; return it.

    That the other node does not run it any more is for the caller to know.

    Raises:
        Gone, NoCapacity, NotThere: as with ``instance_import``.
    """
    backend, wanted = allowed_instance(agent, hypervisor, spec)
    with agent.alone_with(INSTANCE, wanted.name), _coming_back(agent, wanted.name):
        _taken_in(agent, hypervisor, backend, wanted, directory)
        return backend.start(wanted).to_wire()


@node_rpc("instance_migrate", effect=Effect.FLUSH_ALL, timeout_seconds=SLOW)
def instance_migrate(
    agent: Agent, *, hypervisor: str, name: str, directory: str, grace_seconds: float
) -> dict[str, Any]:
    """End an instance, hand it over in ``directory``, and let go of it here; return what describes it.

    It is written whole before it is forgotten, and no late message starts it here again.
    """
    backend, target = agent.hypervisor(hypervisor), _place_of(agent, directory, name)
    with agent.alone_with(INSTANCE, name):
        if backend.instance(name) is None:
            # An earlier delivery may have come to its end, and nobody wrote that down.
            described = _whole(agent, target, name)
        else:
            backend.stop(name, grace_seconds=grace_seconds)
            described = _handed_over(backend, name, target)
        agent.journal.bury(INSTANCE, name, MOVED)
        backend.remove(name)
        agent.claims.release(hypervisor, name)
        return described


def _place_of(agent: Agent, directory: str, name: str) -> Path:
    if fault := fault_of_name(name):
        raise RpcRefused(agent.name, fault)
    return agent.limits.directory(directory) / name


def _handed_over(backend: Hypervisor, name: str, target: Path) -> dict[str, Any]:
    target.mkdir(mode=0o700, exist_ok=True)
    # What an earlier try has left there is not whole while it is written anew.
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
    if (there := backend.instance(wanted.name)) is not None:
        return there
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
    """Let an instance come back that has gone to another node, unless it was removed since.

    Raises:
        Gone: it was.
    """
    if agent.journal.burial(INSTANCE, name) != MOVED:
        agent.refuse_gone(INSTANCE, name)
    yield
    agent.journal.dig_up(INSTANCE, name)
