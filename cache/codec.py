"""How cached values are written: dogpile's JSON metadata, a bar, and msgpack.

msgpack because a cache server is shared: whoever can write to it must not be able to run code here, as pickle would.
"""

import json
from typing import Any

import msgpack
from dogpile.cache.api import CantDeserializeException

#: No entry was written after this time: seconds since the epoch in the year 5138.
_LATEST = 1e11


def pack(value: Any) -> bytes:
    """Return ``value`` as bytes; tuples come back as lists.

    Raises:
        TypeError: the value holds something other than None, bool, int, float, str, bytes, list, tuple and dict.
    """
    packed: bytes = msgpack.packb(value)
    return packed


def unpack(data: bytes) -> Any:
    """Return the value that ``data`` was made of.

    Raises:
        CantDeserializeException: it was made by something else.
    """
    try:
        return msgpack.unpackb(data, strict_map_key=False)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise CantDeserializeException(str(error)) from error


def has_metadata(entry: object) -> bool:
    """Return whether an entry begins with metadata that dogpile can work with; it does not look itself."""
    if not isinstance(entry, bytes):
        return False
    try:
        metadata = json.loads(entry.partition(b"|")[0])
    except (ValueError, RecursionError):
        return False
    if not isinstance(metadata, dict) or "v" not in metadata:
        return False
    created = metadata.get("ct")
    return isinstance(created, int | float) and 0 <= created < _LATEST
