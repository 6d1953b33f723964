"""Plan binding: what a saved plan is bound to, and which actions it lists. Its signed form travels with the job.

It holds no value of a stack: only names, ids, digests and actions.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Self

import msgpack

from orchestrator.model.messages import Job
from orchestrator.model.plain import NotPlain, refuse_not_plain

#: The version of a plan's file and of its document; another one is refused.
VERSION: Final = 1
#: The operations that can be planned.
ACTIONS: Final = ("CREATE", "UPDATE", "DELETE")
#: The greatest size and depth of a binding, before it is read.
MOST_BYTES: Final = 16 * 1024 * 1024
DEEPEST: Final = 4
#: The fields of a job that are no part of the definition: who sends it, and when.
_NOT_DEFINING: Final = frozenset({"job_id", "user", "comment", "credential", "plan"})


class UnreadablePlan(ValueError):
    """Bytes are no plan of this version; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMark:
    """The state of one row when a plan was made."""

    #: The resource's name; that of one in a nested stack has the stack's name and a slash before it.
    name: str
    #: A digest of what counts for a plan: equal as long as nothing was done to the row.
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanBinding:
    """The stack, its state and the definition for which a plan was made, and the actions that the plan lists."""

    version: int = VERSION
    #: The plan's own id.
    id: str
    #: CREATE, UPDATE or DELETE.
    action: str
    project: str
    #: The stack's name; and its id, which is empty where there is no stack yet.
    stack: str
    stack_id: str = ""
    #: The stack's last operation when the plan was made; empty where there was no stack.
    traversal_id: str = ""
    #: Seconds since the epoch.
    planned_at: float
    #: Who made it, as the face says that made it; means nothing in a plan that is signed with a user's key.
    user: str = ""
    #: SHA-256 of the job that the plan is for, and of the rest of the plan's file.
    definition: str
    body: str = ""
    #: The state of each row, by its id, those of nested stacks included.
    rows: Mapping[str, RowMark] = field(default_factory=dict)
    #: The action of each resource of the definition, and those that may be taken in its place.
    actions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: The names of the resources that are deleted because the definition no longer has them.
    deletes: tuple[str, ...] = ()
    #: The present names of the resources that are moved, by their new names.
    moves: Mapping[str, str] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Return the binding packed; :meth:`of_bytes` is the inverse."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        plain["rows"] = {row_id: [mark.name, mark.digest] for row_id, mark in self.rows.items()}
        packed: bytes = msgpack.packb(plain)
        return packed

    @classmethod
    def of_bytes(cls, data: bytes) -> Self:
        """Return the binding that was packed.

        Raises:
            UnreadablePlan: the bytes are no binding of this version, or too large.
        """
        plain = unpacked_map(data, most_bytes=MOST_BYTES, deepest=DEEPEST)
        if plain.get("version") != VERSION:
            raise UnreadablePlan(f"it has the version {plain.get('version')!r}, expected {VERSION}")
        unknown = plain.keys() ^ {each.name for each in fields(cls)}
        if unknown:
            raise UnreadablePlan(f"its field {min(unknown)!r} is missing or unknown")
        texts = [plain[name] for name in _TEXTS]
        if not all(isinstance(each, str) for each in texts) or not isinstance(plain["planned_at"], float):
            raise UnreadablePlan("a field of it has another type")
        if plain["action"] not in ACTIONS:
            raise UnreadablePlan(f"its action is {plain['action']!r}, expected one of {', '.join(ACTIONS)}")
        try:
            rows = {row: RowMark(name=name, digest=digest) for row, (name, digest) in plain["rows"].items()}
            actions = {name: tuple(listed) for name, listed in plain["actions"].items()}
            deletes = tuple(plain["deletes"])
            moves = dict(plain["moves"])
        except (TypeError, ValueError, AttributeError) as error:
            raise UnreadablePlan("its rows or actions have another shape") from error
        return cls(**{**plain, "rows": rows, "actions": actions, "deletes": deletes, "moves": moves})


_TEXTS: Final = ("id", "action", "project", "stack", "stack_id", "traversal_id", "user", "definition", "body")


def definition_digest(job: Job) -> str:
    """Return the SHA-256 of what a job wants; the same for each delivery, sender and comment."""
    wanted = {name: value for name, value in job.to_wire().items() if name not in _NOT_DEFINING}
    canonical = json.dumps([job.task, wanted], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def unpacked_map(data: bytes, *, most_bytes: int, deepest: int) -> dict[str, Any]:
    """Return the map that was packed, with plain values within these limits.

    Raises:
        UnreadablePlan: it is none.
    """
    if len(data) > most_bytes:
        raise UnreadablePlan(f"it has {len(data)} bytes, and {most_bytes} are allowed")
    try:
        value = msgpack.unpackb(data)
        refuse_not_plain(value, most_bytes=4 * most_bytes, deepest=deepest)
    except (NotPlain, ValueError, TypeError) as error:
        raise UnreadablePlan(f"it cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise UnreadablePlan(f"expected a map, found {type(value).__name__}")
    return value


def since(planned: Mapping[str, RowMark], present: Mapping[str, RowMark]) -> tuple[str, ...]:
    """Return which resources changed since a plan was made, sorted: ``db``, ``web (new)``, ``old (gone)``."""
    changed = {mark.name for row, mark in present.items() if row in planned and planned[row] != mark}
    added = {f"{mark.name} (new)" for row, mark in present.items() if row not in planned}
    gone = {f"{mark.name} (gone)" for row, mark in planned.items() if row not in present}
    return tuple(sorted(changed | added | gone))


def disagreement(
    binding: PlanBinding,
    made: Collection[str],
    kept: Collection[str],
    deleted: Collection[str],
    moved: Mapping[str, str],
) -> str:
    """Return why a binding does not list what an update would do now; empty if it lists all of it.

    ``made`` are the names of the resources that get a new row, ``kept`` those that keep theirs, and ``deleted`` those
    whose row is cleaned up without another in its place. ``moved`` are the present names of those that are moved.
    """
    if unlike := ({*moved.items()} ^ {*binding.moves.items()}):
        return f"it differs in whether {min(unlike)[1]!r} is moved"
    if missing := ({*made, *kept} ^ binding.actions.keys()):
        return f"it has no action for {min(missing)!r}, or lists one that is not desired"
    for name in sorted(made):
        if not {"CREATE", "REPLACE", "REFUSE"} & {*binding.actions[name]}:
            return f"{name!r} would be made, and it lists {' or '.join(binding.actions[name])}"
    if unlisted := ({*deleted} ^ {*binding.deletes}):
        return f"it differs in whether {min(unlisted)!r} is deleted"
    return ""
