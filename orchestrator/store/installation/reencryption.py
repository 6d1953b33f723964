"""Re-encryption: everything at rest is rewritten with the newest key, while processes work.

What is to be rewritten is found by the key's id in the value itself, so that nothing needs to be kept of how far it
came: after a death at any moment, another run continues. A row is changed only if it still has the bytes that were
read; what others write meanwhile is written with the newest key, and stays.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from typing import Any, Final

import sqlalchemy as sa

from orchestrator.errors import Conflict, InvalidInput, Problem
from orchestrator.model.codec import PREFIX_BYTES, Codec, UnreadableSecret, UnreadableValue
from orchestrator.model.sentences import UNREADABLE
from orchestrator.store import tables
from orchestrator.store.database import Database
from orchestrator.store.installation.identity import Identity
from orchestrator.store.repository import Repository, Timings
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import AnyRow, Values
from orchestrator.store.tables.schema import Sentence

#: How many rows one transaction rewrites at most.
BATCH: Final = 100
#: How often all tables are gone through before the processes that write meanwhile are taken for misconfigured.
MOST_PASSES: Final = 20
#: How many values that cannot be read are named.
MOST_NAMED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Reencrypted:
    """What a run has done."""

    #: Rewritten rows, by table.
    rows: Counter[str] = field(default_factory=Counter)
    #: The first values that cannot be read, and why; they stay as they are.
    unreadable: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Encrypted:
    """A table with encrypted columns."""

    name: str
    #: The names of the primary key's columns, in their order.
    key: tuple[str, ...]
    values: tuple[str, ...]
    sentences: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.values + self.sentences


@cache
def encrypted_tables() -> tuple[_Encrypted, ...]:
    """Return all tables with encrypted columns: every binary column is packed, and every sentence sealed."""
    found = (
        _Encrypted(
            table.name,
            tuple(column.name for column in table.primary_key),
            tuple(column.name for column in table.c if isinstance(column.type, sa.LargeBinary)),
            tuple(column.name for column in table.c if isinstance(column.type, Sentence)),
        )
        for table in tables.metadata.sorted_tables
    )
    return tuple(each for each in found if each.columns)


class Reencryption(Repository):
    """Rewrites of what is encrypted with another key than the newest, or with none, or is bound to no row."""

    def __init__(self, database: Database, codec: Codec, timings: Timings, identity: Identity) -> None:
        super().__init__(database, codec, timings)
        self._identity = identity

    def run(
        self, report: Callable[[Counter[str]], None] = lambda _: None, *, batch: int = BATCH
    ) -> Reencrypted:
        """Rewrite everything, and record that it was, unless values cannot be read.

        ``report`` is called with the numbers of rewritten rows so far, by table.

        Raises:
            InvalidInput: there is no encryption key.
            Conflict: processes still write with another key.
        """
        self._require_key()
        rows: Counter[str] = Counter()
        for _ in range(MOST_PASSES):
            unreadable: dict[str, None] = {}
            again = False
            for table in encrypted_tables():
                for found in self._batches(table, batch):
                    changes = [change for row in found for change in self._changes(table, row, unreadable)]
                    again = again or bool(changes)
                    rows[table.name] += self._write(table, changes)
                    report(rows)
            if not again:
                break
        else:
            hint = "restart all processes with the newest key first in encryption_keys, then run this again"
            raise Conflict(f"values are still written with another key than the newest: {hint}")
        if not unreadable:
            self._identity.set_reencrypted()
        return Reencrypted(rows=rows, unreadable=list(unreadable)[:MOST_NAMED])

    def count(self) -> dict[str, int]:
        """Return how many values and texts there are, by what they are encrypted with.

        Raises:
            InvalidInput: there is no encryption key.
        """
        self._require_key()
        found: Counter[str] = Counter()
        for table in encrypted_tables():
            for column in table.columns:
                is_value = column in table.values
                length = PREFIX_BYTES if is_value else len(self._db.seal.prefix)
                sql = f"SELECT substr({column}, 1, {length}) AS prefix, count(*) AS amount FROM {table.name} "
                rows = self._db.rows(sa.text(f"{sql} GROUP BY 1"))
                for row in rows:
                    if row.prefix:
                        found[self._named(row.prefix)] += row.amount
        return dict(sorted(found.items()))

    def _named(self, prefix: bytes | str) -> str:
        if prefix in (self._codec.prefix, self._db.seal.prefix):
            return "the newest key"
        if isinstance(prefix, str):
            return "another key, or bound to no row" if prefix.startswith("\x01") else "no key"
        return "no key" if prefix[:1] == b"\0" else "another key, or bound to no row"

    def _require_key(self) -> None:
        if not self._db.seal.prefix:
            problem = Problem(
                path="settings.encryption_keys",
                message="there is no encryption key to encrypt with",
                hint="configure one, first in the list, in all processes; the keys of before follow it",
            )
            raise InvalidInput([problem])

    def _batches(self, table: _Encrypted, batch: int) -> Iterator[Sequence[AnyRow]]:
        """Yield the rows with something to rewrite, in the order of the primary key."""
        key, after = ", ".join(table.key), ", ".join(f":{name}" for name in table.key)
        others = " OR ".join(
            [f"substr({name}, 1, {PREFIX_BYTES}) <> :packed" for name in table.values]
            + [
                f"({name} <> '' AND substr({name}, 1, {len(self._db.seal.prefix)}) <> :sealed)"
                for name in table.sentences
            ]
        )
        select = f"SELECT {', '.join((*table.key, *table.columns))} FROM {table.name} WHERE ({others})"
        end = f" ORDER BY {key} LIMIT {batch}"
        values: dict[str, Any] = {}
        if table.values:
            values["packed"] = self._codec.prefix
        if table.sentences:
            values["sealed"] = self._db.seal.prefix
        rows = self._db.rows(sa.text(select + end), values)
        further = sa.text(f"{select} AND ({key}) > ({after}){end}")
        while rows:
            yield rows
            last = {name: getattr(rows[-1], name) for name in table.key}
            rows = self._db.rows(further, {**values, **last})

    def _changes(self, table: _Encrypted, row: AnyRow, unreadable: dict[str, None]) -> Iterator[Values]:
        """Yield the change of a row, if it has something to rewrite that can be read."""
        key = {name: getattr(row, name) for name in table.key}
        change: dict[str, object] = {}
        for name in table.columns:
            stored = getattr(row, name)
            if stored is None or stored in ("", b""):
                continue
            try:
                new = self._anew(stored, (table.name, name, *key.values()))
            except (UnreadableSecret, UnreadableValue) as error:
                of = f"{table.name}.{name} of {'/'.join(map(str, key.values()))}"
                unreadable[f"{of}: {error}"] = None
                continue
            if new is not None:
                change |= {f"old_{name}": stored, f"new_{name}": new}
        if change:
            yield {**key, **change}

    def _anew(self, stored: bytes | str, place: tuple[str | int, ...]) -> bytes | str | None:
        """Return what is stored as it is encrypted now; None if it is so already."""
        seal = self._db.seal
        if isinstance(stored, str):
            if stored.startswith(seal.prefix):
                return None
            text = seal.opened(stored)
            if text == UNREADABLE:
                raise UnreadableSecret("no configured encryption key opens a stored text")
            return seal.sealed(text)
        return None if stored.startswith(self._codec.prefix) else self._codec.packed_again(stored, place)

    @retrying
    def _write(self, table: _Encrypted, changes: Sequence[Values]) -> int:
        """Write changes in one transaction, each unless its row has changed meanwhile; return how many were written."""
        if not changes:
            return 0
        written = 0
        with self._db.write() as connection:
            # Rows with the same columns follow each other, each group in the order of the primary key.
            for names, same in groupby(sorted(changes, key=_changed), key=_changed):
                sets = ", ".join(f"{name} = :new_{name}" for name in names)
                where = [f"{name} = :{name}" for name in table.key] + [
                    f"{name} = :old_{name}" for name in names
                ]
                sql = f"UPDATE {table.name} SET {sets} WHERE {' AND '.join(where)}"
                written += connection.execute(sa.text(sql), list(same)).rowcount
        return written


def _changed(change: Values) -> tuple[str, ...]:
    """Return the columns that a change changes."""
    return tuple(sorted(name.removeprefix("new_") for name in change if name.startswith("new_")))
