"""The file of tokens: JSON, for its owner alone, with the hashes of tokens, their users, and their roles by project.

A token is 32 random bytes, so its SHA-256 is enough: a slow hash makes guessing expensive, and nobody guesses one of
2**256. What is compared is the hash, in constant time.
"""

import hashlib
import hmac
import json
import secrets
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

from cache.stores.private_files import make_private_directory, narrow
from hooks.values.dataclass import dataclass
from orchestrator.config.secret_file import write_secret_file
from orchestrator.errors import InvalidInput, NotFound, Problem
from orchestrator.model.identity import ROLES, Identity
from orchestrator.model.names import is_name

VERSION: Final = 1
_TOKEN_BYTES: Final = 32
#: Longer texts are no tokens, and are not hashed.
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token, without its text."""

    #: Eight hexadecimal digits.
    id: str
    user: str
    #: The role by project.
    roles: Mapping[str, str]
    #: ISO 8601, UTC.
    created_at: str
    #: SHA-256, in hexadecimal digits.
    hash: str

    @classmethod
    def generate(cls, user: str, roles: Mapping[str, str]) -> tuple[Self, str]:
        """Return a new token, and its text, which is nowhere else."""
        text = f"isotherm_{secrets.token_urlsafe(_TOKEN_BYTES)}"
        created_at = datetime.now(UTC).isoformat(timespec="seconds")
        made = cls(id=secrets.token_hex(4), user=user, roles=roles, created_at=created_at, hash=_hash(text))
        return made, text

    @classmethod
    def from_wire(cls, data: Any) -> Self:
        """Rebuild a token that was read from a file.

        Raises:
            ValueError: it is none.
        """
        if not isinstance(data, dict) or data.keys() != set(cls.__slots__):
            raise ValueError(f"expected a map of {', '.join(cls.__slots__)}")
        made = cls(**data)
        if not all(isinstance(each, str) for each in (made.id, made.created_at, made.hash)):
            raise ValueError("'id', 'created_at' and 'hash' are texts")
        if not is_name(made.user) or not isinstance(made.roles, dict):
            raise ValueError("'user' is a name, and 'roles' a map of project and role")
        if not all(is_name(project) and role in ROLES for project, role in made.roles.items()):
            raise ValueError(f"'roles' is a map of project and one of {', '.join(ROLES)}")
        return made


class TokenFile:
    """A file of tokens, read again when it changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._state: tuple[int, int, int] | None = None
        self._tokens: list[Token] = []

    def identify(self, text: str) -> Identity | None:
        """Return who has a token; None for an unknown one.

        Raises:
            InvalidInput: the file cannot be read.
        """
        if not text or len(text) > _LONGEST:
            return None
        wanted = _hash(text)
        for token in self.tokens():
            if hmac.compare_digest(token.hash.encode(), wanted.encode()):
                return Identity(user=token.user, roles=token.roles)
        return None

    def tokens(self) -> list[Token]:
        """Return the tokens; none while there is no file.

        Raises:
            InvalidInput: it cannot be read, or holds something else.
        """
        with self._lock:
            try:
                found = self._path.stat()
                state = (found.st_mtime_ns, found.st_ino, found.st_size)
                if state != self._state:
                    self._tokens, self._state = self._read(), state
            except FileNotFoundError:
                self._tokens, self._state = [], None
            except OSError as error:
                raise self._problem(f"cannot be read: {error.strerror}") from error
            return self._tokens

    def add(self, token: Token) -> None:
        """Add a token.

        Raises:
            InvalidInput: the file cannot be read or written.
        """
        self._write([*self.tokens(), token])

    def revoke(self, token_id: str) -> Token:
        """Remove a token, and return it.

        Raises:
            NotFound: there is none of this id.
            InvalidInput: the file cannot be read or written.
        """
        tokens = self.tokens()
        found = next((token for token in tokens if token.id == token_id), None)
        if found is None:
            raise NotFound(f"there is no token {token_id!r}; 'isotherm token list' shows those there are")
        self._write(token for token in tokens if token != found)
        return found

    def _read(self) -> list[Token]:
        narrow(self._path)
        try:
            data = json.loads(self._path.read_bytes())
        except (ValueError, RecursionError) as error:
            raise self._problem(f"is not JSON: {error}") from error
        if (
            not isinstance(data, dict)
            or data.get("version") != VERSION
            or not isinstance(data.get("tokens"), list)
        ):
            raise self._problem(f"expected a map with 'version' {VERSION} and a list of 'tokens'")
        try:
            return [Token.from_wire(each) for each in data["tokens"]]
        except ValueError as error:
            raise self._problem(str(error)) from error

    def _write(self, tokens: Iterable[Token]) -> None:
        make_private_directory(self._path.parent)
        data = {"version": VERSION, "tokens": [asdict(token) for token in tokens]}
        write_secret_file(str(self._path), json.dumps(data, indent=2) + "\n")

    def _problem(self, message: str) -> InvalidInput:
        hint = "restore it, or name another with ISOTHERM_TOKEN_FILE"
        return InvalidInput([Problem(path=str(self._path), message=message, hint=hint)])


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
