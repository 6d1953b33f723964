"""The codec of stored values: msgpack, encrypted with Fernet if keys are configured.

The first byte tells whether a value is encrypted, so that keys can be introduced, rotated or withdrawn while stacks
exist.
"""

from collections.abc import Sequence
from typing import Any

import msgpack
from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from orchestrator.errors import InvalidInput, IsothermError, Problem

_PLAIN, _SECRET = b"\x00", b"\x01"


class UnreadableValue(IsothermError):
    """Stored bytes are no packed value: they were stored before such values were refused, or are broken."""


class UnreadableSecret(IsothermError):
    """Stored bytes were encrypted with a key that is not among those configured."""


class Codec:
    """Packs and unpacks plain types. The first key encrypts; every key decrypts."""

    def __init__(self, keys: Sequence[str] = ()) -> None:
        """Make a codec with these Fernet keys; without keys it does not encrypt.

        Raises:
            InvalidInput: a key is no Fernet key.
        """
        try:
            self._fernet = MultiFernet([Fernet(key) for key in keys]) if keys else None
        except ValueError as error:
            problem = Problem(
                message=f"not a Fernet key: {error}",
                path="settings.encryption_keys",
                hint="make one with: python -c "
                "'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'",
            )
            raise InvalidInput([problem]) from error

    def pack(self, value: object) -> bytes:
        """Return ``value`` as bytes, encrypted where there is a key."""
        packed: bytes = msgpack.packb(value)
        return _PLAIN + packed if self._fernet is None else _SECRET + self._fernet.encrypt(packed)

    def unpack(self, data: bytes) -> Any:
        """Return the value that was packed.

        Raises:
            UnreadableSecret: none of the configured keys decrypts it.
            UnreadableValue: the bytes are no packed value, such as a map with a list as a key.
        """
        kind, body = data[:1], data[1:]
        if kind == _SECRET:
            if self._fernet is None:
                raise UnreadableSecret("an encrypted value is stored, but no encryption key is configured")
            try:
                body = self._fernet.decrypt(body)
            except InvalidToken as error:
                raise UnreadableSecret("no configured encryption key opens a stored value") from error
        try:
            return msgpack.unpackb(body, strict_map_key=False)
        except (ValueError, TypeError) as error:
            raise UnreadableValue(f"a stored value cannot be read: {error}") from error
