"""``Isotherm::Node::Instance``: a virtual machine, a container or a process with a size, on a machine's hypervisor."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from orchestrator.definition import UNKNOWN, is_unknown
from orchestrator.nodes.rpc.errors import NotSupported, NotThere
from orchestrator.plugins.machine_requirements import MachineRequirements
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure, Wait
from workers.agent.commands.readiness import ReadyWhen
from workers.agent.files.allowed import fault_of_path
from workers.agent.hypervisors.hypervisor import Disk, InstanceSpec, InstanceState
from workers.agent.owners import INSTANCE, VOLUME, volume_key
from workers.resources.nodes.command import parse_command, parse_env
from workers.resources.nodes.disks import RequestedDisk, node_of_volumes, refuse_vague_disks, room_asked
from workers.resources.nodes.instance_schema import (
    DEFAULT_HYPERVISOR,
    GRACE_SECONDS,
    INSTANCE_ATTRIBUTES,
    INSTANCE_PROPERTIES,
)
from workers.resources.nodes.node_object import NodeObject, split_id
from workers.resources.nodes.node_resource import SETTLED, SETTLING, Unfinished, caused_by
from workers.resources.nodes.placing import node_requirements, number_or_zero
from workers.resources.nodes.readiness import READY_GROUP, Readiness

#: The properties whose change restarts an instance.
_GIVEN: Final = frozenset({"command", "env", "cwd", "user", "networks", "options"})
_SIZE: Final = frozenset({"memory", "vcpus"})
_AT_REST: Final = frozenset({InstanceState.SHUTDOWN, InstanceState.CRASHED})


class NodeInstance(NodeObject):
    """An instance, which outlives its machine's agent.

    Its size changes in place where the hypervisor supports it; any other change stops it and starts it again, with its
    disks and its name. One that has ended is started again by the update that follows a check.
    """

    description = "An instance on a node's hypervisor: a process with a size, a container, a virtual machine."
    example = """\
heat_template_version: 2021-04-16
resources:
  server:
    type: Isotherm::Node::Instance
    properties:
      hypervisor: process
      command: [python3, -m, http.server, "8081", --bind, 127.0.0.1]
      memory: 128
      vcpus: 1
      disks:
        - size: 16
      ready:
        http: http://127.0.0.1:8081/
        timeout: 20
outputs:
  node:
    value: {get_attr: [server, node]}
