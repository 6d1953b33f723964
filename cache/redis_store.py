"""A Redis store for dogpile.cache that gives up in time, and forgets in one step."""

from collections.abc import Mapping
from typing import Any

import redis
from dogpile.cache.backends.redis import RedisBackend
from redis.backoff import NoBackoff
from redis.retry import Retry


class RedisStore(RedisBackend):
    """One Redis server.

    Arguments: ``url``, ``timeout_seconds`` for connecting and for each answer, ``expire_seconds`` after which the
    server forgets an entry.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        # A server that was restarted has closed its connections, which shows only at the next use: hence one
        # retry, but none for a server that hangs.
        retry = Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))
        self.expire_seconds: int = arguments["expire_seconds"]
        super().__init__(  # type: ignore[no-untyped-call]  # dogpile's own
            {
                "url": arguments["url"],
                "socket_timeout": arguments["timeout_seconds"],
                "socket_connect_timeout": arguments["timeout_seconds"],
                "connection_kwargs": {"retry": retry},
            }
        )

    def set_serialized(self, key: str, value: bytes) -> None:
        """Keep an entry."""
        self.writer_client.set(key, value, ex=self.expire_seconds)

    def set_serialized_multi(self, mapping: Mapping[str, bytes]) -> None:
        """Keep entries, sent at once."""
        with self.writer_client.pipeline(transaction=False) as pipe:
            for key, value in mapping.items():
                pipe.set(key, value, ex=self.expire_seconds)
            pipe.execute()
