"""Handlers of streams: events are sent to pages as they happen, as server-sent events.

A page fetches its data together with the id of the last event that they include, and then listens from there on;
duplicates are harmless. See docs/dashboard.md for the messages.
"""

import asyncio
import re
import time
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any, ClassVar, Final

from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, url

from orchestrator.config.logger import get_logger
from orchestrator.dashboard.handlers.base import DataHandler, http_error
from orchestrator.dashboard.hub import BATCH, Hub, Missed, TooManyStreams
from orchestrator.dashboard.plain_errors import plain_sentence
from orchestrator.dashboard.sse import PING, RETRY, events_message, notice
from orchestrator.dashboard.subscription import Entry, Subscription, Topic
from orchestrator.engine.project_limits import limits_of
from orchestrator.errors import Conflict, IsothermError, Unavailable
from orchestrator.store.store import Store

log = get_logger()

#: The silence after which a ping is sent.
PING_SECONDS: Final = 15.0
#: A stream ends after so long, and the browser reconnects: access is checked again then.
LIFETIME_SECONDS: Final = 3600.0
#: How long a browser may read nothing.
PATIENCE_SECONDS: Final = 60.0
#: An event's id.
_ID: Final = re.compile(r"\d{1,18}", re.ASCII)


def topic_of(store: Store, project: str, name: str, *, nested: bool) -> Topic:
    """Return the topic of a stack's stream; the stack is given by name or id.

    Raises:
        NotFound: there is no such stack.
    """
    stack = store.past.stack(name, project=project)
    inside = None
    if nested:
        children = {each.id: each.parent_id for each in store.families.in_tree(stack.root_id)}
        inside = {each for each in children if stack.id in _above(each, children)}
    return Topic(project, stack.id, name=stack.name if name == stack.name else "", inside=inside)


def _above(stack_id: str, parents: dict[str, str | None]) -> Iterator[str]:
    parent = parents.get(stack_id)
    while parent is not None:
        yield parent
        parent = parents.get(parent)


def network_of(address: str) -> str:
    """Return an address, or the network that a client has with IPv6: its 64 leading bits."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv4Address):
        return address
    return str(found.ipv4_mapped or ip_network((found, 64), strict=False))


class StreamHandler(DataHandler):
    """The stream of a stack, or of all stacks if the address has none."""

    #: Set by tests.
    patience_seconds: ClassVar[float] = PATIENCE_SECONDS
    _is_open = True

    @property
    def hub(self) -> Hub:
        """The hub, which reads the event log for all streams."""
        hub: Hub = self.application.hub
        return hub

    def on_connection_close(self) -> None:
        """Mark the stream as closed."""
        self._is_open = False

    async def get(self, name: str | None = None) -> None:
        """Send events until the browser disconnects.

        Raises:
            HTTPError: there is no such stack, ``since`` is malformed, or there are too many listeners, in all or of
                this client or project.
        """
        project = self.application.stack_settings.project
        since = self._since()
        topic = Topic(project)
        if name is not None:
            nested = self.text("nested") == "1"
            topic = await self.fetch(partial(topic_of, self.application.store, project, name, nested=nested))
        settings = self.application.stack_settings
        limits = await self.fetch(partial(limits_of, self.application.store, settings, project))
        try:
            with self.hub.listen(topic, client=self._client(), limits=limits) as heard:
                # The page may have read on before the hub did.
                heard.known = since or 0
                self._begin()
                await self._tell(heard, since)
        except (Conflict, TooManyStreams) as error:
            raise HTTPError(HTTPStatus.TOO_MANY_REQUESTS, "%s", str(error)) from error
        except Unavailable as error:
            raise http_error(error) from error
        except StreamClosedError:
            self._is_open = False

    def _client(self) -> str:
        """Return the name of the user, or the address of a visitor without one."""
        return f"user {self.visitor.name}" if self.visitor.name else network_of(self.request.remote_ip)

    def _since(self) -> int | None:
        """Return the id of the last event that the page has; None if it needs no past events."""
        # A reconnecting browser sends the header, with its first address unchanged.
        sent = self.request.headers.get("Last-Event-ID") or self.text("since")
        if not sent:
            return None
        if not _ID.fullmatch(sent):
            raise HTTPError(
                HTTPStatus.BAD_REQUEST, "since is to be the id of an event, a number; found %r", sent[:40]
            )
        return int(sent)

    def _begin(self) -> None:
        self.set_header("Content-Type", "text/event-stream; charset=UTF-8")
        # Otherwise Nginx would buffer messages, and Tornado would compress each one by itself.
        self.set_header("X-Accel-Buffering", "no")
        self.set_header("Content-Encoding", "identity")
        self.write(RETRY)

    async def _sent(self) -> None:
        """Wait until the data written so far have been sent; a browser that reads nothing for long counts as gone."""
        try:
            async with asyncio.timeout(self.patience_seconds):
                await self.flush()
        except TimeoutError as error:
            # Otherwise it would occupy one of the limited listeners for ever.
            self.request.connection.stream.close()
            raise StreamClosedError from error

    async def _tell(self, heard: Subscription, since: int | None) -> None:
        until = time.monotonic() + LIFETIME_SECONDS
        beats = await self._wait_for_hub(heard)
        last = self.hub.position or 0
        if since is not None and self._is_open:
            last = await self._tell_missed(heard, since, last)
        self._how_it_stands(last)
        await self._sent()
        while self._is_open and time.monotonic() < until:
            if heard.was_lost():
                last = self.hub.position or 0
                self._begin_anew(last)
            elif entries := heard.take(BATCH):
                last = entries[-1].row.id
                self._write_events(entries)
            elif beats != self.hub.beats:
                beats = self.hub.beats
                last = max(last, self.hub.position or 0)
                self._how_it_stands(last)
            elif await heard.news(PING_SECONDS):
                continue
            else:
                self.write(PING)
            await self._sent()

    async def _wait_for_hub(self, heard: Subscription) -> int:
        """Wait until the hub has a position; return its number of beats."""
        beats = self.hub.beats
        while self._is_open and self.hub.position is None:
            if self.hub.trouble:
                self.write(notice("trouble", {"error": self.hub.trouble}))
            await self._sent()
            await heard.news(PING_SECONDS)
            beats = self.hub.beats
        return beats

    async def _tell_missed(self, heard: Subscription, since: int, position: int) -> int:
        """Send the events after ``since``, or a resync; return the id up to which the page is complete."""
        try:
            async for entries in self.hub.missed(heard.topic, since, position):
                if entries:
                    self._write_events(entries)
                    await self._sent()
        except Missed:
            heard.known = 0
            self._begin_anew(position)
            return position
        except IsothermError as error:
            # The browser reconnects with its position.
            log.warning("missed events cannot be read", error=str(error))
            self.write(notice("trouble", {"error": plain_sentence(error)}))
            self._is_open = False
            return since
        return max(since, position)

    def _write_events(self, entries: list[Entry]) -> None:
        self.write(events_message((each.text for each in entries), last_id=entries[-1].row.id))

    def _begin_anew(self, last: int) -> None:
        self.hub.resyncs += 1
        self.write(notice("resync", {}, last_id=last))

    def _how_it_stands(self, last: int) -> None:
        trouble = self.hub.trouble or self.hub.late
        if trouble:
            self.write(notice("trouble", {"error": trouble}))
        else:
            self.write(notice("tick", {"as_of": self.hub.as_of}, last_id=last))


ROUTES: Final[list[Any]] = [
    url(r"/stacks/stream", StreamHandler, name="stacks_stream"),
    url(r"/stack/([^/]+)/stream", StreamHandler, name="stack_stream"),
]
