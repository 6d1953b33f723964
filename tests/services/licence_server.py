"""The licence server of ``examples/licence`` on loopback, whose connections break as a test says."""

import importlib.util
import json
import threading
from collections.abc import Callable, Mapping
from enum import Enum
from http.server import ThreadingHTTPServer
from types import ModuleType
from typing import Any, Self

from hooks.builtin.license import License, LicenseOptions
from tests.services.process import READY_SECONDS
from tests.unit.docs.pages import ROOT

SECRET = "a secret that both sides know"
FILE = ROOT / "examples" / "licence" / "server.py"


class Break(Enum):
    """What becomes of a message."""

    NOTHING = "it is answered"
    LOST = "it never arrives"
    UNANSWERED = "it arrives, and its answer is lost"
    UNWANTED = "it is not understood"


def _loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example_licence_server", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


EXAMPLE = _loaded()


class LicenceServer:
    """The server; ``breaking`` says of each message what becomes of it."""

    def __init__(self, totals: Mapping[str, int], *, database: str = ":memory:") -> None:
        self.licences = EXAMPLE.Licences(database, dict(totals))
        self.breaking: Callable[[Mapping[str, Any]], Break] = lambda _: Break.NOTHING
        #: What came in, whatever became of it.
        self.messages: list[Mapping[str, Any]] = []
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        watched = self

        class Handler(EXAMPLE.Handler):  # type: ignore[misc,name-defined]  # it comes from a file that is loaded here
            def _take(self, body: bytes) -> None:
                said = json.loads(body)
                watched.messages.append(said)
                becomes = watched.breaking(said)
                if becomes is Break.LOST:
                    self.close_connection = True
                    return
                if becomes is Break.UNANSWERED:
                    self._answer = self._say_nothing
                super()._take(b"" if becomes is Break.UNWANTED else body)

            def _say_nothing(self, *_: object) -> None:
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = EXAMPLE.serve(self.licences, [SECRET], 0)
        self._server.RequestHandlerClass = type(
            "Bound", (Handler,), {"licences": self.licences, "secrets": [SECRET]}
        )
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        assert self._thread is not None
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The base URL."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def held(self, stack_id: str) -> dict[str, int]:
        """Return how many licences a stack holds, by type."""
        return dict(self.licences.shown().get(stack_id, {}))

    def plugin(self, **options: Any) -> License:
        """Return a plugin that asks this server as long as it takes, once each time unless ``retries`` says more."""
        said = {"url": self.url, "secrets": (SECRET,), "types": ("Cloud::*",), "retries": 0, **options}
        made = License(LicenseOptions.model_validate({"total_seconds": READY_SECONDS, **said}))
        made.time_limit_seconds = 2 * READY_SECONDS
        return made
