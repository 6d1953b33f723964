"""Listeners of a dashboard's streams, many in one process, that note when they heard what."""

import asyncio
import json
import time
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlsplit


@dataclass(slots=True)
class Listener:
    """One stream, and what came of it."""

    url: str
    #: By id, how long after it was written an event was heard, in seconds; the clocks are the same one.
    delays: dict[int, float] = field(default_factory=dict)
    resyncs: int = 0
    _rest: bytes = b""

    async def listen(self) -> None:
        """Listen until it is cancelled."""
        where = urlsplit(self.url)
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        try:
            writer.write(f"GET {where.path} HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
            # Every message comes as one chunk, or some.
            while size := int(await reader.readline(), 16):
                self._take((await reader.readexactly(size + 2))[:-2])
        finally:
            writer.close()

    def _take(self, chunk: bytes) -> None:
        now = time.time()
        *messages, self._rest = (self._rest + chunk).split(b"\n\n")
        for message in messages:
            if message.startswith(b"event: events"):
                for event in json.loads(message.rpartition(b"\ndata: ")[2]):
                    happened = datetime.fromisoformat(event["at"]).timestamp()
                    self.delays.setdefault(event["id"], now - happened)
            elif message.startswith(b"event: resync"):
                self.resyncs += 1


class Audience:
    """Many listeners at once."""

    def __init__(self, url: str, count: int) -> None:
        self.listeners = [Listener(url) for _ in range(count)]
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "Audience":
        self._tasks = [asyncio.create_task(each.listen()) for each in self.listeners]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)

    async def heard(self, newest: int, *, seconds: float = 300.0) -> None:
        """Wait until all have heard of an event.

        Raises:
            TimeoutError: some have not, in time.
            Exception: a listener could not go on.
        """
        async with asyncio.timeout(seconds):
            while not all(newest in each.delays for each in self.listeners):
                await asyncio.sleep(0.02)
                for task in self._tasks:
                    if task.done():
                        task.result()
