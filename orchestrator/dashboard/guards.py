"""Headers of every answer of the dashboard, which keep other sites out.

The application adds them to what any handler sends, be it ours, Flower's or Tornado's: no route can be without them.
"""

from base64 import b64encode
from hashlib import sha256
from typing import Final

from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.web import OutputTransform


def _hash_of(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _policy(*, script: str, style: str) -> str:
    # Images may be in style sheets as ``data:`` URLs, as Bootstrap's are.
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self'{script}",
            f"style-src 'self'{style}",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


#: The one style rule that Cytoscape.js inserts into a page; it is allowed by its hash.
CYTOSCAPE_STYLE: Final = ".__________cytoscape_container { position: relative; }"
#: The scripts on Flower's page of workers, without and with updates, and the style of a column of a worker's page.
FLOWER_SCRIPTS: Final = tuple(f"\nvar autorefresh = {each};\n" for each in (0, 1))
FLOWER_STYLE: Final = "width: 125px;"
#: The policy of our pages.
POLICY: Final = _policy(script="", style=f" {_hash_of(CYTOSCAPE_STYLE)}")
#: That of Flower's pages, which have a script and a style in them; each is allowed by its hash.
FLOWER_POLICY: Final = _policy(
    script="".join(f" {_hash_of(each)}" for each in FLOWER_SCRIPTS),
    style=f" 'unsafe-hashes' {_hash_of(FLOWER_STYLE)}",
)
_HEADERS: Final = {
    "Content-Security-Policy": FLOWER_POLICY,
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
#: The headers by which Flower lets other sites read; only its API keeps them.
_CORS_HEADERS: Final = tuple(f"Access-Control-Allow-{each}" for each in ("Origin", "Headers", "Methods"))


class Guards(OutputTransform):
    """Adds the headers to an answer; what its handler sets by itself, such as a stricter policy, has precedence."""

    def __init__(self, request: HTTPServerRequest, *, api: str) -> None:
        """Keep the arguments; ``api`` is the beginning of all paths of Flower's API."""
        self._is_api = request.path.startswith(api)

    def transform_first_chunk(
        self,
        status_code: int,
        headers: HTTPHeaders,
        chunk: bytes,
        finishing: bool,  # noqa: ARG002  # as in Tornado
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Return the answer with the headers."""
        for name, value in _HEADERS.items():
            headers.setdefault(name, value)
        # Only files have a date: they hold nothing secret, and would be fetched again for each page.
        if "Last-Modified" not in headers:
            headers.setdefault("Cache-Control", "no-store")
        for name in () if self._is_api else _CORS_HEADERS:
            headers.pop(name, None)
        return status_code, headers, chunk
