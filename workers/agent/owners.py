"""Owners: the resource of each object that an agent has made, and the refusal of the object to others.

An object is changed by its resource alone, and read and used within its project. A refusal names the stack or the
resource of the owner within the requester's own project; of another project it says only that there is an owner.

Not refused are objects without an owner on record, which an agent of an earlier version has made, and requests without
a requester, which a client of an earlier version sends: the former get the requester of the next change as their owner.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

from orchestrator.nodes.rpc.errors import NotOurs, RpcFailed
from orchestrator.nodes.rpc.requester import Requester
from workers.agent.fence import check_fence
from workers.agent.records import read_record, write_record

#: The kinds of objects, in the journal, in names of locks, and here. Instances have names that are unique on a machine,
#: volumes :func:`volume_key`; a file's name is its real path, a process's the row under which it is on record.
INSTANCE: Final = "instance"
VOLUME: Final = "volume"
PROCESS: Final = "process"
FILE: Final = "file"
#: The requester of the call that the present thread answers; None: it states none.
_requester: ContextVar[Requester | None] = ContextVar("requester", default=None)


def volume_key(storage: str, name: str) -> str:
    """Return the name of a volume on its machine; the name alone is unique in its storage unit."""
    return f"{storage}/{name}"


def requesting_project() -> str:
    """Return the project for which the present thread acts; empty: the call states none."""
    requester = _requester.get()
    return "" if requester is None else requester.project


@contextmanager
def requested_by(node: str, stated: Mapping[str, Any] | None) -> Iterator[None]:
    """Have the body act for a requester, on the wire; None: for none.

    Raises:
        RpcFailed: it cannot be read.
    """
    try:
        requester = None if stated is None else Requester.from_wire(stated)
    except (AttributeError, ValueError) as error:
        raise RpcFailed(node, f"the requester cannot be read: {error}") from error
    token = _requester.set(requester)
    try:
        yield
    finally:
        _requester.reset(token)


class Owners:
    """The owners of one machine's objects, by kind and name; safe for other processes that share the directory."""

    def __init__(self, node: str, directory: Path) -> None:
        self._node, self._directory = node, directory

    def refuse_other_projects(self, kind: str, name: str) -> None:
        """Refuse to show an object of another project, or to use it.

        Raises:
            NotOurs: another project owns it.
        """
        self._refuse(kind, name, lambda owner, requester: owner.project == requester.project)

    def may_look(self, kind: str, name: str) -> bool:
        """Return whether the requester may see an object."""
        try:
            self.refuse_other_projects(kind, name)
        except NotOurs:
            return False
        return True

    def may_change(self, kind: str, name: str) -> bool:
        """Return whether the requester may change an object."""
        try:
            self.refuse_others(kind, name)
        except NotOurs:
            return False
        return True

    def refuse_others(self, kind: str, name: str) -> None:
        """Refuse to change an object of another resource.

        Raises:
            NotOurs: another resource owns it.
        """
        self._refuse(kind, name, Requester.is_same_resource)

    def claim(self, kind: str, name: str) -> None:
        """Record the requester as the owner of an object that it is about to make, or has.

        Raises:
            NotOurs: another resource owns it.
        """
        self.refuse_others(kind, name)
        self._record(kind, name)

    def keep(self, kind: str, name: str) -> None:
        """Record the requester as the owner of an object that it has made."""
        self._record(kind, name)

    def take_over(self, kind: str, name: str) -> None:
        """Record the requester as the owner of an object that no stack has any more, and that its stack adopts.

        Raises:
            NotOurs: another project owns it.
        """
        self.refuse_other_projects(kind, name)
        self._record(kind, name)

    def release(self, kind: str, name: str) -> None:
        """Delete the record of an object that is gone; none is no error."""
        check_fence()
        self._file(kind, name).unlink(missing_ok=True)

    def release_own(self, kind: str, name: str) -> None:
        """Delete the record of an object if the very row that requests it is the owner, and no replacement of it."""
        requester, owner = _requester.get(), self._owner(kind, name)
        if requester is not None and owner is not None and owner.uuid == requester.uuid:
            self.release(kind, name)

    def _record(self, kind: str, name: str) -> None:
        requester = _requester.get()
        if requester is not None and self._owner(kind, name) != requester:
            check_fence()
            write_record(self._file(kind, name), {"kind": kind, "name": name, **requester.to_wire()})

    def _refuse(self, kind: str, name: str, may: Callable[[Requester, Requester], bool]) -> None:
        requester = _requester.get()
        owner = None if requester is None else self._owner(kind, name)
        if owner is None or requester is None or may(owner, requester):
            return
        whose = "another stack"
        if owner.project == requester.project:
            is_same_stack = owner.stack == requester.stack
            whose = f"the resource {owner.resource!r}" if is_same_stack else f"the stack {owner.stack_name!r}"
        raise NotOurs(self._node, f"{kind} {name!r} belongs to {whose}: it is left as it is")

    def _owner(self, kind: str, name: str) -> Requester | None:
        record = read_record(self._file(kind, name))
        return None if record is None else Requester.from_wire(record)

    def _file(self, kind: str, name: str) -> Path:
        digest = hashlib.sha256(f"{kind}\0{name}".encode()).hexdigest()
        return self._directory / f"{digest}.json"
