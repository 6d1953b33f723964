"""Token buckets in memcached, by the clocks of the machines, which must agree to within a second."""

import os
import threading
import time
from collections.abc import Callable
from typing import Final

import pymemcache
from pymemcache.client.retrying import RetryingClient
from pymemcache.exceptions import MemcacheUnexpectedCloseError

from cache.rates.bucket import Draw, drawn

#: How often a state is computed again that another process has changed meanwhile.
_ATTEMPTS: Final = 200


class Contended(Exception):
    """Other processes changed a bucket again and again while this one took from it."""


class MemcachedBuckets:
    """Buckets on one memcached server; a connection for each thread, and after a fork anew."""

    def __init__(
        self, address: str, *, timeout_seconds: float, clock: Callable[[], float] = time.time
    ) -> None:
        """Keep the arguments; ``address`` is host:port."""
        self._address, self._timeout_seconds, self._clock = address, timeout_seconds, clock
        self._own = threading.local()

    def take(self, key: str, draw: Draw) -> float:
        """Take a token, see :class:`cache.rates.buckets.Buckets`."""
        client = self._client()
        for _ in range(_ATTEMPTS):
            stored, version = client.gets(key)
            now = self._clock()
            after, wait = drawn(_read(stored), draw, now)
            if wait > draw.patience_seconds:
                return wait
            state = repr(after).encode()
            if version is None:
                kept = client.add(key, state, draw.life_seconds)
            else:
                kept = client.cas(key, state, version, draw.life_seconds)
            if kept:
                return wait
        raise Contended(key)

    def _client(self) -> RetryingClient:
        if getattr(self._own, "pid", None) != os.getpid():
            connection = pymemcache.Client(
                self._address,
                connect_timeout=self._timeout_seconds,
                timeout=self._timeout_seconds,
                no_delay=True,
                default_noreply=False,
            )
            # A restarted server has closed its connections, which shows only at the next use.
            self._own.client = RetryingClient(
                connection, attempts=2, retry_for=[MemcacheUnexpectedCloseError, ConnectionError]
            )
            self._own.pid = os.getpid()
        client: RetryingClient = self._own.client
        return client


def _read(stored: bytes | None) -> float | None:
    try:
        return None if stored is None else float(stored)
    except ValueError:
        # A foreign value: the bucket begins anew.
        return None
