"""The format of cached values: dogpile's JSON metadata, a bar, and msgpack.

msgpack because a cache server is shared: a client with write access must not be able to run code here, as
pickle would.
"""

import json
import time

import msgpack
from dogpile.cache.api import CantDeserializeException
from dogpile.cache.region import value_version

#: No entry was written after this time: seconds since the epoch in the year 5138.
_LATEST = 1e11


def entry_of(value: object) -> bytes:
    """Return the entry of a value; tuples come back as lists.

    Raises:
        TypeError: the value holds something other than None, bool, int, float, str, bytes, list, tuple and dict.
    """
    metadata = {"ct": time.time(), "v": value_version}
    # Text from a template may hold surrogates, which UTF-8 cannot encode.
    return b"%b|%b" % (json.dumps(metadata).encode(), msgpack.packb(value, unicode_errors="surrogatepass"))


def value_in(entry: bytes) -> object:
    """Return the value in an entry.

    Raises:
        CantDeserializeException: :func:`entry_of` did not make it.
    """
    if not has_metadata(entry):
        raise CantDeserializeException("an entry that this program did not write")
    try:
        return msgpack.unpackb(entry.partition(b"|")[2], strict_map_key=False, unicode_errors="surrogatepass")
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise CantDeserializeException(str(error)) from error


def created_at(entry: bytes) -> float:
    """Return when an entry was made, in seconds since the epoch; 0 where that is not recorded."""
    return float(json.loads(entry.partition(b"|")[0])["ct"]) if has_metadata(entry) else 0.0


def has_metadata(entry: bytes) -> bool:
    """Return whether an entry begins with metadata."""
    try:
        metadata = json.loads(entry.partition(b"|")[0])
    except (ValueError, RecursionError):
        return False
    if not isinstance(metadata, dict) or "v" not in metadata:
        return False
    created = metadata.get("ct")
    return isinstance(created, int | float) and 0 <= created < _LATEST
