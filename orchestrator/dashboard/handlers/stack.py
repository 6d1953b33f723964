"""Handlers of the pages about one stack, and of the data of their common head."""

from functools import partial
from typing import Any, Final

from tornado.web import url

from orchestrator.dashboard.handlers.base import DataHandler, PageHandler, StackHandler
from orchestrator.queries.standstill import Standstill
from orchestrator.views.heads import HeadView
from orchestrator.views.states import is_under_way

#: The pages about one stack: the end of the address, and the word on the tab.
TABS: Final = (
    ("graph", "Graph"),
    ("timeline", "Timeline"),
    ("events", "Events"),
    ("failure", "Failure"),
    ("resources", "Resources"),
    ("template", "Template"),
    ("outputs", "Outputs"),
    ("runs", "Runs"),
    ("history", "History"),
)
#: The pages that show the present stack, whatever operation was selected before.
_OF_NOW: Final = frozenset({"resources", "outputs", "runs", "history"})


async def head_of(handler: StackHandler, name: str, traversal: str) -> HeadView:
    """Return the head of the pages about a stack; ``traversal`` is empty for the operation in force.

    Raises:
        HTTPError: there is no such stack or operation, or the store does not answer.
    """
    question = partial(handler.observer.head, name, traversal or None)
    return await handler.fetch(question, alike=("head", name, traversal))


class StackPage(PageHandler):
    """One of the pages about a stack; a past operation by ``?traversal=ID``.

    Renders the template of the tab's name, or another one, which extends ``stacks/stack.html``.
    """

    def initialize(self, tab: str, template: str = "") -> None:
        """Set the tab, one of :data:`TABS`, and the template."""
        self.tab = tab
        self.template = template or f"{tab}.html"

    async def get(self, name: str) -> None:
        """Show it."""
        traversal = "" if self.tab in _OF_NOW else self.text("traversal")
        head = await head_of(self, name, traversal)
        query = f"?traversal={head.operation.traversal_id}" if traversal else ""
        self.page(
            self.template,
            head=head,
            tab=self.tab,
            tab_word=dict(TABS)[self.tab],
            tabs=[(tab, word, "" if tab in _OF_NOW else query) for tab, word in TABS],
            # Once another stack has its name, a deleted stack is found only by its id.
            stack_path=head.operation.stack_id if head.deleted_at else name,
            traversal=traversal,
            query=query,
        )


class StackRoot(PageHandler):
    """A stack's address without a page: redirects to its graph."""

    async def get(self, name: str) -> None:
        """Redirect, with the query."""
        query = f"?{self.request.query}" if self.request.query else ""
        self.redirect(f"{self.reverse_url('stack', name)}/{TABS[0][0]}{query}")


class HeadData(DataHandler):
    """The data of the head of a stack's pages, the visitor's rights, and why nothing works on the operation."""

    async def get(self, name: str) -> None:
        """Send it."""
        head = await head_of(self, name, self.text("traversal"))
        standstill = await self._standstill(head.operation.stack) if is_under_way(head.operation) else None
        more = {"may": self.powers(head.operation.stack), "standstill": standstill and standstill.to_dict()}
        self.answer({**head.to_dict(), **more})

    async def _standstill(self, stack: str) -> Standstill | None:
        application = self.application
        standstill: Standstill | None = await application.fleet.standstill(
            stack, broker_away_since=application.events.away_since
        )
        return standstill


ROUTES: Final[list[Any]] = [
    url(r"/stack/([^/]+)", StackRoot, name="stack"),
    url(r"/stack/([^/]+)/head\.json", HeadData, name="stack_head"),
    *(url(rf"/stack/([^/]+)/{tab}", StackPage, {"tab": tab}, name=f"stack_{tab}") for tab, _ in TABS),
]
