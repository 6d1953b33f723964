"""RPCs about instances; arguments and results are those of :mod:`workers.agent.hypervisors.hypervisor`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from orchestrator.nodes.rpc.errors import BackendAway, RpcFailed, RpcRefused
from orchestrator.nodes.rpc.registry import FAST, NORMAL, SLOW, URGENT, Effect, node_rpc
from workers.agent.agent import Agent
from workers.agent.hypervisors.hypervisor import Hypervisor, InstanceSpec
from workers.agent.owners import FILE, INSTANCE, VOLUME, volume_key
from workers.agent.reservations import Capacity

#: The formats of disks that refer to no other files.
_WHOLE_FORMATS: Final = ("raw", "dir")


@contextmanager
def alone_with_own(agent: Agent, name: str) -> Iterator[None]:
    """Exclude every other call about an instance of the requester.

    Raises:
        NotOurs: it belongs to another resource.
        RpcRetryable: another call takes long.
    """
    with agent.alone_with(INSTANCE, name):
        agent.owners.claim(INSTANCE, name)
        yield


@node_rpc("instance_look", effect=Effect.READ, timeout_seconds=URGENT)
def instance_look(agent: Agent, *, hypervisor: str, name: str) -> dict[str, Any] | None:
    """Return an instance; None: it certainly does not exist."""
    agent.owners.refuse_other_projects(INSTANCE, name)
    found = agent.ask(agent.hypervisors, hypervisor, lambda backend: backend.instance(name))
    return None if found is None else found.to_wire()


@node_rpc("instance_start", timeout_seconds=NORMAL)
def instance_start(agent: Agent, *, hypervisor: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Make an instance if it does not exist, start it if it does not run, and return it.

    Raises:
        Gone: it was removed.
        RpcRefused: the machine's limits forbid it.
        NotOurs: it, or one of its disks, belongs to others.
        NoCapacity: the machine is full.
    """
    backend, wanted = allowed_instance(agent, hypervisor, spec)
    with agent.alone_with(INSTANCE, wanted.name):
        agent.refuse_gone(INSTANCE, wanted.name)
        agent.owners.claim(INSTANCE, wanted.name)
        with room_for(agent, hypervisor, backend, wanted):
            return backend.start(wanted).to_wire()


@node_rpc("instance_stop", timeout_seconds=NORMAL)
def instance_stop(agent: Agent, *, hypervisor: str, name: str, grace_seconds: float) -> None:
    """Request an instance to end, and kill it after the grace. Its reservation stays, and it can be started again."""
    with alone_with_own(agent, name):
        agent.hypervisor(hypervisor).stop(name, grace_seconds=grace_seconds)


@node_rpc("instance_reboot", timeout_seconds=NORMAL)
def instance_reboot(agent: Agent, *, hypervisor: str, name: str) -> dict[str, Any]:
    """Restart an instance as it was last started; return it."""
    with alone_with_own(agent, name):
        agent.refuse_gone(INSTANCE, name)
        return agent.hypervisor(hypervisor).reboot(name).to_wire()


@node_rpc("instance_resize", timeout_seconds=FAST)
def instance_resize(
    agent: Agent, *, hypervisor: str, name: str, memory_mib: int, vcpus: int
) -> dict[str, Any]:
    """Resize a running instance in place; return it.

    Raises:
        NoCapacity: the machine is full.
    """
    backend, wanted = agent.hypervisor(hypervisor), Capacity(memory_mib=memory_mib, vcpus=vcpus)
    with alone_with_own(agent, name):
        before = agent.reservations.reservation(hypervisor, name)
        if before is None or wanted.exceeds(before):
            # Capacity that it returns is free only once it is returned.
            largest = wanted if before is None else wanted.union(before)
            agent.reservations.reserve(hypervisor, name, largest, agent.totals)
        try:
            resized = backend.resize(name, memory_mib=memory_mib, vcpus=vcpus).to_wire()
        except Exception:
            agent.reservations.set(hypervisor, name, before)
            raise
        agent.reservations.set(hypervisor, name, wanted)
        return resized


@node_rpc("instance_pause", timeout_seconds=FAST)
def instance_pause(agent: Agent, *, hypervisor: str, name: str) -> None:
    """Pause an instance."""
    with alone_with_own(agent, name):
        agent.hypervisor(hypervisor).pause(name)


@node_rpc("instance_unpause", timeout_seconds=FAST)
def instance_unpause(agent: Agent, *, hypervisor: str, name: str) -> None:
    """Resume an instance."""
    with alone_with_own(agent, name):
        agent.hypervisor(hypervisor).unpause(name)


