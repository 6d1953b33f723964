"""Contract of resource types that are nested stacks: templates used as types, groups, stacks in stacks.

Such a type defines its stack (:meth:`StackResource.child`); the engine creates, updates and deletes it. The resource
waits without a worker until the child's operation ends. A child's definition may be replaced while an operation is in
progress, so operations for an old definition are not waited for.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Final, Protocol

import msgpack

from hooks.values.dataclass import dataclass
from orchestrator.definition import AttributePath, follow
from orchestrator.model.actions import CHECK, RESUME, SUSPEND
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure, Wait

#: The key in a resource's data of the adopt entries for its stack, until it is adopted.
ENTRIES: Final = "adopted"
#: The key in a snapshot's entry of the snapshot of the nested stack.
INSIDE: Final = "snapshot_of_its_stack"
#: The longest time between two looks at the nested stack; the end of its operation wakes the resource earlier.
LOOK_AGAIN_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """The desired definition of a nested stack."""

    #: The template: its text, or its parts as plain values without calls.
    template: str | Mapping[str, Any]
    #: The name of the template in problems.
    file: str
    #: The values of its parameters.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: The path in the properties of the map that the parameters come from: it determines which of them are secrets.
    parameters_from: tuple[str | int, ...] = ()
    #: The time limit of an operation on it, in minutes, never more than the parent stack has left; None: that.
    timeout_minutes: float | None = None
    #: Attributes of its resources that are read from outside: each a resource's name, and the path.
    asks: tuple[AttributePath, ...] = ()

    @property
    def source(self) -> str:
        """The template's text."""
        if isinstance(self.template, str):
            return self.template
        return json.dumps(self.template, indent=1, sort_keys=False, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """A child as far as it is known before it exists: enough to validate it, and to count its resources."""

    #: Values that are not known yet may be ``UNKNOWN``, anywhere in parameters and in a template of plain values.
    child: Child
    #: How many copies of each of its resources there will be (a group has one of its members here).
    times: int = 1
    #: The path in the properties that the template's resources come from, for problems: ``("resource_def",)``.
    place: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildState:
    """The state of a child."""

    name: str
    action: str
    status: str
    reason: str
    #: The operation in force.
    traversal_id: str
    is_deleted: bool = False
    #: Everything in its definition exists, but some resource that is no longer in it could not be deleted.
    is_unclean: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A resource of a child: the current one, where a name has several rows."""

    name: str
    type: str
    uuid: str
    action: str
    status: str
    physical_id: str | None
    #: What ``get_resource`` resolves to; None until the resource exists.
    reference_id: str | None
    #: The values of the attributes that :attr:`Child.asks` names, by path.
    attributes: Mapping[AttributePath, Any]
    #: Seconds since the epoch.
    created_at: float
    #: Of these attributes, those that could not be read, with the reason.
    unread: Mapping[AttributePath, str] = field(default_factory=dict)

    def at(self, path: AttributePath) -> object:
        """Return the value at ``path``: the reference id if it is empty; None if the attribute was not requested.

        Raises:
            ResourceFailure: the attribute could not be read.
        """
        if not path:
            return self.reference_id
        for length in range(len(path), 0, -1):
            if path[:length] in self.attributes:
                return follow(self.attributes[path[:length]], path[length:])
            if path[:length] in self.unread:
                raise ResourceFailure(f"of resource {self.name!r} inside: {self.unread[path[:length]]}")
        return None


class ChildStack(Protocol):
    """The nested stack of a resource, as its type can operate it. Every call may be repeated without harm."""

    @property
    def id(self) -> str:
        """The child's id, which is that of the resource's row, even before the child exists."""

    @property
    def seconds_left(self) -> float:
        """The time that is left for the operation that creates or changes the resource."""

    def state(self) -> ChildState | None:
        """Return the child's state; None if it was never created."""

    def become(self, child: Child) -> str:
        """Begin to create or update the child, even while an operation is in progress; return the operation's id.

        Raises:
            ResourceFailure: the definition is invalid, or a limit of nested stacks is exceeded; nothing was changed.
        """

    def adopt(self, child: Child, entries: Mapping[str, Any]) -> str:
        """Begin to create the child from existing objects; return the operation's id.

        ``entries`` are those of an adopt file, by resource name.

        Raises:
            ResourceFailure: the definition or an entry is invalid; nothing was changed.
        """

    def operate(self, action: str) -> str:
        """Begin an action on the child that keeps its definition, such as ``CHECK``; return the operation's id.

        Raises:
            ResourceFailure: the child's state does not allow the action.
        """

    def take_snapshot(self) -> tuple[str, str]:
        """Begin to take a snapshot of the child; return the operation's id, and the snapshot's.

        Raises:
            ResourceFailure: the child's state does not allow it.
        """

    def has_snapshot(self, snapshot_id: str) -> bool:
        """Return whether a snapshot of the child is complete."""

    def restore(self, child: Child, snapshot_id: str) -> str:
        """Begin to restore the child, whose definition is ``child``, from a snapshot; return the operation's id.

        Raises:
            ResourceFailure: the snapshot no longer exists, or the child's state does not allow it.
        """

    def delete(self) -> str | None:
        """Begin to delete the child; return the operation's id, None if there is nothing to delete.

        If its parent is abandoned, the objects of its resources are kept.
        """

    def release(self) -> None:
        """Detach the child: it becomes a stack without a parent."""

    def members(self) -> Sequence[Member]:
        """Return the child's resources, oldest first."""

    def outputs(self) -> Mapping[str, Any]:
        """Return the child's outputs; one that cannot be resolved is None."""

    def is_secret(self, path: AttributePath) -> bool:
        """Return whether the attribute at ``path``, which was read before, is a secret, or may hold one."""

    def output(self, name: str) -> Any:
        """Return one output of the child; None if it has none of that name.

        Raises:
            ResourceFailure: it cannot be resolved.
        """


def member_path(path: AttributePath) -> AttributePath | None:
    """Return the resource and its attribute that ``resource.NAME.REST`` refers to; None for any other path.

    The steps may be written in one text, or separately.
    """
    first = str(path[0])
    if not first.startswith("resource."):
        return None
    steps = (*first.split(".")[1:], *path[1:])
    if len(steps) > 2 and steps[1] == "resource":
        # A resource of a nested stack of this resource.
        return (steps[0], f"resource.{steps[2]}", *steps[3:])
    return steps


def member_attributes(wanted: Sequence[AttributePath]) -> tuple[AttributePath, ...]:
    """Return the attributes of resources in a stack that the ``wanted`` attributes of the stack refer to."""
    paths = (member_path(tuple(path)) for path in wanted)
    return tuple(sorted({path for path in paths if path is not None and len(path) > 1}, key=repr))


class StackResource(Resource):
    """Base of resource types that are nested stacks.

    A subclass implements :meth:`child`, :meth:`blueprint`, and :meth:`attribute` or :meth:`attribute_at`.
    """

    #: The resource can be given another definition while an action is in progress.
    supersedes: ClassVar[bool] = True
    #: Updates are always carried out: the child determines its own changes.
    always_updates: ClassVar[bool] = True
    #: Whether :meth:`child` is computed from the properties, the files and ``wanted`` alone: then plans can show what
    #: an update does to the resources in the child.
    is_known_before: ClassVar[bool] = False

    #: Set by the engine.
    stacks: ChildStack
    #: The attributes of this resource that others read: each an attribute's name, and a path into it.
    wanted: Sequence[AttributePath] = ()

    def child(self) -> Child:
        """Return the child's definition, computed from ``self.properties``, ``self.state`` and ``self.wanted``.

        Must be deterministic: updating a child that has this definition already changes nothing.
        """
        raise NotImplementedError

    @classmethod
    def blueprint(cls, name: str, properties: Mapping[str, Any]) -> Blueprint | None:
        """Return the child of a resource called ``name``, as far as it is known; None if nothing is known.

        ``properties`` are converted; values that are not known yet are ``UNKNOWN``, as a whole or in part.
        """
        raise NotImplementedError

    def attribute_at(self, path: AttributePath) -> Any:
        """Return the value at ``path``: an attribute of a resource in the stack, or of this resource.

        Raises:
            ResourceFailure: the resource's attribute could not be read.
        """
        inner = member_path(path)
        if inner is None:
            return follow(self.attribute(str(path[0])), path[1:])
        member = next((each for each in self.stacks.members() if each.name == inner[0]), None)
        return None if member is None else member.at(inner[1:])

    def is_secret(self, path: AttributePath) -> bool:
        """Return whether the value at ``path`` is a secret of the child, or may hold one."""
        return self.stacks.is_secret(path)

    @classmethod
    def names_wanted(cls, properties: Mapping[str, Any], data: Mapping[str, Any]) -> Collection[str] | None:  # noqa: ARG003 (for subclasses)
        """Return the names that its type gives to the resources in its stack; None if its template does.

        Resources can be moved to these names, and are not removed there.
        ``properties`` are converted, and may be missing or ``UNKNOWN``; ``data`` are the private facts of a resource
        that exists.
        """
        return None

    # -- called by the engine ----------------------------------------------------------------------------------

    def begin(self, child: Child, **more: Any) -> dict[str, Any]:
        """Begin to give the child this definition; return the token to wait with, including ``more``.

        Raises:
            ResourceFailure: the definition is invalid, or a limit of nested stacks is exceeded.
        """
        operation = self.stacks.become(child)
        self.state.physical_id = self.stacks.id
        return {**more, "operation": operation, "definition": self.fingerprint(child)}

    @staticmethod
    def fingerprint(child: Child) -> str:
        """Return a digest of a child's definition."""
        parts = [child.source, child.file, child.parameters, sorted(child.asks, key=repr)]
        return hashlib.sha256(msgpack.packb(parts)).hexdigest()

    def is_outdated(self, token: Any) -> bool:
        """Return whether the token's operation was begun for another definition than the present one."""
        return bool(token["definition"] != self.fingerprint(self.child()))

    def find(self) -> str | None:
        """Return the child's id if the child exists."""
        state = self.stacks.state()
        return None if state is None or state.is_deleted else self.stacks.id

    def handle_create(self) -> Any:
        """Begin to create the child."""
        return self.begin(self.child())

    #: An interrupted create continues with the child's present definition.
    resume_create = handle_create

    def handle_update(self, changes: PropertyChanges) -> Any:
        """Begin to update the child."""
        return self.begin(self.child())

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Return whether the child is complete.

        Raises:
            ResourceFailure: its operation failed, or the child no longer exists.
        """
        return self.is_complete(token)

    check_update_complete = check_create_complete

    def is_complete(self, token: Mapping[str, Any]) -> bool | Wait:
        """Return whether the child has reached its definition.

        Raises:
            ResourceFailure: its operation failed, or the child no longer exists.
        """
        return self.has_ended(token)

    def has_ended(self, token: Mapping[str, Any]) -> bool | Wait:
        """Return whether the token's operation has ended.

        Raises:
            ResourceFailure: it failed, or the child no longer exists.
        """
        state = self.stacks.state()
        if state is None or state.is_deleted:
            raise ResourceFailure("its stack was deleted by others")
        if state.status == "IN_PROGRESS":
            return Wait(LOOK_AGAIN_SECONDS)
        if state.status == "FAILED" and not state.is_unclean:
            raise ResourceFailure(state.reason)
        if state.traversal_id != token["operation"] and state.action == "DELETE":
            raise ResourceFailure("its stack is being deleted by others")
        return True

    check_adopt_complete = check_check_complete = check_suspend_complete = has_ended
    check_resume_complete = check_restore_complete = has_ended

    def needs_replace_failed(self) -> bool:
        """Return whether a failed resource must be replaced: not while its stack exists, which can be updated."""
        return self.find() is None

    def handle_adopt(self) -> Any:
        """Begin to create the child from existing objects.

        Raises:
            ResourceFailure: the definition or an adopt entry is invalid.
        """
        child = self.child()
        operation = self.stacks.adopt(child, self.state.data.get(ENTRIES) or {})
        self.state.data.pop(ENTRIES, None)
        return {"operation": operation, "definition": self.fingerprint(child)}

    # -- actions without a new definition ----------------------------------------------------------------------

    def handle_check(self) -> Any:
        """Begin to check the child."""
        return {"operation": self.stacks.operate(CHECK)}

    def handle_suspend(self) -> Any:
        """Begin to suspend the child."""
        return {"operation": self.stacks.operate(SUSPEND)}

    def handle_resume(self) -> Any:
        """Begin to resume the child."""
        return {"operation": self.stacks.operate(RESUME)}

    def handle_snapshot(self) -> Any:
        """Begin to take a snapshot of the child."""
        operation, snapshot = self.stacks.take_snapshot()
        return {"operation": operation, INSIDE: snapshot}

    def check_snapshot_complete(self, token: Any) -> bool | Wait:
        """Return whether the snapshot of the child is complete.

        Raises:
            ResourceFailure: it failed, or another operation superseded it.
        """
        ended = self.has_ended(token)
        if ended is True and not self.stacks.has_snapshot(token[INSIDE]):
            raise ResourceFailure("another operation came before the snapshot of its stack was complete")
        return ended

    def handle_restore(self, entry: Any) -> Any:
        """Begin to restore the child from a snapshot."""
        return {"operation": self.stacks.restore(self.child(), entry[INSIDE])}

    # -- deleting ----------------------------------------------------------------------------------------------

    def handle_delete(self) -> Any:
        """Begin to delete the child."""
        return {"operation": self.stacks.delete()}

    def check_delete_complete(self, token: Any) -> bool | Wait:
        """Return whether the child is deleted.

        Raises:
            ResourceFailure: its deletion failed.
        """
        state = self.stacks.state()
        if state is None or state.is_deleted:
            return True
        if state.status == "FAILED" and state.action == "DELETE":
            raise ResourceFailure(state.reason)
        return Wait(LOOK_AGAIN_SECONDS)

    def handle_retain(self) -> None:
        """Keep the child as a stack without a parent."""
        self.stacks.release()

    def reference_id(self) -> str | None:
        """Return the child's id."""
        return self.stacks.id
