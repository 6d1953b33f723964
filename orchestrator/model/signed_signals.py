"""Signals by signed addresses: who knows the address may signal one resource, until a time, and nothing else.

The key of a signature is the resource's own, random and kept with it: an address ends with its resource, and a key that
leaks opens nothing else.
"""

import hmac
import secrets
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote, urlencode

#: The fields of a resource's data: its key, and the time at which its address expires, in seconds since the epoch.
KEY: Final = "signal_key"
EXPIRES: Final = "signal_expires"
#: The names in the query of an address.
QUERY_EXPIRES: Final = "expires"
QUERY_SIGNATURE: Final = "signature"
_KEY_BYTES: Final = 32


def new_key(expires: float) -> dict[str, Any]:
    """Return what is added to the data of a resource whose address expires at a time."""
    return {KEY: secrets.token_hex(_KEY_BYTES), EXPIRES: int(expires)}


def signed_address(
    base: str, data: Mapping[str, Any], *, project: str, stack: str, stack_id: str, resource: str
) -> str | None:
    """Return the address that signals a resource; None if its data has no key.

    ``base`` is the address of the API, ``https://HOST:PORT/v1``.
    """
    if KEY not in data:
        return None
    path = "/".join(
        quote(part, safe="") for part in (project, "stacks", stack, stack_id, "resources", resource)
    )
    expires = data[EXPIRES]
    query = {QUERY_EXPIRES: expires, QUERY_SIGNATURE: _signature(data[KEY], stack_id, resource, expires)}
    return f"{base.rstrip('/')}/{path}/signal?{urlencode(query)}"


def is_genuine(
    data: Mapping[str, Any], *, stack_id: str, resource: str, expires: str, signature: str, now: float
) -> bool:
    """Return whether a signature is that of a resource's address, and has not expired; ``data`` is the resource's."""
    if KEY not in data or expires != str(data[EXPIRES]) or now >= data[EXPIRES]:
        return False
    expected = _signature(data[KEY], stack_id, resource, data[EXPIRES])
    return hmac.compare_digest(expected.encode(), signature.encode())


def _signature(key: str, stack_id: str, resource: str, expires: int) -> str:
    message = "\n".join((stack_id, resource, str(expires)))
    return hmac.new(bytes.fromhex(key), message.encode(), sha256).hexdigest()
