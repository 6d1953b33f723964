"""Keys of caches: two different questions never share one."""

import hashlib
from collections.abc import Sequence

import msgpack


def key_of(parts: Sequence[str]) -> str:
    """Return a key for a list of texts: 64 hexadecimal digits, so that no name, which may be a secret, appears in it.

    msgpack writes the length of each text before it: ``["ab", "c"]`` is not ``["a", "bc"]``. UTF-8 with surrogates,
    because any text may come from a template.
    """
    packed: bytes = msgpack.packb([part.encode("utf-8", "surrogatepass") for part in parts])
    return hashlib.sha256(packed).hexdigest()
