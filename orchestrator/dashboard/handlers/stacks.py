"""Handlers of the list of stacks."""

from typing import Any, Final

from tornado.web import url

from orchestrator.dashboard.arguments import stack_query
from orchestrator.dashboard.handlers.base import DataHandler, PageHandler


class StacksPage(PageHandler):
    """All stacks."""

    async def get(self) -> None:
        """Show the list."""
        self.page("stacks.html")


class StacksData(DataHandler):
    """One page of the list of stacks."""

    async def get(self) -> None:
        """Send the requested page."""
        arguments = self.arguments()
        await self.reply(lambda: self.observer.stacks(stack_query(arguments)).to_dict())


class Root(PageHandler):
    """The dashboard's address without a page: redirects to the list of stacks."""

    async def get(self) -> None:
        """Redirect."""
        self.redirect(self.reverse_url("stacks"))


ROUTES: Final[list[Any]] = [
    url(r"/", Root, name="root"),
    url(r"/stacks", StacksPage, name="stacks"),
    url(r"/stacks/data", StacksData, name="stacks_data"),
]
