"""Serve a directory over HTTP, and ``/admin`` only to who knows the password.

It needs nothing but Python, since it is copied to where it runs::

    python3 server.py site.json

The file names ``port``, ``user``, ``password`` and ``directory``, which starts where the file is.
"""

import base64
import binascii
import hmac
import json
import sys
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit


class SiteHandler(SimpleHTTPRequestHandler):
    """Answers with files, and under ``/admin`` with a page of its own."""

    def __init__(self, *arguments: object, credentials: str, **options: object) -> None:
        self._credentials = credentials.encode()
        super().__init__(*arguments, **options)  # type: ignore[arg-type]  # as the base class has them

    def send_head(self) -> object:  # type: ignore[override]  # anything that can be copied from
        """Guard ``/admin``; the base class does the rest."""
        if urlsplit(self.path).path.rstrip("/") != "/admin":
            return super().send_head()
        if self._is_admin():
            self._answer(HTTPStatus.OK, "Welcome, administrator.\n")
        else:
            self._answer(HTTPStatus.UNAUTHORIZED, "The administrator's password, please.\n")
        return None

    def _is_admin(self) -> bool:
        scheme, _, given = self.headers.get("Authorization", "").partition(" ")
        try:
            decoded = base64.b64decode(given, validate=True)
        except (binascii.Error, ValueError):
            return False
        return scheme.lower() == "basic" and hmac.compare_digest(decoded, self._credentials)

    def _answer(self, status: HTTPStatus, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        if status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", 'Basic realm="site"')
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def main(configuration: str) -> None:
    """Serve until a signal comes."""
    file = Path(configuration).resolve()
    site = json.loads(file.read_text(encoding="utf-8"))
    handler = partial(
        SiteHandler,
        directory=str(file.parent / site["directory"]),
        credentials=f"{site['user']}:{site['password']}",
    )
    with ThreadingHTTPServer(("127.0.0.1", site["port"]), handler) as server:
        server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
