"""Callers: who sends a request, by the kind of authentication that the API was started with."""

import base64
import binascii
from collections.abc import Callable
from typing import Final

import falcon

from orchestrator.access.authenticators import authenticator_of, local_user
from orchestrator.api.faults import bad_request
from orchestrator.api.kinds import NONE
from orchestrator.config.settings import Settings
from orchestrator.model.comments import COMMENT, is_comment
from orchestrator.model.identity import Identity

#: Returns who sends a request; None for one who is not known.
Identify = Callable[[falcon.Request], Identity | None]

#: The header that says why a request is made.
COMMENT_HEADER: Final = "X-Isotherm-Comment"
#: What keystonemiddleware says of a request whose token it has verified.
_CONFIRMED: Final = "Confirmed"


def identifier_of(kind: str, settings: Settings) -> Identify:
    """Return what identifies callers, of one of :data:`orchestrator.api.kinds.KINDS` but keystone.

    Raises:
        InvalidInput: the authenticator of the settings does not exist, or its settings are wrong.
        PluginMistake: it is no authenticator.
    """
    if kind == NONE:
        everyone = Identity.administrator(local_user())
        return lambda _request: everyone
    authenticator = authenticator_of(settings)
    return lambda request: authenticator.identify(credential_of(request))


def credential_of(request: falcon.Request) -> str:
    """Return the token of a request, in whichever header clients put it; empty for none.

    It is in ``X-Auth-Token``, behind ``Bearer`` in ``Authorization``, or the password of basic authentication; the old
    client of Heat sends a password as ``X-Auth-Key``.
    """
    for header in ("X-Auth-Token", "X-Auth-Key"):
        if value := request.get_header(header):
            return value
    kind, _, value = (request.get_header("Authorization") or "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(value, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def comment_of(request: falcon.Request) -> str:
    """Return why the caller makes a request, by the header :data:`COMMENT_HEADER` in UTF-8; empty for none.

    Raises:
        Refused: it is no comment.
    """
    # WSGI gives the bytes of headers as ISO 8859-1.
    sent = (request.get_header(COMMENT_HEADER) or "").encode("iso-8859-1", "replace")
    comment = sent.decode(errors="replace")
    if "\ufffd" in comment or not is_comment(comment):
        raise bad_request(f"{COMMENT_HEADER}: expected {COMMENT}, in UTF-8")
    return comment


def token_of_keystone(request: falcon.Request) -> str:
    """Return the token of a caller of keystone, with which the caller may delegate; empty for any other caller."""
    if request.env.get("HTTP_X_IDENTITY_STATUS") != _CONFIRMED:
        return ""
    return request.get_header("X-Auth-Token") or ""


def caller_of_keystone(request: falcon.Request) -> Identity | None:
    """Return who sends a request, as ``keystonemiddleware.auth_token`` wrote it into the WSGI environment.

    The middleware removes what a client writes there. What the caller may do is said by rules of ``oslo.policy``.
    """
    if request.env.get("HTTP_X_IDENTITY_STATUS") != _CONFIRMED:
        return None
    return Identity(user=str(request.env.get("HTTP_X_USER_NAME", "")), roles={})
