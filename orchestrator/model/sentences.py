"""The encryption of sentences for people, such as reasons, in the columns of text that hold them.

Equal sentences are encrypted to equal texts, unlike values (:mod:`orchestrator.model.codec`): statements compare the
reason of a retry with the one before. Sentences that were stored without a key are read as they are.
"""

import base64
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

#: What an encrypted sentence begins with: a control character, with which no sentence of a plugin begins by chance.
_MARK: Final = "\x01sealed:"
_PURPOSE: Final = b"isotherm sentences"
#: What is shown of a sentence that no configured key decrypts.
UNREADABLE: Final = "(no configured encryption key opens this text)"


class SentenceSeal:
    """Encrypts and decrypts sentences. The first key encrypts, every key decrypts; without keys, none is encrypted."""

    def __init__(self, keys: Sequence[str] = ()) -> None:
        """Take Fernet keys, which must be valid; what encrypts here is derived from them."""
        self._ciphers = tuple(map(_cipher, keys))

    def sealed(self, text: str) -> str:
        """Return a sentence as it is stored; an empty one, which says that there is no reason, stays empty."""
        if not text or not self._ciphers:
            return text
        packed = self._ciphers[0].encrypt(text.encode(errors="surrogatepass"), None)
        return _MARK + base64.urlsafe_b64encode(packed).decode()

    def opened(self, stored: str) -> str:
        """Return a sentence as it was before it was stored; a note in its place where no key decrypts it."""
        if not stored.startswith(_MARK):
            return stored
        try:
            packed = base64.urlsafe_b64decode(stored.removeprefix(_MARK))
        except ValueError:
            return UNREADABLE
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(packed, None).decode(errors="surrogatepass")
            except (InvalidTag, ValueError):
                continue
        return UNREADABLE


@lru_cache(maxsize=32)
def _cipher(key: str) -> AESSIV:
    derived = HKDF(algorithm=SHA256(), length=64, salt=None, info=_PURPOSE)
    return AESSIV(derived.derive(base64.urlsafe_b64decode(key)))
