"""The parts that all tables share: the metadata, types of columns, and partial indexes."""

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from hooks.values.texts import storable
from orchestrator.config.caller import caller
from orchestrator.model.sentences import SentenceSeal


class Words(sa.types.TypeDecorator[tuple[str, ...]]):
    """A list of words in their order, stored as JSON."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Sequence[str] | None, dialect: sa.Dialect) -> str | None:  # noqa: ARG002  # all do
        """Return the JSON that is stored."""
        return None if value is None else json.dumps(list(value))

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> tuple[str, ...]:  # noqa: ARG002  # as above
        """Return the words that were stored."""
        return () if value is None else tuple(json.loads(value))


#: The seals of databases, by the dialect object that each has for itself.
_seals: Final[WeakKeyDictionary[sa.Dialect, SentenceSeal]] = WeakKeyDictionary()
_NO_SEAL: Final = SentenceSeal()


def seal_sentences(dialect: sa.Dialect, seal: SentenceSeal) -> None:
    """Encrypt the sentences of the database that has this dialect object."""
    _seals[dialect] = seal


def seal_of(dialect: sa.Dialect) -> SentenceSeal:
    """Return what encrypts the sentences of the database that has this dialect object."""
    return _seals.get(dialect, _NO_SEAL)


class Sentence(sa.types.TypeDecorator[str]):
    """A text for people, such as a reason, stored with escapes in place of what no database stores.

    It is encrypted if the database has a key. Equal texts stay equal; nothing else can be said of them in SQL.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Return the text that is stored."""
        return None if value is None else seal_of(dialect).sealed(storable(value))

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Return the text that was stored."""
        return None if value is None else seal_of(dialect).opened(value)


metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
    }
)


def user_column() -> "sa.Column[str]":
    """Return the column of the user on whose behalf a row is written; empty where the engine acts by itself.

    It fills itself in. Statements of checks, which are not built by SQLAlchemy, leave it empty.
    """
    return sa.Column(
        "user_name",
        sa.Text,
        nullable=False,
        server_default="",
        default=lambda: storable(caller().identity.user),
    )


class PartialIndex(sa.Index):
    """An index of the rows for which a condition holds.

    SQLAlchemy imports a dialect with all its drivers once an option for it is named, which takes longer than many a
    command. So the condition is named when the options are read: when an index is made.
    """

    def __init__(self, name: str, *columns: str, where: str, unique: bool = False) -> None:
        self._where = where
        super().__init__(name, *columns, unique=unique)

    @cached_property
    def dialect_options(self) -> Any:
        """The options of the index, by dialect."""
        options = super().dialect_options
        for dialect in ("sqlite", "postgresql"):
            options[dialect]["where"] = sa.text(self._where)
        return options
