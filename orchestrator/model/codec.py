"""The codec of stored values: msgpack, encrypted and bound to its row if keys are configured.

A value is encrypted with AES-256-GCM-SIV (RFC 8452), whose associated data are its place: table, column and primary
key. In another row it does not open. Nonces are random; should two be equal, this cipher reveals no more than whether
the two values are, so that a key needs no limit of how much it encrypts.

The first byte tells the form, so that keys can be introduced, rotated or withdrawn while stacks exist: 0 plain, 1 a
Fernet token of an earlier version, 2 bound; after it come the id of the key (4 bytes), the nonce and the ciphertext.
"""

import base64
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import msgpack

from orchestrator.errors import InvalidInput, IsothermError, Problem

# cryptography is slow to import, and needed with keys alone.
if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet
    from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV

_PLAIN, _FERNET, BOUND = b"\x00", b"\x01", b"\x02"
_KEY_BYTES: Final = 32
_ID_BYTES: Final = 4
_NONCE_BYTES: Final = 12
#: The length of what leads a bound value: its form and the id of its key.
PREFIX_BYTES: Final = 1 + _ID_BYTES
_PURPOSE: Final = b"isotherm values"

_NO_KEY: Final = "an encrypted value is stored, but no encryption key is configured"
_OTHER_KEY: Final = "no configured encryption key opens a stored value"

#: Where a value is stored: the names of the table and the column, and the row's primary key in the table's order.
Place = tuple[str | int, ...]


class UnreadableValue(IsothermError):
    """Stored bytes are no packed value: they were stored before such values were refused, or are broken."""


class MisplacedValue(UnreadableValue):
    """Stored bytes were not encrypted for the row in which they are: they were moved there, or changed."""


class UnreadableSecret(IsothermError):
    """Stored bytes were encrypted with a key that is not among those configured."""


def plain(value: object) -> bytes:
    """Return ``value`` packed without encryption.

    Raises:
        TypeError, ValueError, OverflowError, RecursionError: it cannot be packed.
    """
    packed: bytes = msgpack.packb(value)
    return _PLAIN + packed


class Codec:
    """Packs and unpacks plain types. The first key encrypts; every key decrypts."""

    def __init__(
        self, keys: Sequence[str] = (), *, refuses_unbound: Callable[[], bool] = lambda: False
    ) -> None:
        """Make a codec with these Fernet keys, from which its own are derived; without keys it does not encrypt.

        ``refuses_unbound`` is called where a value in another form than the bound one is read although there are keys.

        Raises:
            InvalidInput: a key is no Fernet key.
        """
        self.refuses_unbound = refuses_unbound
        try:
            self._fernet = _fernet_of(keys) if keys else None
        except ValueError as error:
            problem = Problem(
                message=f"not a Fernet key: {error}",
                path="settings.encryption_keys",
                hint="make one with: python -c "
                "'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'",
            )
            raise InvalidInput([problem]) from error
        made = [_derived(key) for key in keys]
        self._ciphers = dict(made)
        self._first = made[0] if made else None

    @property
    def prefix(self) -> bytes:
        """What values begin with that are packed now."""
        return _PLAIN if self._first is None else BOUND + self._first[0]

    def pack(self, value: object, place: Place) -> bytes:
        """Return ``value`` as bytes to be stored at a place, encrypted where there is a key."""
        return self.encrypted(msgpack.packb(value), place)

    def unpack(self, data: bytes, place: Place) -> Any:
        """Return the value that was packed for a place.

        Raises:
            UnreadableSecret: none of the configured keys decrypts it.
            MisplacedValue: it was packed for another place, or changed since.
            UnreadableValue: the bytes are no packed value, such as a map with a list as a key.
        """
        # Without keys nearly all are plain, and a stack has many.
        is_plain = self._first is None and data[:1] == _PLAIN
        body = data[1:] if is_plain else self.decrypted(data, place)
        try:
            return msgpack.unpackb(body, strict_map_key=False)
        except (ValueError, TypeError) as error:
            raise UnreadableValue(f"a stored value cannot be read: {error}") from error

    def packed_again(self, data: bytes, place: Place, new_place: Place | None = None) -> bytes:
        """Return a stored value as :meth:`pack` makes it now, for another place if one is given.

        Raises:
            UnreadableSecret: none of the configured keys decrypts it.
            MisplacedValue: it was packed for another place, or changed since.
        """
        return self.encrypted(self.decrypted(data, place), new_place or place)

    def encrypted(self, body: bytes, place: Place) -> bytes:
        """Return packed bytes as they are stored at a place."""
        if self._first is None:
            return _PLAIN + body
        key_id, cipher = self._first
        nonce = os.urandom(_NONCE_BYTES)
        return b"".join((BOUND, key_id, nonce, cipher.encrypt(nonce, body, msgpack.packb(place))))

    def decrypted(self, data: bytes, place: Place) -> bytes:
        """Return the packed bytes that are stored at a place.

        Raises:
            UnreadableSecret, MisplacedValue: as for :meth:`unpack`.
        """
        form = data[:1]
        if form == BOUND:
            return self._opened_bound(data, place)
        if self._first is not None and self.refuses_unbound():
            raise MisplacedValue(
                f"{_named(place)}: the value is of a form that is refused since all were encrypted anew: it was "
                "stored by someone else, or by an earlier version; restore the row from a backup"
            )
        if form != _FERNET:
            return data[1:]
        if self._fernet is None:
            raise UnreadableSecret(_NO_KEY)
        from cryptography.fernet import InvalidToken

        try:
            return self._fernet.decrypt(data[1:])
        except InvalidToken as error:
            raise UnreadableSecret(_OTHER_KEY) from error

    def _opened_bound(self, data: bytes, place: Place) -> bytes:
        if self._first is None:
            raise UnreadableSecret(_NO_KEY)
        cipher = self._ciphers.get(data[1:PREFIX_BYTES])
        if cipher is None:
            raise UnreadableSecret(_OTHER_KEY)
        from cryptography.exceptions import InvalidTag

        start = PREFIX_BYTES + _NONCE_BYTES
        try:
            return cipher.decrypt(data[PREFIX_BYTES:start], data[start:], msgpack.packb(place))
        except (InvalidTag, ValueError) as error:
            raise MisplacedValue(
                f"{_named(place)}: the value was not stored there: it was moved from another row, or changed; "
                "restore the row from a backup, and find out who can write to the database"
            ) from error


def _named(place: Place) -> str:
    table, column, *key = place
    return f"table {table!r}, row {'/'.join(map(str, key))!r}, column {column!r}"


def _fernet_of(keys: Sequence[str]) -> "MultiFernet":
    from cryptography.fernet import Fernet, MultiFernet

    return MultiFernet([Fernet(key) for key in keys])


@lru_cache(maxsize=32)
def _derived(key: str) -> "tuple[bytes, AESGCMSIV]":
    """Return the id and the cipher of a Fernet key; neither tells anything of the key."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    hkdf = HKDF(algorithm=SHA256(), length=_KEY_BYTES + _ID_BYTES, salt=None, info=_PURPOSE)
    made = hkdf.derive(base64.urlsafe_b64decode(key))
    return made[_KEY_BYTES:], AESGCMSIV(made[:_KEY_BYTES])
