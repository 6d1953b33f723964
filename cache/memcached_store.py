"""A memcached store for dogpile.cache that gives up in time; dogpile's own waits for a hanging server for ever."""

from collections.abc import Mapping
from typing import Any

import pymemcache
from dogpile.cache.backends.memcached import GenericMemcachedBackend
from pymemcache.client.retrying import RetryingClient
from pymemcache.exceptions import MemcacheUnexpectedCloseError

#: What memcached takes for a span of time; anything longer it takes for a date.
LONGEST_SPAN_SECONDS = 30 * 24 * 60 * 60


class MemcachedStore(GenericMemcachedBackend):
    """One memcached server, a connection for each thread.

    Arguments: ``url`` as host:port, ``timeout_seconds`` for connecting and for each answer, ``expire_seconds`` after
    which the server forgets an entry.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__(arguments)  # type: ignore[no-untyped-call]  # dogpile's own
        self.timeout_seconds: float = arguments["timeout_seconds"]
        self.set_arguments = {"expire": min(arguments["expire_seconds"], LONGEST_SPAN_SECONDS)}

    def _imports(self) -> None:
        """Nothing: the module has imported what it needs."""

    def _create_client(self) -> RetryingClient:
        # Answers are waited for: after a deletion nobody may still read the old value.
        client = pymemcache.Client(
            self.url[0],
            connect_timeout=self.timeout_seconds,
            timeout=self.timeout_seconds,
            no_delay=True,
            default_noreply=False,
        )
        # A server that was restarted has closed its connections, which shows only at the next use.
        return RetryingClient(client, attempts=2, retry_for=[MemcacheUnexpectedCloseError, ConnectionError])
