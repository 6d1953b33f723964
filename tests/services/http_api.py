"""A real HTTP API on loopback that keeps objects, counts what it is asked, and fails as it is told.

Paths alternate between collections and ids: ``/networks``, ``/networks/7``, ``/networks/7/ports``.

==========  ==================  ====================================================================================
method      path                answer
==========  ==================  ====================================================================================
``GET``     a collection        200, ``{"items": [...]}``: those whose fields are what the query says (``?name=a``)
``POST``    a collection        201 with the object and its Location; 200 with the one made before where the header
                                ``Idempotency-Key`` is known and ``honours_keys``
``GET``     an object           200, or 404
``PUT``     an object           200, or 201 where there was none: the body is the object
``PATCH``   an object           200: the body's fields are laid over it
``DELETE``  an object           204, or 202 where deletions take polls; 404
==========  ==================  ====================================================================================

An object is the body it was given, with ``id`` and ``status``: ``building`` for as many looks at it as
``polls_to_build``, then ``ready``, or what ``ends_as`` says; ``deleting`` for as many as ``polls_to_delete``.

Each tenant has objects of its own. Who asks is told by a token (``tokens``: token -> tenant; as ``Authorization:
Bearer``, as ``X-Auth-Token``, or as ``user:password``), where there are any; else by the header ``X-Project``.
"""

import base64
import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from tests.services.cut_server import HOST, CutHandler, CutServer

#: How long a connection may take to end once its socket was shut.
_END_SECONDS = 10.0


class How(Enum):
    """What the API does in place of an answer."""

    ANSWER = "it answers with a status and a body"
    HANG = "it takes the request and says nothing, until `HttpApi.release`"
    CLOSE = "it closes the connection"
    CLOSE_HALF_WAY = "it closes the connection in the middle of the body"
    ENDLESS = "its body has no end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """How a request fails."""

    how: How = How.ANSWER
    status: int = 500
    body: bytes = b'{"error": "out of order"}'
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Whether what was asked for is done all the same: only the answer is lost.
    has_effect: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request as it came in."""

    method: str
    #: Without the query.
    path: str
    query: Mapping[str, str]
    #: By lower-case name.
    headers: Mapping[str, str]
    body: Any
    #: None where nobody knows the token.
    tenant: str | None


@dataclass(slots=True, kw_only=True)
class _Rule:
    fault: Fault
    method: str
    path: str
    tenant: str
    #: How often it still holds; negative for ever.
    times: int

    def fits(self, asked: Asked) -> bool:
        return (
            self.times != 0
            and self.method in ("*", asked.method)
            and fnmatchcase(asked.path, self.path)
            and self.tenant in ("*", asked.tenant)
        )


@dataclass(frozen=True, slots=True)
class _Answer:
    status: HTTPStatus
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Kept:
    """An object."""

    body: dict[str, Any]
    status: str = "ready"
    polls_left: int = 0
    going: bool = False