@node_rpc("instance_remove", timeout_seconds=NORMAL)
def instance_remove(agent: Agent, *, hypervisor: str, name: str) -> None:
    """Kill an instance and delete it for good: no late message starts it again.

    A missing one is no error.
    """
    backend = agent.hypervisor(hypervisor)
    with agent.alone_with(INSTANCE, name):
        agent.owners.refuse_others(INSTANCE, name)
        agent.journal.bury(INSTANCE, name)
        backend.remove(name)
        agent.reservations.release(hypervisor, name)
        agent.owners.release(INSTANCE, name)


@node_rpc("instance_snapshot", timeout_seconds=SLOW)
def instance_snapshot(agent: Agent, *, hypervisor: str, name: str, tag: str) -> dict[str, Any]:
    """Save an instance's state under a tag; return a description of it."""
    with alone_with_own(agent, name):
        return dict(agent.hypervisor(hypervisor).snapshot(name, tag))


@node_rpc("instance_restore", timeout_seconds=SLOW)
def instance_restore(agent: Agent, *, hypervisor: str, name: str, tag: str) -> None:
    """Restore the state saved under a tag."""
    with alone_with_own(agent, name):
        agent.refuse_gone(INSTANCE, name)
        agent.hypervisor(hypervisor).restore(name, tag)


@node_rpc("instance_forget_snapshot", timeout_seconds=NORMAL)
def instance_forget_snapshot(agent: Agent, *, hypervisor: str, name: str, tag: str) -> None:
    """Delete the state saved under a tag; a missing one is no error."""
    with agent.alone_with(INSTANCE, name):
        agent.owners.refuse_others(INSTANCE, name)
        agent.hypervisor(hypervisor).forget_snapshot(name, tag)


def allowed_instance(
    agent: Agent, hypervisor: str, spec: Mapping[str, Any]
) -> tuple[Hypervisor, InstanceSpec]:
    """Return the hypervisor of an instance, and its specification, if the machine's limits allow it.

    Raises:
        RpcFailed: the specification is invalid.
        RpcRefused: the limits do not allow it.
        NotOurs: a disk, or a file, belongs to another project.
        BackendAway: a disk may be a volume of a storage unit that does not answer.
    """
    backend = agent.hypervisor(hypervisor)
    try:
        wanted = InstanceSpec.from_wire(spec)
    except (TypeError, AttributeError) as error:
        raise RpcFailed(agent.name, f"what the instance is to be cannot be read: {error}") from error
    if wanted.disks:
        _refuse_other_disks(agent, {(disk.path, disk.format) for disk in wanted.disks})
    for file in backend.files_of(wanted):
        agent.limits.image_file(file)
        agent.owners.refuse_other_projects(FILE, str(Path(file).resolve()))
    agent.limits.networks(backend.networks_of(wanted))
    if backend.writes_image(wanted):
        agent.limits.path(wanted.image)
    return backend, agent.limits.instance(wanted, walled=backend.walled)


def _refuse_other_disks(agent: Agent, disks: set[tuple[str, str]]) -> None:
    """Refuse disks that are neither volumes of the machine, wherever those are, nor in an allowed directory.

    A volume has its own format; any other file must be self-contained: other formats refer to files elsewhere.
    """
    away: BackendAway | None = None
    for unit in agent.storage:
        try:
            volumes = agent.ask(agent.storage, unit, lambda each: each.volumes())
        except BackendAway as error:
            away = error
            continue
        for volume in volumes:
            if (volume.path, volume.format) in disks:
                agent.owners.refuse_other_projects(VOLUME, volume_key(unit, volume.name))
                disks = disks - {(volume.path, volume.format)}
    for path, form in sorted(disks):
        try:
            if form not in _WHOLE_FORMATS:
                raise RpcRefused(
                    agent.name,
                    f"node {agent.name!r} does not allow it: disk {path} as {form!r}, which no volume of the node is; "
                    f"expected {' or '.join(_WHOLE_FORMATS)}",
                )
            _allow_file(agent, path)
            agent.limits.fixed(path)
        except RpcRefused:
            if away is not None:
                raise away from None
            raise


def _allow_file(agent: Agent, path: str) -> None:
    """Refuse a file that the machine's limits do not allow, or that belongs to another project."""
    agent.limits.path(path)
    agent.owners.refuse_other_projects(FILE, str(Path(path).resolve()))


@contextmanager
def room_for(agent: Agent, hypervisor: str, backend: Hypervisor, spec: InstanceSpec) -> Iterator[None]:
    """Reserve capacity for an instance that the body makes; released if it then certainly does not exist.

    Raises:
        NoCapacity: the machine is full.
    """
    wanted = Capacity(memory_mib=spec.memory_mib, vcpus=spec.vcpus)
    before = agent.reservations.reserve(hypervisor, spec.name, wanted, agent.totals)
    try:
        yield
    except Exception:
        # A hypervisor that cannot even report whether it exists may have made it.
        with suppress(Exception):
            if backend.instance(spec.name) is None:
                agent.reservations.set(hypervisor, spec.name, before)
        raise