"""
    properties_schema = INSTANCE_PROPERTIES
    properties_groups_schema = (READY_GROUP,)
    attributes_schema = INSTANCE_ATTRIBUTES

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse invalid commands, variables, directories, disks and addresses.

        Raises:
            PropertyError: with the path of the property at fault.
        """
        super().validate(properties)
        command, cwd, disks = properties.get("command"), properties.get("cwd"), properties.get("disks")
        if command is not None and not is_unknown(command):
            parse_command(command)
        if isinstance(cwd, str) and cwd and (fault := fault_of_path(cwd)):
            raise PropertyError(("cwd",), fault)
        if isinstance(disks, (list, tuple)):
            refuse_vague_disks(disks)
        for name, parse in (("env", parse_env), ("ready", Readiness.parse)):
            if (value := properties.get(name)) is not UNKNOWN and value is not None:
                parse(value)

    @classmethod
    def machine_requirements(cls, properties: Mapping[str, Any]) -> MachineRequirements | None:
        """Return its hypervisor, its size, the size of its own disks, and the node of its volumes."""
        hypervisor = properties.get("hypervisor") or DEFAULT_HYPERVISOR
        asked = node_requirements(properties)
        # A reference to a volume of the stack is not known yet: the instance is placed together with it.
        asked["node"] = asked["node"] or node_of_volumes(properties.get("disks"))
        return MachineRequirements(
            **asked,
            hypervisor=hypervisor if isinstance(hypervisor, str) else "",
            memory_mib=number_or_zero(properties.get("memory")),
            vcpus=number_or_zero(properties.get("vcpus") or 1),
            disks_mib=room_asked(properties.get("disks")),
        )

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Make its disks, start it, and return whether it is ready."""
        if token == SETTLING:
            return Wait(0, token=SETTLED)
        return self._ready(token) if token["stage"] == "ready" else self._start(token)

    def handle_update(self, changes: PropertyChanges) -> dict[str, Any]:
        """Determine what the change needs: a resize, a restart, or only readiness."""
        found = self.look()
        if found is None or (found["state"] in _AT_REST and not self._has_ended_well(found)):
            return {"stage": "start"}
        if changes.names & _GIVEN:
            return {"stage": "stop"}
        return {"stage": "resize"} if changes.names & _SIZE else self._waits()

    def check_update_complete(self, token: Any) -> bool | Wait:
        """Continue the change, and return whether the instance is ready again."""
        match token["stage"]:
            case "resize":
                return self._resize(token)
            case "stop":
                return self._stop(token) or self._start({"stage": "start"})
            case "start" | "settled":
                return self._start(token)
        return self._ready(token)

    def _resize(self, token: Mapping[str, Any]) -> bool | Wait:
        size = {"memory_mib": self.properties["memory"], "vcpus": self.properties["vcpus"]}
        try:
            pending = self.pending(token, "instance_resize", **self._named, **size)
        except ResourceFailure as error:
            if not caused_by(error, NotSupported):
                raise
            return self._stop({"stage": "stop"}) or self._start({"stage": "start"})
        return pending or self._later(self._waits())

    def handle_check(self) -> None:
        """Check that it runs; a missing one is found by the observation.

        Raises:
            ResourceFailure: it does not run.
        """
        found = self.look()
        if found is not None and found["state"] in _AT_REST and not self._has_ended_well(found):
            raise ResourceFailure(f"the instance is {_described(found)}")

    def handle_suspend(self) -> dict[str, Any]:
        """Do nothing; the check does the work."""
        return {}

    def check_suspend_complete(self, token: Any) -> bool | Wait:
        """Pause it; one that has ended is at rest."""
        return self._while_in("instance_pause", InstanceState.RUNNING, token) or True

    def handle_resume(self) -> dict[str, Any]:
        """Do nothing; the check does the work."""
        return {"stage": "unpause"}

    def check_resume_complete(self, token: Any) -> bool | Wait:
        """Resume it, and return whether it is ready as after a start."""
        if token["stage"] == "ready":
            return self._ready(token)
        return self._while_in("instance_unpause", InstanceState.PAUSED, token) or self._later(self._waits())

    def _while_in(self, rpc: str, state: InstanceState, token: Mapping[str, Any]) -> Wait | None:
        found = self.look()
        if found is None:
            raise ResourceFailure("the instance is gone")
        return self.pending(token, rpc, **self._named) if found["state"] == state else None

    def handle_snapshot(self) -> object:
        """Begin a snapshot, where its hypervisor supports it; elsewhere nothing is saved.

        Raises:
            ResourceFailure: the snapshot failed.
        """
        tag = f"{int(self.state.started_at * 1_000_000):x}"
        entry = {"node": self.node, **self._named, "tag": tag}
        try:
            self.pending(entry, "instance_snapshot", **self._named, tag=tag)
        except ResourceFailure as error:
            if caused_by(error, NotSupported):
                return None
            raise
        return entry

    def check_snapshot_complete(self, token: Any) -> bool | Wait:
        """Return whether the snapshot is saved."""
        if token is None:
            return True
        return self.pending(token, "instance_snapshot", **self._named, tag=token["tag"]) or True

    def handle_restore(self, entry: Any) -> Any:
        """Do nothing; the check does the work.

        Raises:
            ResourceFailure: the snapshot is of another instance, which its machine cannot exchange.
        """
        of = (entry["node"], entry["hypervisor"], entry["name"])
        if of != (self.node, self._hypervisor, self.object_name):
            raise ResourceFailure(
                f"the snapshot is of instance {entry['node']}/{entry['name']}, which is another one"
            )
        return dict(entry)

    def check_restore_complete(self, token: Any) -> bool | Wait:
        """Restore the snapshot."""
        return self.pending(token, "instance_restore", **self._named, tag=token["tag"]) or True

    def handle_delete_snapshot(self, entry: Any) -> None:
        """Delete the snapshot; a missing one is no error."""
        self.state.on_node = entry["node"]
        self.change(
            "instance_forget_snapshot", hypervisor=entry["hypervisor"], name=entry["name"], tag=entry["tag"]
        )

    def handle_delete(self) -> dict[str, Any]:
        """Do nothing; the check does the work."""
        return {"stage": "stop"}

    def check_delete_complete(self, token: Any) -> bool | Wait:
        """Request it to end, remove it, and the disks that were made for it."""
        if not self.may_be_somewhere:
            return True
        if token["stage"] == "stop" and (later := self._stop(token)):
            return later
        removing = {"stage": "remove"}
        pending = self.pending(removing, "instance_remove", **self._named)
        for name, disk in self._own_disks():
            pending = pending or self.pending(removing, "storage_remove", storage=disk.storage, name=name)
        return pending or True

    def objects(self) -> Iterator[tuple[str, str]]:
        """Yield the instance, and the disks that were made for it."""
        yield INSTANCE, self.object_name
        for name, disk in self._own_disks():
            yield VOLUME, volume_key(disk.storage, name)

    def look(self) -> Mapping[str, Any] | None:
        """Return the hypervisor's state of the instance; None: it certainly does not exist."""
        found: Mapping[str, Any] | None = self.ask("instance_look", **self._named)
        return found

    def attribute(self, name: str) -> Any:
        """Return the attribute as it is now; of an instance that is gone, only its former place."""
        match name:
            case "node":
                return self.state.on_node
            case "hypervisor":
                return self._hypervisor
            case "name":
                return self.object_name
        found = self.look()
        if found is None:
            return None
        return found[{"instance_id": "id", "memory_used": "memory_used_mib"}.get(name, name)]

    def observe(self) -> Mapping[str, Any] | None:
        """Return its present size, which is nothing while it is at rest; None: there is no such instance."""
        found = self.look() if self.may_be_somewhere else None
        if found is None:
            return None
        seen: dict[str, Any] = {"node": self.node_seen}
        if found["state"] in _AT_REST and not self._has_ended_well(found):
            return {**seen, "memory": 0, "vcpus": 0}
        # A hypervisor that does not know it reports 0.
        sizes = {"memory": found["memory_mib"], "vcpus": found["vcpus"]}
        return {**seen, **{name: size for name, size in sizes.items() if size}}

    def _start(self, token: Mapping[str, Any]) -> bool | Wait:
        try:
            disks = self._disks()
            self.change("instance_start", hypervisor=self._hypervisor, spec=self._spec(disks).to_wire())
        except Unfinished as error:
            return error.wait(token)
        self.note_made()
        return self._later(self._waits())

    def _stop(self, token: Mapping[str, Any]) -> Wait | None:
        grace = self.properties.get("grace")
        seconds = float(GRACE_SECONDS if grace is None else grace)
        try:
            return self.pending(token, "instance_stop", **self._named, grace_seconds=seconds)
        except ResourceFailure as error:
            if not caused_by(error, NotThere):
                raise
            return None

    def _later(self, token: dict[str, Any]) -> bool | Wait:
        ready = self._ready(token)
        return Wait(ready.seconds, token=token) if isinstance(ready, Wait) else ready

    def _ready(self, token: Mapping[str, Any]) -> bool | Wait:
        readiness, found = self._readiness, self.look()
        fault = ""
        if found is not None and found["state"] == InstanceState.RUNNING and readiness.probes:
            fault = self.ask("ready_look", probe=readiness.to_wire(), **self._named)
            # Another server may have answered while this one ended.
            found = self.look()
        if found is None:
            raise ResourceFailure("the instance is gone")
        if self._has_ended_well(found):
            return True
        if found["state"] in _AT_REST:
            raise ResourceFailure(f"the instance is {_described(found)}, and was to {self._aim}")
        if readiness.when is ReadyWhen.EXIT:
            fault = "it is still running"
        elif found["state"] != InstanceState.RUNNING:
            fault = f"it is {_described(found)}"
        if fault and self.now - token["since"] >= readiness.timeout:
            raise ResourceFailure(f"the instance was not ready after {readiness.timeout:g} s: {fault}")
        return Wait(readiness.interval) if fault else True

    def _has_ended_well(self, found: Mapping[str, Any]) -> bool:
        if self._readiness.when is not ReadyWhen.EXIT or found["state"] != InstanceState.SHUTDOWN:
            return False
        return bool(found["details"].get("exit_code", 0) == 0)

    @property
    def _aim(self) -> str:
        return "end with exit code 0" if self._readiness.when is ReadyWhen.EXIT else "run"

    def _waits(self) -> dict[str, Any]:
        return {"stage": "ready", "since": self.now}

    def _disks(self) -> list[Disk]:
        made = {
            name: self.change(
                "storage_create", storage=disk.storage, name=name, size_mib=disk.size_mib, options={}
            )
            for name, disk in self._own_disks()
        }
        disks = []
        for index, disk in enumerate(RequestedDisk.parse(self.properties["disks"])):
            volume = self._volume(disk.volume) if disk.volume else made[self._own_name(index)]
            disks.append(Disk(path=volume["path"], format=volume["format"], readonly=disk.readonly))
        return disks

    def _own_disks(self) -> list[tuple[str, RequestedDisk]]:
        disks = RequestedDisk.parse(self.properties.get("disks"))
        return [(self._own_name(index), disk) for index, disk in enumerate(disks) if not disk.volume]

    def _own_name(self, index: int) -> str:
        return f"{self.object_name}-disk{index}"

    def _volume(self, volume: str) -> Mapping[str, Any]:
        node, name = split_id(volume)
        if node != self.node:
            raise ResourceFailure(f"volume {volume!r} is on node {node!r}, and the instance on {self.node!r}")
        # Its id does not name its storage; a machine has few.
        for storage in self.storage_units:
            found: Mapping[str, Any] | None = self.ask("volume_look", storage=storage, name=name)
            if found is not None:
                return found
        raise ResourceFailure(f"there is no volume {volume!r}")

    def _spec(self, disks: list[Disk]) -> InstanceSpec:
        given = self.properties
        return InstanceSpec(
            name=self.object_name,
            title=f"{self.stack.name}/{self.name}",
            memory_mib=given["memory"],
            vcpus=given["vcpus"],
            image=given["image"] or "",
            command=[] if given["command"] is None else parse_command(given["command"]),
            env=parse_env(given["env"]),
            cwd=given["cwd"] or "",
            user=given["user"] or "",
            disks=disks,
            networks=[dict(each) for each in given["networks"] or ()],
            options=dict(given["options"] or {}),
        )

    @property
    def _named(self) -> dict[str, str]:
        return {"hypervisor": self._hypervisor, "name": self.object_name}

    @property
    def _hypervisor(self) -> str:
        return str(self.properties.get("hypervisor") or DEFAULT_HYPERVISOR)

    @property
    def _readiness(self) -> Readiness:
        return Readiness.parse(self.properties.get("ready"))


def _described(found: Mapping[str, Any]) -> str:
    state, raw = str(found["state"]), str(found["raw_state"])
    return state if raw in ("", state) else f"{state} ({raw})"
