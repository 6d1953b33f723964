"""Templates and files, stored once under the SHA-256 of their content, however many stacks use them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import field
from typing import Any

import msgpack

from hooks.values.dataclass import dataclass
from orchestrator.model.nested_stack import Nesting
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTemplate:
    """A complete definition: the template's text, its environments, parameters and files.

    The text is stored, not the parsed form, so that positions in errors stay right as long as the stack exists.
    """

    source: str
    file: str
    #: Each (file name, text).
    environments: tuple[tuple[str, str], ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: Digests by the key of ``get_file``.
    files: Mapping[str, str] = field(default_factory=dict)
    #: Only for a nested stack.
    nesting: Nesting | None = None
    #: The base of the file names in the template; see :mod:`orchestrator.template.locations`.
    base: str = ""

    def to_wire(self) -> list[Any]:
        """Return plain types, in an order that is always the same."""
        return [
            self.source,
            self.file,
            [list(pair) for pair in self.environments],
            sorted(self.parameters.items()),
            sorted(self.files.items()),
            *([] if self.nesting is None else [self.nesting.to_wire(), self.base]),
        ]

    @classmethod
    def from_wire(cls, data: list[Any]) -> StoredTemplate:
        """Rebuild from plain types."""
        source, file, environments, parameters, files, *nested = data
        return cls(
            source=source,
            file=file,
            environments=tuple((name, text) for name, text in environments),
            parameters=dict(parameters),
            files=dict(files),
            nesting=Nesting.from_wire(nested[0]) if nested else None,
            base=nested[1] if nested else "",
        )

    @property
    def id(self) -> str:
        """The SHA-256 of this content."""
        return hashlib.sha256(msgpack.packb(self.to_wire())).hexdigest()


def digest_of(content: str) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(content.encode()).hexdigest()


class Templates(Repository):
    """The template and file tables' operations."""

    @retrying
    def save(self, template: StoredTemplate, files: Mapping[str, str]) -> str:
        """Store a template and its files (content by digest) unless they are stored already; return the template's id.

        This is not part of the transaction that starts a traversal. The content is marked as saved now, so that a purge
        spares it until that transaction refers to it.
        """
        if files:
            values = [
                {"id": digest, "value": self._codec.pack(content, ("file", "content", digest))}
                for digest, content in sorted(files.items())
            ]
            save = _save("file", "content", self._db.now)
            with self._db.transaction() as direct:
                for each in values:
                    direct.count(save, each)
        template_id = template.id
        packed = self._codec.pack(template.to_wire(), ("template", "body", template_id))
        self._db.change(_save("template", "body", self._db.now), {"id": template_id, "value": packed})
        return template_id

    def load(self, template_id: str) -> StoredTemplate:
        """Return a template by its id.

        Raises:
            NoResultFound: there is no such template, or it is purged.
        """
        row = self._db.one("SELECT body FROM template WHERE id = :id", {"id": template_id})
        return StoredTemplate.from_wire(self._codec.unpack(row.body, ("template", "body", template_id)))

    def file(self, digest: str) -> str:
        """Return a file's content by its digest.

        Raises:
            NoResultFound: there is no such file, or it is purged.
        """
        row = self._db.one("SELECT content FROM file WHERE id = :id", {"id": digest})
        text: str = self._codec.unpack(row.content, ("file", "content", digest))
        return text


def _save(table: str, column: str, now: str) -> str:
    return (
        f"INSERT INTO {table} (id, {column}, saved_at) VALUES (:id, :value, {now}) "
        "ON CONFLICT (id) DO UPDATE SET saved_at = excluded.saved_at"
    )
