"""A web server on this machine, for tests that fetch."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Page:
    """What the server answers."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Whether the body is repeated until the client goes away.
    endless: bool = False


class Site:
    """The pages of a server by path, and the paths that were asked for."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.pages: dict[str, Page] = {}
        self.asked: list[str] = []

    def put(self, path: str, body: str) -> str:
        self.pages[path] = Page(body.encode())
        return self.url + path

    def redirect(self, path: str, target: str, *, endless: bool = False) -> str:
        body = b"x" * 1000
        self.pages[path] = Page(body, 302, {"Location": target}, endless=endless)
        return self.url + path


@contextmanager
def serving() -> Iterator[Site]:
    """Serve pages, to be put in, on a port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            page = site.pages.get(self.path, Page(b"not here", 404))
            self.send_response(page.status)
            if not page.endless and "Content-Length" not in page.headers:
                self.send_header("Content-Length", str(len(page.body)))
            for name, value in page.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(page.body)
                while page.endless:
                    self.wfile.write(page.body)
            except OSError:
                pass

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - as the handler calls it
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = Site(server.server_port)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
