"""The sender of signed JSON over HTTP.

A message may arrive twice: an attempt whose answer was lost is repeated. So messages carry a key by which the
receiver recognizes duplicates.
"""

import json
import math
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

import httpx

from hooks.http.client import BoundedClient, Request
from hooks.http.options import SenderOptions
from hooks.http.outcome import Answer, RequestFailed, one_line
from hooks.http.signing import HEADER, signature
from hooks.http.targets import Targets
from hooks.values.masking import without


class SignedSender:
    """Sends signed messages to one server; thread-safe."""

    def __init__(
        self,
        options: SenderOptions,
        *,
        targets: Targets | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Prepare the connection; nothing is sent yet.

        With ``targets``, messages are sent to these alone; without, wherever the options say.

        Raises:
            ValueError: a file of secrets or certificates is invalid.
        """
        self.options = options
        self._clock = clock
        self._base = httpx.URL(options.url)
        self._known = options.all_secrets()
        try:
            secure = self._base.scheme == "https"
            self._client = BoundedClient(options, secure=secure, targets=targets, sleep=sleep)
        except ValueError as error:
            raise ValueError(f"ca_file: no certificates can be loaded from {error}") from None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.where})"

    @property
    def where(self) -> str:
        """The server's address for messages: without path and query, which may hold a secret."""
        return str(self._base.copy_with(raw_path=b"/")).rstrip("/")

    def close(self) -> None:
        """Close the idle connections; sending opens new ones."""
        self._client.close()

    def send(
        self,
        document: Any,
        *,
        method: str = "POST",
        path: str = "",
        headers: Mapping[str, str] | None = None,
        accept: Collection[int] = (),
        within_seconds: float = math.inf,
    ) -> Answer:
        """Send a document of plain types as JSON and return the answer; see :class:`Request`.

        ``path`` comes after the URL's own path: it begins with a slash and is quoted already.

        Raises:
            RequestFailed: it failed, but the server may have received it, once or more often.
            ValueError: the document holds a number that JSON cannot express.
        """
        body = json.dumps(document, allow_nan=False).encode()
        request = Request(
            method=method,
            url=self._base.copy_with(path=self._base.path.rstrip("/") + path) if path else self._base,
            content=body,
            headers={"Content-Type": "application/json", **(headers or {})},
            signed=lambda: self._signed(body),
            accept=accept,
            within_seconds=within_seconds,
        )
        try:
            return self._client.send(request)
        except RequestFailed as error:
            words = self.shown(error.answer.words()) if error.answer else ""
            sentence = f"{method} {self.where}: {error}{': ' if words else ''}{words}"
            raise RequestFailed(sentence, error.status, passing=error.passing, answer=error.answer) from None

    def _signed(self, body: bytes) -> Mapping[str, str]:
        try:
            self._known = self.options.all_secrets()
        except ValueError as error:
            raise RequestFailed(f"it cannot be signed: {error}") from None
        return {HEADER: signature(self._known, body, int(self._clock()))}

    def shown(self, text: str) -> str:
        """Return a server's message for display: on one line, truncated, and without this sender's secrets."""
        return one_line(without(text, self._known))
