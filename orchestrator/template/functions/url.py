"""Functions that return URLs: make_url."""

from collections.abc import Iterator
from typing import Any, ClassVar, Final
from urllib.parse import quote, urlencode, urlunsplit

from orchestrator.definition import StackDefinition
from orchestrator.template.functions.base import (
    LATER,
    Departure,
    Example,
    Function,
    FunctionError,
    kind_of,
)
from orchestrator.template.functions.bounds import Extent, check_length
from orchestrator.template.functions.numbers import as_whole
from orchestrator.template.versions import PIKE, Lifetime

_TEXTS: Final = ("scheme", "username", "password", "host", "path", "fragment")
_PARTS: Final = ("scheme", "username", "password", "host", "port", "path", "query", "fragment")
_PORTS: Final = range(1, 2**16)


class MakeUrl(Function):
    """``make_url: {scheme: text, host: text, port: number, path: text, query: map}``: a URL made of its parts.

    The parts are scheme, username, password, host, port, path, query and fragment; all may be left out, none may be
    null. Characters with a meaning in URLs are percent-encoded: all of them in username and password, all but slashes
    in path and fragment; in the query a space becomes ``+``. An IPv6 address may be in brackets or without. The port
    is a number from 1 to 65535, or text that is one. In the query a null is an empty text, and numbers and booleans
    are written out.
    """

    name = "make_url"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "a wrong `fragment` beside a `query`",
            "not noticed",
            "refused",
        ),
    )
    lifetime = Lifetime(PIKE)
    pure = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "make_url: {scheme: https, username: me, password: 'p@ss', host: example.org, port: 8443, path: /a b}",
            "https://me:p%40ss@example.org:8443/a%20b",
        ),
        Example(
            "make_url: {scheme: http, host: '2001:db8::1', query: {q: 'a&b c', page: 2}, fragment: top}",
            "http://[2001:db8::1]?q=a%26b+c&page=2#top",
        ),
    )

    def check(self) -> None:
        if not isinstance(self.arguments, dict):
            raise FunctionError(f"expected a map of a URL's parts, found {kind_of(self.arguments)}")
        for name in self.arguments:
            if name not in _PARTS:
                hint = self.scope.nearest.hint(name, _PARTS, f"expected one of: {', '.join(_PARTS)}")
                raise FunctionError(f"a URL has no part {name!r}", path=(name,), hint=hint)
        _check_parts(self.arguments)

    def call(self, arguments: dict[str, object], stack: StackDefinition) -> str:
        _check_parts(arguments)
        parts: dict[str, Any] = {**dict.fromkeys(_TEXTS, ""), "query": {}, **arguments}
        # Encoding makes at most twelve characters of one: this bounds intermediate results.
        check_length(Extent.of(parts).characters)
        try:
            url: str = urlunsplit(
                (
                    parts["scheme"],
                    "".join(_authority(parts)),
                    quote(parts["path"]),
                    urlencode({key: _as_text(value) for key, value in parts["query"].items()}, safe="/"),
                    quote(parts["fragment"]),
                )
            )
        except UnicodeEncodeError:
            raise FunctionError("half of a surrogate pair is no character") from None
        check_length(len(url))
        return url


def _check_parts(parts: dict[str, object]) -> None:
    for name, value in parts.items():
        if isinstance(value, LATER):
            continue
        if name == "port":
            _check_port(value)
        elif name == "query":
            _check_query(value)
        elif not isinstance(value, str):
            raise FunctionError(f"expected text, found {kind_of(value)}", path=(name,))
        elif name == "scheme" and ":" in value:
            raise FunctionError(
                "a scheme cannot have a ':'", path=(name,), hint="write 'http', not 'http://'"
            )


def _check_port(value: object) -> None:
    port = as_whole(value)
    if port is None:
        raise FunctionError(f"expected a port's number, found {kind_of(value)}", path=("port",))
    if port not in _PORTS:
        raise FunctionError("a port's number is between 1 and 65535", path=("port",))


def _check_query(value: object) -> None:
    if not isinstance(value, dict):
        raise FunctionError(f"expected a map, found {kind_of(value)}", path=("query",))
    for key, item in value.items():
        if isinstance(item, (dict, list)):
            raise FunctionError(f"expected text or a number, found {kind_of(item)}", path=("query", key))


def _as_text(value: object) -> str:
    return "" if value is None else str(value)


def _authority(parts: dict[str, Any]) -> Iterator[str]:
    username, password = (quote(parts[name], safe="") for name in ("username", "password"))
    if username or password:
        yield username
        if password:
            yield f":{password}"
        yield "@"
    host = parts["host"]
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    host = quote(host, safe=":")
    yield f"[{host}]" if ":" in host else host
    if "port" in parts:
        yield f":{as_whole(parts['port'])}"
