"""Handlers of a stack's data: events, resources, timeline, history, definition, changes and outputs."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, url

from orchestrator.config.logger import get_logger
from orchestrator.dashboard.arguments import LONGEST_PAGE, event_filter, flag, operation_filter, whole
from orchestrator.dashboard.handlers.base import DataHandler
from orchestrator.queries.observer import Observer
from orchestrator.views.times import iso

log = get_logger()

#: The greatest depth of nested stacks whose resources are listed.
_DEEPEST: Final = 100
#: The default number of events in a page, and the number in one read for a file.
_EVENTS: Final = 100
_SAVED_AT_ONCE: Final = 1000

#: A query about a stack by its name, with the request's arguments.
Question = Callable[..., dict[str, Any]]


def events(observer: Observer, name: str, arguments: Mapping[str, str]) -> dict[str, object]:
    """Return a page of a stack's events, newest first; ``more`` is true if older ones match."""
    limit = whole(arguments, "limit", _EVENTS, least=1, most=LONGEST_PAGE)
    found = observer.queries.events(
        name,
        after=whole(arguments, "after", 0),
        before=whole(arguments, "before", 0) or None,
        newest_first=True,
        limit=limit + 1,
        wanted=event_filter(arguments),
    )
    return {"events": [event.to_dict() for event in found[:limit]], "more": len(found) > limit}


def resources(observer: Observer, name: str, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Return a stack's resources without values; with the argument ``nested`` those of nested stacks too."""
    depth = _DEEPEST if flag(arguments, "nested") else 0
    rows = []
    for view in observer.queries.resources(name, depth=depth):
        row = view.to_dict()
        for private in ("properties", "attributes", "attribute_errors", "metadata", "annotations"):
            del row[private]
        rows.append(row)
    return {"resources": rows, "stacks": observer.stacks_in(name)}


def timeline(observer: Observer, name: str, arguments: Mapping[str, str]) -> dict[str, object]:
    """Return the timeline of an operation."""
    return observer.timeline(name, traversal_id=arguments.get("traversal") or None).to_dict()


def history(observer: Observer, name: str, arguments: Mapping[str, str]) -> dict[str, object]:
    """Return a page of a stack's operations, newest first; ``more`` is true if there are older ones."""
    limit = whole(arguments, "limit", _EVENTS, least=1, most=LONGEST_PAGE)
    found = observer.queries.history(
        name, after=arguments.get("after", ""), wanted=operation_filter(arguments), limit=limit + 1
    )
    return {"operations": [each.to_dict() for each in found[:limit]], "more": len(found) > limit}


def template(observer: Observer, name: str, arguments: Mapping[str, str], *, sees: bool) -> dict[str, Any]:
    """Return the definition of an operation."""
    return observer.definition(name, arguments.get("traversal") or None, shows_values=sees).to_dict()


def changes(observer: Observer, name: str, arguments: Mapping[str, str], *, sees: bool) -> dict[str, object]:
    """Return the changes of an operation's definition."""
    return observer.changes(name, arguments.get("traversal", ""), shows_values=sees).to_dict()


def outputs(observer: Observer, name: str, _arguments: object, *, sees: bool) -> dict[str, Any]:
    """Return a stack's outputs; without ``sees`` only their names and descriptions."""
    hidden = {} if sees else {"value": None, "error": ""}
    found = [{**each.to_dict(), **hidden} for each in observer.queries.outputs(name)]
    return {"outputs": found, "shows_values": sees}


class StackData(DataHandler):
    """The result of a query about a stack, with the moment of the query."""

    def initialize(self, question: Question) -> None:
        """Set the query."""
        self.question = question

    async def get(self, name: str) -> None:
        """Send the result."""
        await self.reply(partial(_answered, self.question, self.observer, name, self.arguments()))


class VisitorData(StackData):
    """The same for a query with values of parameters or outputs: visitors without a name do not see them."""

    async def get(self, name: str) -> None:
        """Send the result."""
        question = partial(self.question, sees=self.visitor.sees_values)
        self.answer(await self.fetch(partial(_answered, question, self.observer, name, self.arguments())))


def _answered(
    question: Question, observer: Observer, name: str, arguments: Mapping[str, str]
) -> dict[str, object]:
    cursor, as_of = observer.moment()
    # A result with a moment of its own overrides this one.
    return {"cursor": cursor, "as_of": iso(as_of), **question(observer, name, arguments)}


class EventsFile(DataHandler):
    """All matching events of a stack, oldest first, as a file: one JSON list of any length."""

    async def get(self, name: str) -> None:
        """Send it part by part, with bounded memory; after an error the answer is cut off without an end."""
        arguments = self.arguments()
        # By its id: another stack may take the name before all is sent.
        project = self.observer.settings.project
        stack = await self.fetch(lambda: self.application.store.past.stack(name, project=project))
        read = partial(self.observer.queries.events, stack.id, limit=_SAVED_AT_ONCE)
        found = await self.fetch(lambda: read(wanted=event_filter(arguments)))
        wanted = event_filter(arguments)
        self.set_header("Content-Type", "application/json; charset=UTF-8")
        self.set_header("Content-Disposition", 'attachment; filename="events.json"')
        before = "["
        # The client may cancel the download.
        with suppress(StreamClosedError):
            while found:
                for event in found:
                    self.write(f"{before}\n{json.dumps(event.to_dict())}")
                    before = ","
                await self.flush()
                try:
                    found = await self.fetch(partial(read, after=found[-1].id, wanted=wanted))
                except HTTPError as error:
                    # Without a regular end, browsers report that the file is incomplete.
                    log.warning("a file of events breaks off", stack=stack.name, why=error.get_message())
                    self.request.connection.stream.close()
                    return
            self.finish("[]\n" if before == "[" else "\n]\n")


ROUTES: Final[list[Any]] = [
    *(
        url(rf"/stack/([^/]+)/{question.__name__}\.json", handler, {"question": question})
        for handler, questions in (
            (StackData, (events, resources, timeline, history)),
            (VisitorData, (template, changes, outputs)),
        )
        for question in questions
    ),
    url(r"/stack/([^/]+)/events-file\.json", EventsFile),
]
