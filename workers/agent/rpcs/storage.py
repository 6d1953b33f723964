"""RPCs about volumes; arguments and results are those of :mod:`workers.agent.storage.storage`."""

from collections.abc import Mapping
from typing import Any

from orchestrator.nodes.rpc.registry import FAST, NORMAL, URGENT, Effect, node_rpc
from workers.agent.agent import Agent
from workers.agent.owners import VOLUME, volume_key


@node_rpc("volume_look", effect=Effect.READ, timeout_seconds=URGENT)
def volume_look(agent: Agent, *, storage: str, name: str) -> dict[str, Any] | None:
    """Return a volume; None: it certainly does not exist."""
    agent.owners.refuse_other_projects(VOLUME, volume_key(storage, name))
    found = agent.ask(agent.storage, storage, lambda unit: unit.volume(name))
    return None if found is None else found.to_wire()


@node_rpc("volume_list", effect=Effect.READ, timeout_seconds=URGENT)
def volume_list(agent: Agent, *, storage: str) -> list[dict[str, Any]]:
    """Return all volumes of a storage unit, but those of other projects."""
    return [
        each.to_wire()
        for each in agent.ask(agent.storage, storage, lambda unit: unit.volumes())
        if agent.owners.may_look(VOLUME, volume_key(storage, each.name))
    ]


@node_rpc("storage_create", timeout_seconds=NORMAL)
def storage_create(
    agent: Agent, *, storage: str, name: str, size_mib: int, options: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Make a volume, or return the existing one.

    Raises:
        Gone: it was removed.
        NotOurs: it belongs to another resource.
        NoCapacity: the unit is full.
    """
    unit, called = agent.storage_unit(storage), volume_key(storage, name)
    with agent.alone_with(VOLUME, called):
        agent.refuse_gone(VOLUME, called)
        agent.owners.claim(VOLUME, called)
        return unit.create(name, size_mib=size_mib, options=options or {}).to_wire()


@node_rpc("storage_grow", timeout_seconds=NORMAL)
def storage_grow(agent: Agent, *, storage: str, name: str, size_mib: int) -> dict[str, Any]:
    """Make a volume larger; return it. One that is that large already is no error."""
    called = volume_key(storage, name)
    with agent.alone_with(VOLUME, called):
        agent.owners.claim(VOLUME, called)
        return agent.storage_unit(storage).grow(name, size_mib=size_mib).to_wire()


@node_rpc("storage_remove", timeout_seconds=FAST)
def storage_remove(agent: Agent, *, storage: str, name: str) -> None:
    """Remove a volume for good, with its content; a missing one is no error."""
    unit, called = agent.storage_unit(storage), volume_key(storage, name)
    with agent.alone_with(VOLUME, called):
        agent.owners.refuse_others(VOLUME, called)
        agent.journal.bury(VOLUME, called)
        unit.remove(name)
        agent.owners.release(VOLUME, called)
