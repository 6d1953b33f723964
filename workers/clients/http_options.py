"""The settings of an HTTP API: its address, its credentials, its time-outs and retries."""

import base64
import os
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
from pydantic import ConfigDict

from hooks.http.options import HttpOptions, web_url
from hooks.values.dataclass import dataclass
from orchestrator.errors import Problem
from orchestrator.plugins.client_plugin import ClientMisconfigured
from orchestrator.plugins.clients import option_fault
from orchestrator.plugins.constraints import Range
from orchestrator.plugins.properties import Property, PropertyError, PropertyType, convert_properties
from orchestrator.plugins.request_rates import RATE_OPTIONS

#: The name of the API that ``[clients.http]`` itself configures.
DEFAULT: Final = "default"

_SECONDS: Final = (Range(0.001, 3600),)


def _text(description: str, default: str | None = None) -> Property:
    return Property(type=PropertyType.STRING, default=default, description=description)


def _number(
    default: float, description: str, *constraints: Range, kind: PropertyType = PropertyType.NUMBER
) -> Property:
    return Property(type=kind, default=default, description=description, constraints=constraints)


_integer: Final = partial(_number, kind=PropertyType.INTEGER)


AUTH_SCHEMA: Final[Mapping[str, Property]] = {
    "user": _text("The user of basic authentication; it needs password_file or password_env."),
    "password_file": _text("A file that holds the password, and nothing else."),
    "password_env": _text("The environment variable that holds the password."),
    "token_file": _text("A file that holds a token, and nothing else."),
    "token_env": _text("The environment variable that holds a token."),
    "header": _text("The header that carries the token; without it, Authorization does, as a bearer token."),
}
#: Options of a single API.
IDENTITY_SCHEMA: Final[Mapping[str, Property]] = {
    "base_url": _text(
        "The address of the API, such as https://api.example.com/v2; paths are appended to it."
    ),
    "auth": Property(
        type=PropertyType.MAP,
        schema=AUTH_SCHEMA,
        description="The credentials. Secrets are in files or environment variables, never here.",
    ),
    "headers": Property(
        type=PropertyType.MAP, default={}, description="Headers of every request, without secrets."
    ),
    "project_header": _text("The header that names the project of the stack to the API; none by default."),
    "shared": Property(
        type=PropertyType.BOOLEAN,
        default=False,
        description="Whether the credentials serve all projects although the API cannot tell these apart.",
    ),
    "verify": Property(
        type=PropertyType.BOOLEAN,
        default=True,
        description="Whether to verify the server's certificate.",
    ),
    "ca_file": _text("A file of trusted certificates; without it, those of the system."),
    "api_version": _text("The version of the API, if it is known."),
    "api_version_path": _text("The path of the version, if it is not known."),
    "api_version_json": _text("The place of the version in the answer (JMESPath).", "version"),
}
#: Options that apply to every API by default.
PATIENCE_SCHEMA: Final[Mapping[str, Property]] = {
    "connect_seconds": _number(5, "How long a connection may take.", *_SECONDS),
    "read_seconds": _number(15, "How long the server may be silent.", *_SECONDS),
    "total_seconds": _number(30, "How long all attempts at a request may take together.", *_SECONDS),
    "max_connections": _integer(
        10,
        "The largest number of connections that a process opens, and keeps, for each project.",
        Range(1, 1000),
    ),
    "retries": _integer(
        2,
        "How often a repeatable request is repeated, within total_seconds. After that, the engine retries.",
        Range(0, 10),
    ),
    "retry_base_seconds": _number(
        0.2,
        "The upper bound of the pause before the first retry; it doubles with each further one.",
        *_SECONDS,
    ),
    "retry_max_seconds": _number(2, "The longest pause, unless the server requests a longer one.", *_SECONDS),
    "max_retry_after_seconds": _number(
        5,
        "The longest pause that a server may request (Retry-After); a longer one ends the attempts.",
        Range(0, 3600),
    ),
    "max_response_bytes": _integer(4 * 1024 * 1024, "Longer answers are refused.", Range(1, 1024**3)),
    **RATE_OPTIONS,
}
API_SCHEMA: Final[Mapping[str, Property]] = {**IDENTITY_SCHEMA, **PATIENCE_SCHEMA}
OPTIONS_SCHEMA: Final[Mapping[str, Property]] = {
    **API_SCHEMA,
    "apis": Property(
        type=PropertyType.MAP,
        default={},
        description="Further APIs by name, with the same options. Each has its own address and credentials; "
        "time-outs, retries and limits default to those of [clients.http].",
    ),
}


