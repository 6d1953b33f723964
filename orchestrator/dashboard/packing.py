"""Compression of answers: scripts, styles, pages and data are sent with gzip where the browser accepts it."""

from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.web import GZipContentEncoding


class Packing(GZipContentEncoding):
    """Compresses an answer as Tornado does, but no part of a file: its range counts the bytes of the file as it is."""

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Begin an answer, compressed or as it is."""
        if "Content-Range" in headers:
            self._gzipping = False
        return super().transform_first_chunk(status_code, headers, chunk, finishing)


def is_accepted(request: HTTPServerRequest) -> bool:
    """Return whether the browser accepts gzip, by the rule of :class:`Packing`."""
    return "gzip" in request.headers.get("Accept-Encoding", "")
