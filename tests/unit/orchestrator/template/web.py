"""A web server on this machine, for tests that fetch."""

from tests.services.receiver import Received, Receiver, Reply


class Site(Receiver):
    """The pages of a server by path, and the paths that were asked for."""

    def __init__(self) -> None:
        super().__init__(self._page)
        self.pages: dict[str, Reply] = {}

    @property
    def asked(self) -> list[str]:
        return [message.path for message in self.messages]

    def put(self, path: str, body: str) -> str:
        self.pages[path] = Reply(body=body.encode())
        return self.url + path

    def redirect(self, path: str, target: str, *, endless: bool = False) -> str:
        self.pages[path] = Reply(status=302, body=b"x" * 1000, headers={"Location": target}, endless=endless)
        return self.url + path

    def _page(self, message: Received) -> Reply:
        return self.pages.get(message.path, Reply(status=404, body=b"not here"))
