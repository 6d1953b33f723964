"""Requests signed as those of EC2, with signature version 2 in the query or version 4 in a header.

Whoever has the key of a resource may signal that resource and read its metadata, and do nothing else. The access key
says which resource it is; the secret is derived from the resource's own key
(:mod:`orchestrator.model.signed_signals`), so it expires and ends with that.
"""

import base64
import binascii
import hmac
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple, Self
from urllib.parse import quote, urlencode, urlsplit

from hooks.values.dataclass import dataclass
from hooks.values.texts import storable
from orchestrator.model.signed_signals import EXPIRES, KEY

#: Separates what is signed with this secret from what is signed with the resource's key itself.
_LABEL: Final = b"ec2 secret key"
#: How far the time of a request may be from ours, as in AWS.
_WINDOW_SECONDS: Final = 900.0
_UNRESERVED: Final = "-_.~"
_AUTHORIZATION: Final = re.compile(
    r"AWS4-HMAC-SHA256 +Credential=(?P<access>[^/, ]+)/(?P<scope>(?P<day>\d{8})/[^/, ]+/[^/, ]+/aws4_request), *"
    r"SignedHeaders=(?P<headers>[a-z0-9;-]+), *Signature=(?P<signature>[0-9a-f]{64})"
)


class SignedResource(NamedTuple):
    """The resource that an access key is for."""

    project: str
    stack_id: str
    resource: str

    @property
    def access_key(self) -> str:
        """The access key id, of letters, digits, ``-`` and ``_``."""
        return base64.urlsafe_b64encode(json.dumps(self).encode()).decode().rstrip("=")

    @classmethod
    def of(cls, access_key: str) -> Self | None:
        """Return the resource of an access key; None if it is no such key."""
        try:
            padded = access_key.encode("ascii") + b"=" * (-len(access_key) % 4)
            parts = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        except (ValueError, binascii.Error, RecursionError):
            return None
        if not isinstance(parts, list) or len(parts) != len(cls._fields):
            return None
        # What cannot be stored cannot be looked for either.
        return (
            cls(*parts) if all(isinstance(each, str) and each == storable(each) for each in parts) else None
        )


def secret_key(data: Mapping[str, Any]) -> str | None:
    """Return the secret access key of a resource with these data; None if they have no key."""
    return hmac.new(bytes.fromhex(data[KEY]), _LABEL, sha256).hexdigest() if KEY in data else None


def arn(project: str, stack: str, stack_id: str, resource: str = "") -> str:
    """Return the ARN of a resource, or of a stack."""
    parts = ("stacks", stack, stack_id, *(("resources", resource) if resource else ()))
    return f"arn:openstack:heat::{quote(project, safe='')}:" + "/".join(
        quote(each, safe="") for each in parts
    )


