"""Our scripts and styles, compressed once for all browsers."""

import asyncio
import gzip
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Final

from tornado.web import StaticFileHandler

from orchestrator.dashboard.handlers.base import without_nul
from orchestrator.dashboard.packing import is_accepted

#: More than there are.
_MOST_FILES: Final = 512


class StaticHandler(StaticFileHandler):
    """Our scripts and styles, which browsers revalidate at each use.

    Modules import each other without a version: with caching, modules of two versions would be mixed after an upgrade.
    Each file is compressed once: the program that lays graphs out has 1.6 MB, and no page would be answered meanwhile.
    """

    def parse_url_path(self, url_path: str) -> str:
        """Return the path of a file in the system's notation.

        Raises:
            HTTPError: the address has a NUL.
        """
        return super().parse_url_path(without_nul(url_path))

    def set_extra_headers(self, path: str) -> None:  # noqa: ARG002  # as in Tornado
        """Allow caching with revalidation."""
        self.set_header("Cache-Control", "no-cache")

    async def get(self, path: str, include_body: bool = True) -> None:  # as in Tornado
        """Send a file: compressed if the browser accepts it and wants all of it.

        Raises:
            HTTPError: there is no such file.
        """
        if not include_body or "Range" in self.request.headers or not is_accepted(self.request):
            await super().get(path, include_body)
            return
        self.path = self.parse_url_path(path)
        self.absolute_path = self.validate_absolute_path(
            self.root, self.get_absolute_path(self.root, self.path)
        )
        if self.absolute_path is None:
            return
        self.modified = self.get_modified_time()
        self.set_headers()
        if self.should_return_304():
            self.set_status(HTTPStatus.NOT_MODIFIED)
            return
        self.set_header("Content-Encoding", "gzip")
        changed_ns = Path(self.absolute_path).stat().st_mtime_ns
        self.write(await asyncio.to_thread(_compressed, self.absolute_path, changed_ns))


@lru_cache(_MOST_FILES)
def _compressed(path: str, changed_ns: int) -> bytes:  # noqa: ARG001  # a part of the key
    """Return a file's content with gzip; a changed file is compressed anew."""
    return gzip.compress(Path(path).read_bytes(), mtime=0)
