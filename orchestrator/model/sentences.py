"""The encryption of sentences for people, such as reasons, in the columns of text that hold them.

Equal sentences are encrypted to equal texts, unlike values (:mod:`orchestrator.model.codec`): statements compare the
reason of a retry with the one before. Sentences that were stored without a key are read as they are. Before the text of
an encrypted one comes the id of its key, which earlier versions left out.
"""

import base64
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

#: What an encrypted sentence begins with: a control character, with which no sentence of a plugin begins by chance.
_MARK: Final = "\x01sealed:"
_PURPOSE: Final = b"isotherm sentences"
_KEY_BYTES: Final = 64
_ID_BYTES: Final = 4
#: What is shown of a sentence that no configured key decrypts.
UNREADABLE: Final = "(no configured encryption key opens this text)"


class SentenceSeal:
    """Encrypts and decrypts sentences. The first key encrypts, every key decrypts; without keys, none is encrypted."""

    def __init__(self, keys: Sequence[str] = ()) -> None:
        """Take Fernet keys, which must be valid; what encrypts here is derived from them."""
        self._ciphers = dict(map(_derived, keys))
        #: What sentences begin with that are encrypted now; empty without keys.
        self.prefix = f"{_MARK}{next(iter(self._ciphers))}:" if keys else ""

    def sealed(self, text: str) -> str:
        """Return a sentence as it is stored; an empty one, which says that there is no reason, stays empty."""
        if not text or not self._ciphers:
            return text
        first = next(iter(self._ciphers.values()))
        packed = first.encrypt(text.encode(errors="surrogatepass"), None)
        return self.prefix + base64.urlsafe_b64encode(packed).decode()

    def opened(self, stored: str) -> str:
        """Return a sentence as it was before it was stored; a note in its place where no key decrypts it."""
        if not stored.startswith(_MARK):
            return stored
        key_id, _, text = stored.removeprefix(_MARK).rpartition(":")
        try:
            packed = base64.urlsafe_b64decode(text)
        except ValueError:
            return UNREADABLE
        from cryptography.exceptions import InvalidTag

        for name, cipher in self._ciphers.items():
            if key_id not in ("", name):
                continue
            try:
                return cipher.decrypt(packed, None).decode(errors="surrogatepass")
            except (InvalidTag, ValueError):
                continue
        return UNREADABLE


@lru_cache(maxsize=32)
def _derived(key: str) -> tuple[str, "AESSIV"]:
    """Return the id and the cipher of a Fernet key."""
    # Slow to import, and needed with keys alone.
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    hkdf = HKDF(algorithm=SHA256(), length=_KEY_BYTES + _ID_BYTES, salt=None, info=_PURPOSE)
    made = hkdf.derive(base64.urlsafe_b64decode(key))
    return made[_KEY_BYTES:].hex(), AESSIV(made[:_KEY_BYTES])
