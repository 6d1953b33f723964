"""Transport of httpx to permitted targets alone.

A host is looked up and its addresses are checked for each request, and the connection goes to an address that was
checked: a second look-up, whose answer another party may have changed meanwhile, is never made. TLS verifies the host's
name all the same. Proxies of the environment are not used, because a proxy looks names up by itself.
"""

import ssl
from typing import Final

import httpx

from hooks.http.look_up import permitted_addresses
from hooks.http.targets import Targets

#: How many addresses of a host are tried: its owner decides how many there are.
_MOST_ADDRESSES: Final = 4
_PORTS: Final = {"http": 80, "https": 443}


def host_and_port(url: httpx.URL) -> tuple[str, int]:
    """Return where a URL of http or https leads, as :class:`Targets` takes it."""
    return url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme]


class PermittedTransport(httpx.BaseTransport):
    """Connects to targets only; for one thread at a time."""

    def __init__(self, targets: Targets, tls: ssl.SSLContext | bool, limits: httpx.Limits) -> None:
        self._targets = targets
        self._inner = httpx.HTTPTransport(verify=tls, limits=limits, trust_env=False)
        self._host = ""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request to the first address of its host that accepts a connection.

        Raises:
            NotATarget: the host may not be connected to, or none of its addresses.
            httpx.HTTPError: it failed.
        """
        host, port = host_and_port(request.url)
        try:
            addresses = permitted_addresses(self._targets, host, port)
        except OSError as error:
            raise httpx.ConnectError(str(error), request=request) from error
        if host != self._host:
            # Connections are kept by address; TLS has verified the name of another host on them.
            self._inner.close()
            self._host = host
        return self._sent(request, addresses[:_MOST_ADDRESSES], {"sni_hostname": host})

    def _sent(
        self, request: httpx.Request, addresses: list[str], extensions: dict[str, str]
    ) -> httpx.Response:
        *others, last = addresses
        for address in others:
            try:
                return self._inner.handle_request(_to(address, request, extensions))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return self._inner.handle_request(_to(last, request, extensions))

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()


def _to(address: str, request: httpx.Request, extensions: dict[str, str]) -> httpx.Request:
    # The header Host keeps the name.
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, **extensions},
    )
