"""Credentials of requests, for the authenticator of the settings: a bearer's token, or a browser's password."""

from base64 import b64decode
from typing import Any, Final

from tornado.httputil import HTTPHeaders, HTTPServerRequest

from orchestrator.access.authenticators import Authenticator
from orchestrator.config.logger import get_logger
from orchestrator.errors import typed_message
from orchestrator.model.identity import Identity

log = get_logger()

#: Why a request without a known token is refused.
REFUSED: Final = (
    "a token is needed: as Authorization: Bearer TOKEN, or as the password of any name; "
    "see 'isotherm token create'"
)
#: The attribute of a request that was identified.
_IDENTITY: Final = "isotherm_identity"


def identify(request: HTTPServerRequest, authenticator: Authenticator) -> Identity | None:
    """Return who has the credential of a request, which is kept with it; None if it is unknown."""
    try:
        found = authenticator.identify(credential_in(request.headers))
    except Exception as error:  # noqa: BLE001  # a plugin may raise anything; the request is refused
        log.error("visitors cannot be identified", error=typed_message(error))
        found = None
    vars(request)[_IDENTITY] = found
    return found


def identity_of(request: HTTPServerRequest) -> Identity | None:
    """Return who was identified by :func:`identify`; None where the dashboard's own login decides."""
    found: Any = vars(request).get(_IDENTITY)
    return found if isinstance(found, Identity) else None


def credential_in(headers: HTTPHeaders) -> str:
    """Return the token in the headers of a request; empty if there is none."""
    kind, _, value = headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    try:
        return b64decode(value.strip().encode(), validate=True).decode().partition(":")[2]
    except ValueError:
        return ""
