"""Changes of a set of keys, without the file: creation, rotation, removal, and the excerpts for agents and clients.

A rotation has three steps, each of which all processes follow before the next: a new key verifies; then it signs, and
the one before only verifies; then that is removed.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from orchestrator.errors import InvalidInput, NotFound, Problem
from orchestrator.keys.key import ACTIVE, AGENT, ENGINE, JOB, NEW, NODE, OLD, Key

#: What an installation needs besides the keys of agents.
OWN = (JOB, ENGINE, NODE)


def created(
    keys: Sequence[Key],
    uses: Iterable[str],
    *,
    node: str = "",
    user: str = "",
    projects: str = "",
    role: str = "",
) -> list[Key]:
    """Return a new key for each use: active where the use, of the node or the user, has none yet, else new."""
    taken = {key.use for key in keys if (key.node, key.user) == (node, user)}
    owner = {"node": node, "user": user, "projects": projects, "role": role}
    return [Key.generate(use, state=NEW if use in taken else ACTIVE, **owner) for use in uses]


def rotated(keys: Sequence[Key]) -> list[Key]:
    """Return the keys where the newest new key of each use is active, and the one before is old.

    Raises:
        InvalidInput: there is no new key.
    """
    newest = {_owner(key): key for key in keys if key.state == NEW}
    if not newest:
        problem = Problem(
            message="there is no new key to rotate to",
            hint="first 'isotherm key create', and bring the file to all machines; then rotate",
        )
        raise InvalidInput([problem])
    return [_after(key, newest.get(_owner(key))) for key in keys]


def _owner(key: Key) -> tuple[str, str, str]:
    return key.use, key.node, key.user


def _after(key: Key, newest: Key | None) -> Key:
    if key is newest:
        return replace(key, state=ACTIVE)
    return replace(key, state=OLD) if newest is not None and key.state == ACTIVE else key


def without(keys: Sequence[Key], ids: Collection[str]) -> list[Key]:
    """Return the keys without those of ``ids``; without any, without the old ones.

    Raises:
        NotFound: there is no such key.
        InvalidInput: one of them is active.
    """
    known = {key.id: key for key in keys}
    for each in ids:
        if each not in known:
            raise NotFound(f"there is no key {each!r}")
        if known[each].state == ACTIVE and not (known[each].node or known[each].user):
            raise InvalidInput(
                [Problem(message=f"the key {each} is active", hint="rotate to another one first")]
            )
    gone = set(ids) or {key.id for key in keys if key.state == OLD}
    return [key for key in keys if key.id not in gone]


def for_agent(keys: Iterable[Key], node: str) -> list[Key]:
    """Return what the agent of a node needs: its own keys, and the public halves of those that sign requests.

    Raises:
        NotFound: the node has no key.
    """
    found = [key for key in keys if key.use == AGENT and key.node == node]
    if not found:
        raise NotFound(
            f"there is no key of the node {node!r}: make one with 'isotherm key create --node {node}'"
        )
    return [*found, *(key.to_public() for key in keys if key.use == NODE)]


def for_client(keys: Iterable[Key], user: str = "") -> list[Key]:
    """Return what a client needs that only sends jobs: the keys of its user, else those of the installation itself.

    Raises:
        NotFound: the user has no key.
    """
    found = [key for key in keys if key.use == JOB and key.user == user]
    if user and not found:
        raise NotFound(
            f"there is no key of the user {user!r}: make one with 'isotherm key create --user {user}'"
        )
    return found