def signed_url(
    base: str, data: Mapping[str, Any], *, project: str, stack: str, stack_id: str, resource: str
) -> str | None:
    """Return the address to which a signal is sent with PUT, as ``cfn-signal`` does; None if the data have no key.

    ``base`` is the address of the API, ``https://HOST:PORT/v1``.
    """
    secret = secret_key(data)
    if secret is None:
        return None
    where = urlsplit(base.rstrip("/"))
    path = f"{where.path}/waitcondition/{arn(project, stack, stack_id, resource)}"
    params = {
        "AWSAccessKeyId": SignedResource(project, stack_id, resource).access_key,
        "Expires": datetime.fromtimestamp(data[EXPIRES], UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "SignatureMethod": "HmacSHA256",
        "SignatureVersion": "2",
    }
    # The path is signed as servers see it, which is not quoted.
    signature = _version_2(secret, "PUT", Place(where.netloc.lower(), path), params)
    query = urlencode({**params, "Signature": signature})
    return f"{where.scheme}://{where.netloc.lower()}{quote(path)}?{query}"


class Place(NamedTuple):
    """Where a request is sent: the host, with its port if there is one, and the path, not quoted."""

    host: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRequest:
    """A request with a signature that is still to be verified."""

    method: str
    #: Behind a proxy a request may have been sent to another place than it arrives at; a signature fits one of these.
    places: tuple[Place, ...]
    #: The values of the query, and for version 2 those of a form; each name is there once.
    params: Mapping[str, str]
    #: By name, in lower case.
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def access_key(self) -> str:
        """The access key id; empty if there is none, or no signature of a known version."""
        match = self._authorization
        if match is not None:
            return match["access"]
        is_known = self._is("SignatureVersion", "2") and self._is("SignatureMethod", "HmacSHA256")
        return self.params.get("AWSAccessKeyId", "") if is_known and "Signature" in self.params else ""

    def is_genuine(self, data: Mapping[str, Any], *, now: float, timed: bool) -> bool:
        """Return whether it is signed with the key in a resource's data, and neither that nor the request has expired.

        A request of version 2 may be without ``Timestamp`` and ``Expires``, unless it must be ``timed``: it can be
        repeated as long as there is the key.
        """
        secret = secret_key(data)
        if secret is None or now >= data[EXPIRES] or not self._is_current(now, timed=timed):
            return False
        given = self._given
        return any(hmac.compare_digest(self._signature(secret, each), given) for each in self.places)

    def _is(self, name: str, value: str) -> bool:
        return self.params.get(name) == value

    @property
    def _authorization(self) -> re.Match[str] | None:
        return _AUTHORIZATION.fullmatch(self.headers.get("authorization", ""))

    @property
    def _given(self) -> bytes:
        match = self._authorization
        return (match["signature"] if match is not None else self.params.get("Signature", "")).encode()

    def _is_current(self, now: float, *, timed: bool) -> bool:
        if self._authorization is not None:
            made: str | None = self.headers.get("x-amz-date", "")
            expires = None
        else:
            made, expires = self.params.get("Timestamp"), self.params.get("Expires")
        try:
            return (
                (not timed or made is not None or expires is not None)
                and (made is None or abs(now - _seconds(made)) < _WINDOW_SECONDS)
                and (expires is None or now < _seconds(expires))
            )
        except (ValueError, OverflowError):
            return False

    def _signature(self, secret: str, place: Place) -> bytes:
        match = self._authorization
        if match is not None:
            return self._version_4(secret, place, match).encode()
        params = {name: each for name, each in self.params.items() if name != "Signature"}
        return _version_2(secret, self.method, place, params).encode()

    def _version_4(self, secret: str, place: Place, given: re.Match[str]) -> str:
        headers = {**self.headers, "host": place.host}
        names = given["headers"].split(";")
        date = self.headers["x-amz-date"]
        if not {"host", "x-amz-date"} <= set(names) or not date.startswith(given["day"]):
            return ""
        canonical = "\n".join(
            (
                self.method,
                quote(place.path),
                _canonical_query(self.params),
                *(f"{name}:{' '.join(headers.get(name, '').split())}" for name in names),
                "",
                given["headers"],
                sha256(self.body).hexdigest(),
            )
        )
        digest = sha256(canonical.encode()).hexdigest()
        key = f"AWS4{secret}".encode()
        for part in given["scope"].split("/"):
            key = _hmac(key, part)
        return _hmac(key, "\n".join(("AWS4-HMAC-SHA256", date, given["scope"], digest))).hex()


def _version_2(secret: str, method: str, place: Place, params: Mapping[str, str]) -> str:
    text = "\n".join((method, place.host, place.path, _canonical_query(params)))
    return base64.b64encode(_hmac(secret.encode(), text)).decode()


def _canonical_query(params: Mapping[str, str]) -> str:
    pairs = sorted(
        (quote(name, safe=_UNRESERVED), quote(each, safe=_UNRESERVED)) for name, each in params.items()
    )
    return "&".join(f"{name}={each}" for name, each in pairs)


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), sha256).digest()


def _seconds(text: str) -> float:
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
