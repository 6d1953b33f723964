"""Audit records: who did what, when, from where, and whether the role allowed it; each with the hash of all before."""

import hashlib
import json
from dataclasses import asdict
from typing import Final

from hooks.values.dataclass import dataclass
from hooks.values.texts import storable
from orchestrator.errors import cut
from orchestrator.model.identity import Caller

ALLOWED, REFUSED = "allowed", "refused"
#: The hash before the first record.
NO_HASH: Final = "0" * 64
_LONGEST: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """What is to be recorded."""

    user: str
    #: Empty for what is done to the installation.
    project: str
    #: One of :data:`orchestrator.model.policy.OPERATIONS`, or ``login``.
    action: str
    #: What it is done to, such as a stack's name and a job's id.
    target: str
    #: The face, and the id of a key or an address.
    origin: str
    #: ALLOWED or REFUSED, by the role of the user; what became of it is in the stack's history.
    outcome: str = ALLOWED
    #: Why it was refused; else the caller's comment.
    detail: str = ""

    @classmethod
    def of(
        cls, who: Caller, action: str, *, project: str = "", target: str = "", refused: str = ""
    ) -> "AuditEntry":
        """Return the entry of a caller's action; ``refused`` is why the role did not allow it."""
        texts = {
            "user": who.identity.user,
            "project": project,
            "action": action,
            "target": target,
            "origin": who.origin,
            "outcome": REFUSED if refused else ALLOWED,
            "detail": refused or who.comment,
        }
        return cls(**{name: cut(storable(text), _LONGEST) for name, text in texts.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """An entry on record."""

    #: From 1, without a gap.
    seq: int
    #: Seconds since the epoch, by the database's clock.
    at: float
    entry: AuditEntry
    #: SHA-256 of the hash before it and its own content, in hexadecimal digits.
    hash: str

    @classmethod
    def after(cls, previous: str, entry: AuditEntry, *, seq: int, at: float) -> "AuditRecord":
        """Return the record that follows the one with the hash ``previous``."""
        content = json.dumps([previous, seq, at, *asdict(entry).values()], separators=(",", ":"))
        return cls(seq=seq, at=at, entry=entry, hash=hashlib.sha256(content.encode()).hexdigest())

    def to_dict(self) -> dict[str, object]:
        """Return the record as plain types."""
        return {"seq": self.seq, "at": self.at, **asdict(self.entry), "hash": self.hash}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCheck:
    """The result of a verification of all records."""

    #: The number of records that fit, and the hash of the last of them.
    records: int
    last_hash: str
    #: The number of the first record that does not fit, and why; None and empty if all do.
    broken_at: int | None = None
    why: str = ""