class HttpApi:
    """The API; its threads run from :meth:`launch` to :meth:`close`, also in turn, on the same port."""

    def __init__(
        self, *, tokens: Mapping[str, str] | None = None, certificate: Path | None = None, port: int = 0
    ) -> None:
        """Make an API; ``certificate`` is a file with a key and its certificate: then it speaks TLS."""
        self.port = port
        self.certificate = certificate
        #: Token -> tenant; empty: nobody needs one.
        self.tokens = dict(tokens or {})
        #: Seconds that every answer takes.
        self.latency_seconds = 0.0
        #: Whether a create with an ``Idempotency-Key`` that is known makes nothing.
        self.honours_keys = True
        #: How many looks at it an object takes to be ``ready``, and to be gone once its deletion was asked for.
        self.polls_to_build = 0
        self.polls_to_delete = 0
        #: The status with which building ends.
        self.ends_as = "ready"
        #: Every request since the start, in the order in which they came in.
        self.requests: list[Asked] = []
        #: How many objects were ever made by POST.
        self.made = 0
        #: The most requests that were under way at once.
        self.most_at_once = 0
        self._under_way = 0
        self._objects: dict[tuple[str, str], _Kept] = {}
        self._keys: dict[tuple[str, str], str] = {}
        self._rules: list[_Rule] = []
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._released = threading.Event()
        self._server: _Server | None = None

    # -- running -----------------------------------------------------------------------------------------------

    def launch(self) -> Self:
        """Listen and answer."""
        self._released.clear()
        self._server = _Server(self, self.port, self.certificate)
        self.port = self._server.server_address[1]
        return self

    def close(self) -> None:
        """Stop: every connection is cut; the objects stay."""
        self._released.set()
        if self._server is not None:
            self._server.end()
            self._server = None

    def __enter__(self) -> Self:
        return self.launch()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The base URL, without a slash at its end."""
        return f"{'https' if self.certificate else 'http'}://{HOST}:{self.port}"

    # -- what a test says and asks -----------------------------------------------------------------------------

    def put(self, path: str, body: Mapping[str, Any] | None = None, *, tenant: str = "") -> None:
        """Let an object be there that nobody made by a request."""
        with self._lock:
            self._objects[tenant, path] = _Kept({"id": path.rpartition("/")[2], **(body or {})})

    def remove(self, path: str, *, tenant: str = "") -> None:
        """Let an object be gone that nobody deleted by a request."""
        with self._lock:
            del self._objects[tenant, path]

    def objects(self, collection: str, *, tenant: str = "") -> dict[str, Any]:
        """Return what there is in a collection, by id."""
        with self._lock:
            return {path.rpartition("/")[2]: kept.body for path, kept in self._in(tenant, collection)}

    def fail(
        self, fault: Fault, *, method: str = "*", path: str = "*", tenant: str = "*", times: int = 1
    ) -> None:
        """Let the next requests of a kind fail; ``path`` is a pattern of the shell, ``times`` below 0 is for ever."""
        with self._lock:
            self._rules.append(_Rule(fault=fault, method=method, path=path, tenant=tenant, times=times))

    def heal(self) -> None:
        """Let nothing fail any more."""
        with self._lock:
            self._rules.clear()
        self.release()

    def release(self) -> None:
        """Let what hangs end, with its connection closed."""
        self._released.set()
        self._released = threading.Event()

    def count(self, method: str = "*", path: str = "*", *, tenant: str = "*") -> int:
        """Count the requests of a kind since the start; ``path`` is a pattern of the shell."""
        rule = _Rule(fault=Fault(), method=method, path=path, tenant=tenant, times=1)
        with self._lock:
            return sum(map(rule.fits, self.requests))

    def counts(self) -> Counter[tuple[str, str]]:
        """Count the requests by method and path."""
        with self._lock:
            return Counter((asked.method, asked.path) for asked in self.requests)

    def forget_requests(self) -> None:
        """Count anew."""
        with self._lock:
            self.requests.clear()
            self.most_at_once = 0

    def wait_for(self, method: str, path: str = "*", *, times: int = 1, seconds: float = 300.0) -> None:
        """Return when so many requests of a kind have come in; fails when they do not in time."""
        rule = _Rule(fault=Fault(), method=method, path=path, tenant="*", times=1)
        with self._changed:
            came = self._changed.wait_for(lambda: sum(map(rule.fits, self.requests)) >= times, seconds)
        assert came, f"there were not {times} of {method} {path} within {seconds} seconds"

    # -- what the handler asks ---------------------------------------------------------------------------------

    def _begin(self, asked: Asked) -> tuple[Fault | None, threading.Event]:
        with self._changed:
            self.requests.append(asked)
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
            self._changed.notify_all()
            rule = next((rule for rule in self._rules if rule.fits(asked)), None)
            if rule is None:
                return None, self._released
            rule.times -= 1
            return rule.fault, self._released

    def _end(self) -> None:
        with self._lock:
            self._under_way -= 1

    def _tenant(self, headers: Mapping[str, str]) -> str | None:
        if not self.tokens:
            return headers.get("x-project", "")
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "basic":
            with suppress(ValueError):
                return self.tokens.get(base64.b64decode(given).decode())
        return self.tokens.get(given if scheme.lower() == "bearer" else headers.get("x-auth-token", ""))

    def _answer(self, asked: Asked) -> _Answer:
        if asked.tenant is None:
            return _Answer(HTTPStatus.UNAUTHORIZED, {"error": "who are you?"}, {"WWW-Authenticate": "Bearer"})
        is_object = asked.path.count("/") % 2 == 0
        ask = getattr(self, f"_{asked.method.lower()}_{'object' if is_object else 'collection'}", None)
        if ask is None:
            return _Answer(HTTPStatus.METHOD_NOT_ALLOWED, {"error": "not here"})
        with self._lock:
            answer: _Answer = ask(asked, asked.tenant)
            return answer

    def _in(self, tenant: str, collection: str) -> Sequence[tuple[str, _Kept]]:
        return [
            (path, kept)
            for (owner, path), kept in self._objects.items()
            if owner == tenant and path.rpartition("/")[0] == collection
        ]

    def _get_collection(self, asked: Asked, tenant: str) -> _Answer:
        found = [_told(kept) for _, kept in self._in(tenant, asked.path)]
        fit = [each for each in found if all(str(each.get(k)) == v for k, v in asked.query.items())]
        return _Answer(HTTPStatus.OK, {"items": fit})

    def _post_collection(self, asked: Asked, tenant: str) -> _Answer:
        if not isinstance(asked.body, dict):
            return _Answer(HTTPStatus.BAD_REQUEST, {"error": "an object is expected"})
        key = asked.headers.get("idempotency-key", "") if self.honours_keys else ""
        before = self._keys.get((tenant, key)) if key else None
        if before is not None:
            return _Answer(HTTPStatus.OK, _told(self._objects[tenant, before]), {"Location": before})
        self.made += 1
        name = str(self.made)
        path = f"{asked.path}/{name}"
        kept = self._objects[tenant, path] = _Kept({"id": name, **asked.body})
        self._build(kept)
        if key:
            self._keys[tenant, key] = path
        return _Answer(HTTPStatus.CREATED, _told(kept), {"Location": path})

    def _build(self, kept: _Kept) -> None:
        kept.polls_left = self.polls_to_build
        kept.status = "building" if kept.polls_left else self.ends_as

    def _get_object(self, asked: Asked, tenant: str) -> _Answer:
        kept = self._objects.get((tenant, asked.path))
        if kept is None:
            return _NOTHING
        if kept.polls_left:
            kept.polls_left -= 1
        elif kept.going:
            del self._objects[tenant, asked.path]
            return _NOTHING
        elif kept.status == "building":
            kept.status = self.ends_as
        return _Answer(HTTPStatus.OK, _told(kept))

    def _put_object(self, asked: Asked, tenant: str) -> _Answer:
        if not isinstance(asked.body, dict):
            return _Answer(HTTPStatus.BAD_REQUEST, {"error": "an object is expected"})
        was = self._objects.get((tenant, asked.path))
        kept = self._objects[tenant, asked.path] = _Kept({"id": asked.path.rpartition("/")[2], **asked.body})
        self._build(kept)
        return _Answer(HTTPStatus.CREATED if was is None else HTTPStatus.OK, _told(kept))

    def _patch_object(self, asked: Asked, tenant: str) -> _Answer:
        kept = self._objects.get((tenant, asked.path))
        if kept is None:
            return _NOTHING
        kept.body.update(asked.body)
        self._build(kept)
        return _Answer(HTTPStatus.OK, _told(kept))

    def _delete_object(self, asked: Asked, tenant: str) -> _Answer:
        kept = self._objects.get((tenant, asked.path))
        if kept is None:
            return _NOTHING
        if not self.polls_to_delete:
            del self._objects[tenant, asked.path]
            return _Answer(HTTPStatus.NO_CONTENT)
        if not kept.going:
            kept.going, kept.status, kept.polls_left = True, "deleting", self.polls_to_delete
        return _Answer(HTTPStatus.ACCEPTED, _told(kept))


_NOTHING = _Answer(HTTPStatus.NOT_FOUND, {"error": "there is no such object"})


def _told(kept: _Kept) -> dict[str, Any]:
    return {**kept.body, "status": kept.status}


class _Server(CutServer):
    block_on_close = True
    closing_seconds = _END_SECONDS

    def __init__(self, api: HttpApi, port: int, certificate: Path | None) -> None:
        self.api = api
        super().__init__(_Handler, port=port, certificate=certificate)


class _Handler(CutHandler):
    server: _Server

    def do_GET(self) -> None:  # noqa: N802  # as the base class wants it
        self._respond()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_GET  # noqa: N815

    def _respond(self) -> None:
        url = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        text = self.rfile.read(int(headers.get("content-length", 0)))
        api = self.server.api
        asked = Asked(
            method=self.command,
            path=url.path.rstrip("/"),
            query=dict(parse_qsl(url.query)),
            headers=headers,
            body=_parsed(text),
            tenant=api._tenant(headers),
        )
        fault, released = api._begin(asked)
        try:
            if api.latency_seconds:
                released.wait(api.latency_seconds)
            answer = api._answer(asked) if fault is None or fault.has_effect else None
            if fault is not None:
                self._fail(fault, released)
            elif answer is not None:
                body = b"" if answer.body is None else json.dumps(answer.body).encode()
                self._send(answer.status, body, answer.headers)
        finally:
            api._end()

    def _fail(self, fault: Fault, released: threading.Event) -> None:
        match fault.how:
            case How.ANSWER:
                self._send(fault.status, fault.body, fault.headers)
                return
            case How.HANG:
                released.wait()
            case How.CLOSE_HALF_WAY:
                self._send(200, fault.body, {"Content-Length": str(len(fault.body) + 100)})
            case How.ENDLESS:
                self._send(200, b"", {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
                while True:
                    self.wfile.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        self.close_connection = True

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        sent = {"Content-Type": "application/json", **headers}
        if not {"Content-Length", "Transfer-Encoding"} & sent.keys() and status != HTTPStatus.NO_CONTENT:
            sent["Content-Length"] = str(len(body))
        self.send_response(status)
        for name, value in sent.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text.decode(errors="replace")