_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
#: Headers of the connection and of the credentials.
_OWN_HEADERS: Final = frozenset(
    {
        "authorization",
        "connection",
        "content-length",
        "cookie",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def misconfigured(option: str, message: str, hint: str = "") -> ClientMisconfigured:
    """Return the error of a wrong option of ``[clients.http]``."""
    return ClientMisconfigured([Problem(message=message, path=f"settings.clients.http.{option}", hint=hint)])


def plain_header(name: str) -> str:
    """Return a header's name normalized: many servers ignore case, and take hyphens for underscores."""
    return name.lower().replace("_", "-")


def fault_of_headers(headers: Mapping[str, Any]) -> str:
    """Return the fault of further headers, without their values; empty: none."""
    for name, value in headers.items():
        if not _HEADER.fullmatch(str(name)):
            return f"{str(name)!r} cannot be the name of a header"
        if plain_header(name) in _OWN_HEADERS:
            return f"the header {name!r} belongs to the connection, and cannot be given"
        if not isinstance(value, str):
            return f"the value of the header {name!r} must be a text"
        if not (value.isascii() and value.isprintable()) or value != value.strip():
            return f"the value of the header {name!r} holds what no header can: only printable ASCII may be in it"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The credentials for an API, and where their secret is stored; anonymous where there is none."""

    #: Empty: there is only a token.
    user: str = ""
    #: The header with the token; empty: Authorization.
    header: str = ""
    #: The place of the secret; it is read when needed, and not kept here.
    file: str = ""
    variable: str = ""

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> "Identity":
        """Return the identity of the option ``auth``.

        Raises:
            PropertyError: its parts are inconsistent.
        """
        given_parts = {name: value for name, value in given.items() if value}
        if not given_parts:
            return cls()
        secrets = sorted(name for name in given_parts if name.endswith(("_file", "_env")))
        if len(secrets) > 1:
            raise PropertyError(("auth",), f"there is one secret, found {' and '.join(secrets)}")
        wanted = "password" if "user" in given_parts else "token"
        if not (secrets and secrets[0].startswith(wanted)):
            both = f"expected {wanted}_file or {wanted}_env"
            raise PropertyError(("auth",), f"{both}, found {', '.join(sorted(given_parts))}")
        header = given_parts.get("header", "")
        if header and (fault := _fault_of_token_header(header, given_parts)):
            raise PropertyError(("auth", "header"), fault)
        place = {"file" if secrets[0].endswith("_file") else "variable": given_parts[secrets[0]]}
        return cls(user=given_parts.get("user", ""), header=header, **place)

    @property
    def has_secret(self) -> bool:
        """Whether there are credentials."""
        return bool(self.file or self.variable)

    def read(self) -> str:
        """Return the secret, stripped of white space; empty where there is none.

        Raises:
            ClientMisconfigured: it is missing, or cannot be sent in a header.
        """
        if not self.has_secret:
            return ""
        where = f"the file {self.file!r}" if self.file else f"the environment variable {self.variable}"
        try:
            text = Path(self.file).read_text(encoding="utf-8") if self.file else os.environ[self.variable]
        except KeyError:
            raise misconfigured("auth", f"{where} is not set, which should hold a secret") from None
        except OSError as error:
            raise misconfigured("auth", f"{where} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError:
            raise misconfigured("auth", f"{where} holds no text in UTF-8") from None
        secret = text.strip()
        if not secret or not secret.isprintable():
            what = "more than one line, or what cannot be printed" if secret else "nothing"
            raise misconfigured("auth", f"{where} should hold a secret, and holds {what}")
        return secret

    def headers(self, secret: str) -> dict[str, str]:
        """Return the authentication headers."""
        if self.user:
            pair = base64.b64encode(f"{self.user}:{secret}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
        if self.header:
            return {self.header: secret}
        return {"Authorization": f"Bearer {secret}"} if secret else {}


def _fault_of_token_header(header: str, given_parts: Mapping[str, Any]) -> str:
    if "user" in given_parts:
        return "a user and a password are sent as basic authentication, in no other header"
    return "" if plain_header(header) == "authorization" else fault_of_headers({header: ""})


class ApiOptions(HttpOptions):
    """The options of one API."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str
    base_url: httpx.URL
    identity: Identity
    headers: dict[str, str]
    project_header: str = ""
    shared: bool = False
    api_version: str = ""
    api_version_path: str = ""
    api_version_json: str
    read_seconds: float
    max_connections: int
    max_retry_after_seconds: float
    requests_per_second: float
    burst: int

    @classmethod
    def parse(cls, name: str, given: Mapping[str, Any]) -> "ApiOptions":
        """Return the options, validated by the schema.

        Raises:
            PropertyError: with the path of the wrong option.
        """
        converted = convert_properties(API_SCHEMA, given)
        given_parts = {name: value for name, value in converted.items() if value is not None}
        for option in ("headers", "project_header"):
            headers = given_parts.get(option) or {}
            if fault := fault_of_headers({headers: ""} if isinstance(headers, str) else headers):
                raise PropertyError((option,), fault)
        identity = Identity.parse(given_parts.pop("auth", {}))
        base_url = _parsed_url(given_parts.pop("base_url", ""))
        return cls(name=name, identity=identity, base_url=base_url, **given_parts)

    @property
    def own_headers(self) -> frozenset[str]:
        """The headers that templates must not give, as :func:`plain_header` normalizes them."""
        names = {*self.headers, self.identity.header, self.project_header} - {""}
        return _OWN_HEADERS | {plain_header(name) for name in names}


def _parsed_url(text: str) -> httpx.URL:
    try:
        url = web_url(text, "https://api.example.com/v2")
    except ValueError as error:
        raise PropertyError(("base_url",), str(error)) from None
    if url.userinfo:
        raise PropertyError(("base_url",), "a user and a password belong into auth, where they are not shown")
    if url.query or url.fragment:
        raise PropertyError(("base_url",), "a base URL has neither a query nor a fragment")
    return url


def apis_of(options: Mapping[str, Any]) -> dict[str, ApiOptions]:
    """Return the configured APIs.

    Raises:
        ClientMisconfigured: there is none, or its options are wrong; the message names which.
    """
    try:
        return dict(_apis_of(options))
    except PropertyError as error:
        raise misconfigured(".".join(map(str, error.path)), *option_fault(error)) from error


def _apis_of(options: Mapping[str, Any]) -> Iterator[tuple[str, ApiOptions]]:
    own = {name: value for name, value in options.items() if name != "apis" and value is not None}
    others = convert_properties({"apis": OPTIONS_SCHEMA["apis"]}, {"apis": options.get("apis") or {}})["apis"]
    if own.get("base_url"):
        yield DEFAULT, ApiOptions.parse(DEFAULT, own)
    elif not others:
        raise PropertyError(("base_url",), "a value is required: where is the API?")
    shared = {name: own[name] for name in PATIENCE_SCHEMA if name in own}
    for name, given in others.items():
        path = ("apis", name)
        if name == DEFAULT and own.get("base_url"):
            raise PropertyError(path, "the API of this name is the one that [clients.http] itself describes")
        if ":" in name or "/" in name:
            raise PropertyError(path, "the name of an API holds neither a colon nor a slash")
        if not isinstance(given, Mapping):
            raise PropertyError(path, "expected a map of options")
        try:
            yield name, ApiOptions.parse(name, {**shared, **given})
        except PropertyError as error:
            within = (*path, *error.path)
            raise type(error)(within, error.message, error.hint, veiled=error.veiled) from error
