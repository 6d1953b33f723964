"""The contract of resource types that are stacks themselves: templates used as types, groups, stacks in stacks.

Such a type says what its stack is to be (:meth:`StackResource.child`); the engine makes that stack, changes it and
deletes it. The resource waits without a worker: the child's end wakes it. A child under way may be given another
definition at any moment, so nothing that was begun for an old one is waited for.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Protocol

import msgpack

from orchestrator.definition import AttributePath, follow
from orchestrator.model.actions import CHECK, RESUME, SUSPEND
from orchestrator.plugins.resource import PropertyChanges, Resource, ResourceFailure, Wait

#: Where a resource's data hold, until it is adopted, the entries of what is in its stack.
ENTRIES: Final = "adopted"
#: What a snapshot's entry of such a resource calls the snapshot of its stack.
INSIDE: Final = "snapshot_of_its_stack"
#: How long a resource waits for its stack at most before it looks by itself; its stack's end wakes it.
LOOK_AGAIN_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """What the stack that a resource is, is to be."""

    #: The template: its text, or its parts as plain values, in which nothing is called.
    template: str | Mapping[str, Any]
    #: What problems in it call it.
    file: str
    #: The values of its parameters.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: Where in the properties they come from, each by its name: to know which of them are secrets.
    parameters_from: tuple[str | int, ...] = ()
    #: Minutes that an operation on it may take; None: as long as there is left for the stack it is in, never longer.
    timeout_minutes: float | None = None
    #: Attributes of the resources in it that are asked for from outside: each the resource's name, and the path.
    asks: tuple[AttributePath, ...] = ()

    @property
    def source(self) -> str:
        """The template's text."""
        if isinstance(self.template, str):
            return self.template
        return json.dumps(self.template, indent=1, sort_keys=False, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """What is known of a child before anything exists: enough to find mistakes in it, and to count its resources."""

    #: Values that are not known yet may be ``UNKNOWN``, anywhere in parameters and in a template of plain values.
    child: Child
    #: How often each of its resources will be there (a group shows one of its members).
    times: int = 1
    #: Where in the properties the template's resources come from, for problems: ``("resource_def",)``.
    place: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildState:
    """How a child is doing."""

    #: What the child is called.
    name: str
    action: str
    status: str
    reason: str
    #: The operation in force.
    traversal_id: str
    is_deleted: bool = False
    #: All is there that its definition wants, though not all could be taken away that it does not want.
    is_unclean: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A resource of a child: the one in force, where a name has several rows."""

    name: str
    type: str
    uuid: str
    action: str
    status: str
    physical_id: str | None
    #: What ``get_resource`` resolves to; None until the resource exists.
    reference_id: str | None
    #: What was asked for of it, by path.
    attributes: Mapping[AttributePath, Any]
    #: Seconds since the epoch.
    created_at: float
    #: Of what was asked for, what could not be read, and why.
    unread: Mapping[AttributePath, str] = field(default_factory=dict)

    def at(self, path: AttributePath) -> Any:
        """Return what was asked for under ``path``: its reference id if that is empty; None if it was not asked for.

        Raises:
            ResourceFailure: it could not be read.
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
    """The one stack that a resource is, as its type may handle it. Every call may be repeated without harm."""

    @property
    def id(self) -> str:
        """The child's id, also before there is one: it is the row's."""

    @property
    def seconds_left(self) -> float:
        """How long the operation may still take in which the resource is made or changed."""

    def state(self) -> ChildState | None:
        """Return how the child is doing; None if it was never made."""

    def become(self, child: Child) -> str:
        """Begin to make the child, or to change it, whatever it is doing now; return the operation's id.

        Raises:
            ResourceFailure: the definition has mistakes, or the limits of the tree are passed; nothing was touched.
        """

    def adopt(self, child: Child, entries: Mapping[str, Any]) -> str:
        """Begin to make the child of objects that are there already; return the operation's id.

        ``entries`` are those of an adopt file, by resource name.

        Raises:
            ResourceFailure: the definition or an entry has mistakes; nothing was touched.
        """

    def operate(self, action: str) -> str:
        """Begin to do something with the child as it is, a ``CHECK`` for example; return the operation's id.

        Raises:
            ResourceFailure: the child does not lend itself to it now.
        """

    def take_snapshot(self) -> tuple[str, str]:
        """Begin to take a snapshot of the child; return the operation's id, and the snapshot's.

        Raises:
            ResourceFailure: the child does not lend itself to it now.
        """

    def has_snapshot(self, snapshot_id: str) -> bool:
        """Tell whether a snapshot of the child is complete."""

    def restore(self, child: Child, snapshot_id: str) -> str:
        """Begin to bring the child, which is to be what ``child`` says, back to a snapshot; return the operation's id.

        Raises:
            ResourceFailure: there is no such snapshot any more, or the child does not lend itself to it now.
        """

    def delete(self) -> str | None:
        """Begin to delete the child; return the operation's id, None if there is nothing to delete.

        What it made stays in the world if its parent is abandoned.
        """

    def release(self) -> None:
        """Let the child stand by itself from now on."""

    def members(self) -> Sequence[Member]:
        """Return the child's resources, oldest first."""

    def outputs(self) -> Mapping[str, Any]:
        """Return the child's outputs; one that cannot be told is None."""

    def output(self, name: str) -> Any:
        """Return one output of the child; None if it has none of that name.

        Raises:
            ResourceFailure: it cannot be told.
        """


def member_path(path: AttributePath) -> AttributePath | None:
    """Return what ``resource.NAME.REST`` asks of which resource in a stack: the name, then the rest; None if nothing.

    The steps may be written in one text, or each for itself.
    """
    first = str(path[0])
    if not first.startswith("resource."):
        return None
    asked = (*first.split(".")[1:], *path[1:])
    if len(asked) > 2 and asked[1] == "resource":
        # That one is a stack too, and is asked for one of its resources in turn.
        return (asked[0], f"resource.{asked[2]}", *asked[3:])
    return asked


def asked_of_members(wanted: Sequence[AttributePath]) -> tuple[AttributePath, ...]:
    """Return, of what is asked of a stack, what it must ask of its resources by name."""
    paths = (member_path(tuple(path)) for path in wanted)
    return tuple(sorted({path for path in paths if path is not None and len(path) > 1}, key=repr))


class StackResource(Resource):
    """Base of resource types that are stacks.

    A subclass implements :meth:`child`, :meth:`blueprint`, and :meth:`attribute` or :meth:`attribute_at`.
    """

    #: The engine need not carry an action to its end before it gives this resource another definition.
    supersedes: ClassVar[bool] = True
    #: An update is always passed on: the child finds out itself what there is to do.
    always_updates: ClassVar[bool] = True

    #: Set by the engine.
    stacks: ChildStack
    #: The attributes that others ask of this resource: each a name of an attribute, and a path into it.
    wanted: Sequence[AttributePath] = ()

    def child(self) -> Child:
        """Return what the child is to be, by ``self.properties``, ``self.state`` and ``self.wanted``.

        The same answer for the same: an update of a child that is so already touches nothing.
        """
        raise NotImplementedError

    @classmethod
    def blueprint(cls, name: str, properties: Mapping[str, Any]) -> Blueprint | None:
        """Return what a resource called ``name`` will be made of, as far as known; None if nothing is.

        ``properties`` are converted; those not known yet are ``UNKNOWN``, as a whole or inside.
        """
        raise NotImplementedError

    def attribute_at(self, path: AttributePath) -> Any:
        """Return what is asked for under ``path``: of a resource in the stack, or of an attribute of this one."""
        asked = member_path(path)
        if asked is None:
            return follow(self.attribute(str(path[0])), path[1:])
        member = next((each for each in self.stacks.members() if each.name == asked[0]), None)
        return None if member is None else member.at(asked[1:])

    # -- what the engine calls ---------------------------------------------------------------------------------

    def begin(self, child: Child, **more: Any) -> dict[str, Any]:
        """Let the child become what ``child`` says; return the token with which to wait for it, ``more`` inside."""
        operation = self.stacks.become(child)
        self.state.physical_id = self.stacks.id
        return {**more, "operation": operation, "definition": self.fingerprint(child)}

    @staticmethod
    def fingerprint(child: Child) -> str:
        """Return what tells one definition of a child from another."""
        parts = [child.source, child.file, child.parameters, sorted(child.asks, key=repr)]
        return hashlib.sha256(msgpack.packb(parts)).hexdigest()

    def is_outdated(self, token: Any) -> bool:
        """Tell whether what a token waits for was begun for another definition than this resource has now."""
        return bool(token["definition"] != self.fingerprint(self.child()))

    def find(self) -> str | None:
        """Return the child's id if there is one."""
        state = self.stacks.state()
        return None if state is None or state.is_deleted else self.stacks.id

    def handle_create(self) -> Any:
        """Begin to make the child."""
        return self.begin(self.child())

    def resume_create(self) -> Any:
        """Go on with what an interrupted create has made: the child becomes what it is to be now."""
        return self.begin(self.child())

    def handle_update(self, changes: PropertyChanges) -> Any:
        """Begin to change the child."""
        return self.begin(self.child())

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Tell whether the child is complete."""
        return self.is_complete(token)

    def check_update_complete(self, token: Any) -> bool | Wait:
        """Tell whether the child is complete."""
        return self.is_complete(token)

    def is_complete(self, token: Mapping[str, Any]) -> bool | Wait:
        """Tell whether the child has become what it was to become.

        Raises:
            ResourceFailure: that failed, or the child is gone.
        """
        return self.has_ended(token)

    def has_ended(self, token: Mapping[str, Any]) -> bool | Wait:
        """Tell whether the operation of a token is complete, which is the only thing that was to be done.

        Raises:
            ResourceFailure: it failed, or the child is gone.
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

    def needs_replace_failed(self) -> bool:
        """Tell whether a failed resource must be replaced: not while its stack is there, which can be mended."""
        return self.find() is None

    def handle_adopt(self) -> Any:
        """Begin to make a stack of what is there already."""
        child = self.child()
        operation = self.stacks.adopt(child, self.state.data.get(ENTRIES) or {})
        self.state.data.pop(ENTRIES, None)
        return {"operation": operation, "definition": self.fingerprint(child)}

    def check_adopt_complete(self, token: Any) -> bool | Wait:
        """Tell whether the stack is complete."""
        return self.has_ended(token)

    # -- as it is ----------------------------------------------------------------------------------------------

    def handle_check(self) -> Any:
        """Begin to check the child."""
        return {"operation": self.stacks.operate(CHECK)}

    def check_check_complete(self, token: Any) -> bool | Wait:
        """Tell whether the child was found in order."""
        return self.has_ended(token)

    def handle_suspend(self) -> Any:
        """Begin to suspend the child."""
        return {"operation": self.stacks.operate(SUSPEND)}

    def check_suspend_complete(self, token: Any) -> bool | Wait:
        """Tell whether the child is suspended."""
        return self.has_ended(token)

    def handle_resume(self) -> Any:
        """Begin to resume the child."""
        return {"operation": self.stacks.operate(RESUME)}

    def check_resume_complete(self, token: Any) -> bool | Wait:
        """Tell whether the child is back."""
        return self.has_ended(token)

    def handle_snapshot(self) -> Any:
        """Begin to take a snapshot of the child."""
        operation, snapshot = self.stacks.take_snapshot()
        return {"operation": operation, INSIDE: snapshot}

    def check_snapshot_complete(self, token: Any) -> bool | Wait:
        """Tell whether the snapshot of the child is there."""
        answer = self.has_ended(token)
        if answer is True and not self.stacks.has_snapshot(token[INSIDE]):
            raise ResourceFailure("another operation came before the snapshot of its stack was complete")
        return answer

    def handle_restore(self, entry: Any) -> Any:
        """Begin to bring the child back to a snapshot."""
        return {"operation": self.stacks.restore(self.child(), entry[INSIDE])}

    def check_restore_complete(self, token: Any) -> bool | Wait:
        """Tell whether the child is back."""
        return self.has_ended(token)

    # -- deleting ----------------------------------------------------------------------------------------------

    def handle_delete(self) -> Any:
        """Begin to delete the child."""
        return {"operation": self.stacks.delete()}

    def check_delete_complete(self, token: Any) -> bool | Wait:
        """Tell whether the child is gone."""
        state = self.stacks.state()
        if state is None or state.is_deleted:
            return True
        if state.status == "FAILED" and state.action == "DELETE":
            raise ResourceFailure(state.reason)
        return Wait(LOOK_AGAIN_SECONDS)

    def handle_retain(self) -> None:
        """Let the child live on as a stack of its own."""
        self.stacks.release()

    def reference_id(self) -> str | None:
        """Return the child's id."""
        return self.stacks.id
