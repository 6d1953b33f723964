"""RPCs about resources' files: read, put, take over, remove; inside the allowed directories only."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from orchestrator.nodes.rpc.errors import RpcRefused
from orchestrator.nodes.rpc.registry import Effect, node_rpc
from orchestrator.plugins.steps import ResourceFailure
from workers.agent.agent import Agent
from workers.agent.files.allowed import allowed_file, root_of
from workers.agent.files.owned_file import OwnedFile
from workers.agent.files.places import acting_for, opened
from workers.agent.owners import FILE
from workers.agent.records import records_directory

_MOST_MODE: Final = 0o777


def owned_file(agent: Agent, owner: Mapping[str, str]) -> OwnedFile:
    """Return the file of a resource: ``uuid`` of its row, id of its ``stack``, and its name, ``resource``.

    Raises:
        RpcRefused: the uuid is invalid.
    """
    agent.limits.owner(owner["uuid"])
    return OwnedFile(records_directory(agent.settings.state_directory), **owner)


@contextmanager
def rights_of_project(agent: Agent) -> Iterator[None]:
    """Have the body reach files with the rights of the user of the project, where the agent switches users.

    Raises:
        RpcRefused: no user is set.
    """
    account = agent.limits.account()
    with acting_for(None if account is None else account.ids):
        yield


@node_rpc("file_find", effect=Effect.READ)
def file_find(agent: Agent, *, owner: Mapping[str, str]) -> str | None:
    """Return the path of the file that a resource has made; None: it has none, or does not own it any more."""
    with rights_of_project(agent):
        found = owned_file(agent, owner).seen()
    return None if found is None else str(found)


@node_rpc("file_look", effect=Effect.READ)
def file_look(
    agent: Agent, *, path: str, most_bytes: int = 0, digests: bool = False
) -> Mapping[str, Any] | None:
    """Return the file at a path: ``path``, ``mode``, ``size``, the beginning of the ``content``, its ``sha256``.

    None: no regular file is at the path, or a link leads elsewhere.
    """
    place = Path(path)
    if not place.name or place.is_symlink() or not place.is_file():
        return None
    if place != allowed_file(path, agent.limits.allowance):
        return None
    agent.owners.refuse_other_projects(FILE, path)
    with rights_of_project(agent), opened(place) as file:
        content = file.read(most_bytes) if most_bytes else b""
        status = os.fstat(file.fileno())
        file.seek(0)
        sha256 = hashlib.file_digest(file, "sha256").hexdigest() if digests else ""
    return {
        "path": path,
        "mode": status.st_mode & 0o777,
        "size": status.st_size,
        "content": content,
        "sha256": sha256,
    }


@node_rpc("file_put")
def file_put(
    agent: Agent, *, owner: Mapping[str, str], path: str, content: bytes, mode: int, new: bool
) -> str:
    """Put a file in place and return its real path; a ``new`` one never replaces an existing file.

    Raises:
        Gone: the resource has removed it for good.
        NotOurs: another resource has a file there.
        RpcRefused: the mode would set the user or group id on execution.
    """
    if mode & ~_MOST_MODE:
        raise RpcRefused(
            agent.name, f"the mode of a file: expected {_MOST_MODE:04o} at most, found {mode:04o}"
        )
    with agent.alone_with(FILE, owner["uuid"]), rights_of_project(agent):
        agent.refuse_gone(FILE, owner["uuid"])
        allowance = agent.limits.allowance
        place = allowed_file(path, allowance, makes=True)
        file, root = owned_file(agent, owner), root_of(place, allowance)
        if os.path.lexists(place):
            # A path is free again where the file of its owner has gone.
            agent.owners.refuse_others(FILE, str(place))
        if new:
            file.create(place, content, mode, root=root)
        else:
            file.replace(place, content, mode, root=root)
        agent.owners.keep(FILE, str(place))
    return str(place)


@node_rpc("file_take_over")
def file_take_over(agent: Agent, *, owner: Mapping[str, str], path: str, expected: str) -> None:
    """Make the file at ``path``, whose real path is ``expected``, belong to a resource; it stays as it is.

    Raises:
        Gone: the resource has removed it for good.
        NotOurs: the file belongs to another project.
    """
    with agent.alone_with(FILE, owner["uuid"]), rights_of_project(agent):
        agent.refuse_gone(FILE, owner["uuid"])
        place = allowed_file(path, agent.limits.allowance)
        if str(place) != expected:
            raise ResourceFailure(f"the template's path is {place}, the id in the adopt file is another")
        agent.owners.take_over(FILE, str(place))
        owned_file(agent, owner).take_over(place)


@node_rpc("file_remove")
def file_remove(agent: Agent, *, owner: Mapping[str, str], path: str, content: bytes | None) -> None:
    """Remove a resource's file for good, if the resource still owns it.

    ``path`` and ``content`` identify it where no record is left.

    Raises:
        RpcRefused: it is outside the allowed directories.
    """
    with agent.alone_with(FILE, owner["uuid"]), rights_of_project(agent):
        file = owned_file(agent, owner)
        # Where a link leads elsewhere, nothing is removed anyway.
        if content is not None and Path(path).exists() and Path(path).resolve() == Path(path):
            agent.limits.file(path)
        agent.journal.bury(FILE, owner["uuid"])
        if path and content is not None and agent.owners.may_change(FILE, path):
            file.adopt(Path(path), content)
        place = file.seen()
        file.remove(spares=place is not None and not agent.owners.may_change(FILE, str(place)))
        for each in {path, str(place or path)} - {""}:
            agent.owners.release_own(FILE, each)
