"""Keys: what each is used for, whether it signs, and its secret or its public half."""

import base64
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.identity import ROLES, Identity
from orchestrator.model.names import is_name

#: What a key is used for: jobs of clients; messages among coordinators and workers; requests to agents; an agent's
#: replies.
JOB, ENGINE, NODE, AGENT = "job", "engine", "node", "agent"
USES: Final = (JOB, ENGINE, NODE, AGENT)
#: Those with a public half: who verifies cannot sign.
PAIRED: Final = frozenset({NODE, AGENT})
#: A new key verifies; the active one of a use signs, too; an old one verifies until it is removed.
NEW, ACTIVE, OLD = "new", "active", "old"
STATES: Final = (NEW, ACTIVE, OLD)

ID_BYTES: Final = 8
_SECRET_BYTES: Final = 32
_HALF: Final = 32


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key of an installation; without its secret, it verifies only."""

    #: Eight hexadecimal digits.
    id: str
    use: str
    state: str
    #: ISO 8601, UTC.
    created_at: str
    #: The node that a key of an agent belongs to.
    node: str = ""
    #: Of a user's key for jobs: who signs with it, the projects (with commas in between), and the role there.
    user: str = ""
    projects: str = ""
    role: str = ""
    secret: bytes = b""
    #: Of a pair: the public halves for signatures (Ed25519) and for key exchange (X25519), 32 bytes each.
    public: bytes = b""

    @classmethod
    def generate(
        cls, use: str, *, state: str, node: str = "", user: str = "", projects: str = "", role: str = ""
    ) -> Self:
        """Return a random key."""
        made = cls(
            id=secrets.token_hex(ID_BYTES // 2),
            use=use,
            state=state,
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            node=node,
            user=user,
            projects=projects,
            role=role,
            secret=secrets.token_bytes(_SECRET_BYTES),
        )
        return replace(made, public=made._own_public()) if use in PAIRED else made

    @property
    def identity(self) -> Identity:
        """Who signs with it: a user, or the installation itself, which may do everything."""
        if not self.user:
            return Identity.administrator()
        return Identity(user=self.user, roles=dict.fromkeys(self.projects.split(","), self.role))

    def to_public(self) -> Self:
        """Return the key without its secret."""
        return replace(self, secret=b"")

    def sign(self, data: bytes) -> bytes:
        """Return the signature of ``data``: Ed25519 of a pair, else HMAC-SHA-256. The key has its secret."""
        if self.use in PAIRED:
            return self._signing.sign(data)
        return self._mac(data).finalize()

    def is_signature(self, signature: bytes, data: bytes) -> bool:
        """Return whether this key signed ``data``."""
        try:
            if self.use in PAIRED:
                self._verifying.verify(signature, data)
            else:
                self._mac(data).verify(signature)
        except InvalidSignature:
            return False
        return True

    def shared_with(self, other: "Key") -> AESGCM:
        """Return the cipher that only the holders of the secrets of these two pairs have; this one has its secret."""
        exchanged = self._exchanging.exchange(X25519PublicKey.from_public_bytes(other.public[_HALF:]))
        return AESGCM(_derived(exchanged, b"isotherm node calls"))

    def to_wire(self) -> dict[str, str]:
        """Return the key as it is written to a file."""
        plain = {"id": self.id, "use": self.use, "state": self.state, "created_at": self.created_at}
        halves = {"secret": _text(self.secret), "public": _text(self.public)}
        more = {**{name: getattr(self, name) for name in ("node", "user", "projects", "role")}, **halves}
        return {**plain, **{name: value for name, value in more.items() if value}}

    @classmethod
    def from_wire(cls, data: Any) -> Self:
        """Rebuild a key that was read from a file.

        Raises:
            ValueError: it is none; the message has the reason, and no secret.
        """
        if not isinstance(data, Mapping) or not all(isinstance(value, str) for value in data.values()):
            raise ValueError("expected a map of text to text")
        if unknown := data.keys() - cls.__dataclass_fields__.keys():
            raise ValueError(f"{sorted(unknown)[0]!r} is no field of a key")
        try:
            halves = {
                name: base64.b64decode(data.get(name, ""), validate=True) for name in ("secret", "public")
            }
            made = cls(**{**data, **halves})
        except TypeError as error:
            raise ValueError("'id', 'use', 'state' and 'created_at' are required") from error
        except ValueError as error:
            raise ValueError("'secret' and 'public' are base64") from error
        made._require_sound()
        return made

    def _require_sound(self) -> None:
        if len(self.id) != ID_BYTES or not self.id.isascii():
            raise ValueError(f"'id' has {ID_BYTES} characters")
        if self.use not in USES or self.state not in STATES:
            raise ValueError(f"'use' is one of {', '.join(USES)}, and 'state' one of {', '.join(STATES)}")
        if self.secret and len(self.secret) != _SECRET_BYTES:
            raise ValueError(f"'secret' has {_SECRET_BYTES} bytes")
        if self.use not in PAIRED and not self.secret:
            raise ValueError(f"a key for {self.use!r} needs its secret")
        if self.use in PAIRED and len(self.public) != 2 * _HALF:
            raise ValueError(f"'public' has {2 * _HALF} bytes")
        if bool(self.node) != (self.use == AGENT):
            raise ValueError("'node' belongs to a key of an agent")
        if self.user or self.projects or self.role:
            self._require_owner()

    def _require_owner(self) -> None:
        if self.use != JOB or not is_name(self.user):
            raise ValueError("'projects' and 'role' belong to a key for jobs with a 'user'")
        if self.role not in ROLES or not all(map(is_name, self.projects.split(","))):
            raise ValueError(
                f"'role' is one of {', '.join(ROLES)}, and 'projects' are names with commas in between"
            )

    def _mac(self, data: bytes) -> hmac.HMAC:
        mac = self._empty_mac.copy()
        mac.update(data)
        return mac

    @cached_property
    def _empty_mac(self) -> hmac.HMAC:
        return hmac.HMAC(self.secret, hashes.SHA256())

    @cached_property
    def _signing(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(_derived(self.secret, b"isotherm signatures"))

    @cached_property
    def _verifying(self) -> Ed25519PublicKey:
        return Ed25519PublicKey.from_public_bytes(self.public[:_HALF])

    @cached_property
    def _exchanging(self) -> X25519PrivateKey:
        return X25519PrivateKey.from_private_bytes(_derived(self.secret, b"isotherm key exchange"))

    def _own_public(self) -> bytes:
        return (
            self._signing.public_key().public_bytes_raw() + self._exchanging.public_key().public_bytes_raw()
        )


class KeyRing:
    """The keys that one process has."""

    def __init__(
        self, keys: Iterable[Key] = (), *, elsewhere: Callable[[str], Key | None] = lambda _: None
    ) -> None:
        """Hold ``keys``; ``elsewhere`` returns a key that was added since, by its id."""
        self._keys = {key.id: key for key in keys}
        self._elsewhere = elsewhere

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys.values())

    def named(self, key_id: str) -> Key | None:
        """Return the key with this id, if it is here."""
        return self._keys.get(key_id) or self._elsewhere(key_id)

    def active(self, use: str, *, node: str = "") -> Key:
        """Return the active key of a use; of an agent, that of the ``node``. A user's only where it is the only one.

        Raises:
            InvalidInput: there is none.
        """
        found = [key for key in self if key.use == use and key.state == ACTIVE and key.node == node]
        if found:
            return min(found, key=lambda key: bool(key.user))
        of = f" of the node {node!r}" if node else ""
        problem = Problem(
            path="settings.key_file",
            message=f"there is no active key for {use!r}{of}",
            hint=f"make one with: isotherm key create{f' --node {node}' if node else ''}",
        )
        raise InvalidInput([problem])

    def signing(self, use: str, *, node: str = "") -> Key:
        """Return the active key of a use, with its secret.

        Raises:
            InvalidInput: there is none, or without its secret.
        """
        key = self.active(use, node=node)
        if not key.secret:
            problem = Problem(
                path="settings.key_file",
                message=f"the key {key.id} for {use!r} is here without its secret: this process may not sign with it",
                hint="see 'isotherm key list'",
            )
            raise InvalidInput([problem])
        return key


def _derived(secret: bytes, what: bytes) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=_SECRET_BYTES, salt=None, info=what).derive(secret)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
