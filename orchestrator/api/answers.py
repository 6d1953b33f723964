"""Answers on their way out: compressed where the client takes that, and not sent again where the client has them."""

import gzip
import hashlib
import re
from http import HTTPStatus
from typing import Final

import falcon

from orchestrator.model.signed_signals import QUERY_SIGNATURE

#: Answers of at most so many bytes are sent as they are: they fit into one packet.
SMALL_BYTES: Final = 1024
#: JSON hardly gets smaller at a higher one, and takes longer.
_LEVEL: Final = 4
_NO_WEIGHT: Final = re.compile(r"q=0(\.0*)?")


class Answers:
    """Gives answers of resources with ``has_etag`` a tag, and compresses large ones."""

    def process_response(
        self,
        request: falcon.Request,
        response: falcon.Response,
        resource: object,
        succeeded: bool,
    ) -> None:
        """Answer 304 if the client has the answer already; else compress it, if the client takes gzip."""
        body = response.render_body()
        if body is None:
            return
        has_tag = getattr(resource, "has_etag", False) and succeeded and request.method == "GET"
        is_packed = False
        if len(body) > SMALL_BYTES and not request.has_param(QUERY_SIGNATURE):
            response.append_header("Vary", "Accept-Encoding")
            is_packed = takes_gzip(request.get_header("Accept-Encoding") or "")
        if has_tag:
            # A strong tag is that of one encoding.
            tag = falcon.ETag(hashlib.sha256(body).hexdigest() + ("-gzip" if is_packed else ""))
            response.etag = tag
            # The caller's role is required each time, and no proxy keeps what may be secret.
            response.cache_control = ("private", "no-cache")
            if any(each in ("*", tag) for each in request.if_none_match or ()):
                response.status = HTTPStatus.NOT_MODIFIED
                response.text = response.data = response.media = response.content_type = None
                return
        if is_packed:
            response.text, response.data = None, gzip.compress(body, _LEVEL, mtime=0)
            response.set_header("Content-Encoding", "gzip")


def takes_gzip(accepted: str) -> bool:
    """Return whether a client that sends this ``Accept-Encoding`` takes gzip."""
    weights = {}
    for each in accepted.lower().split(","):
        name, _, weight = each.partition(";")
        weights[name.strip()] = weight.replace(" ", "")
    return not _NO_WEIGHT.fullmatch(weights.get("gzip", weights.get("*", "q=0")))
