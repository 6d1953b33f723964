"""Handlers of the list of stacks."""

from typing import Any, Final

from tornado.web import url

from orchestrator.dashboard.access import refusal
from orchestrator.dashboard.arguments import stack_query
from orchestrator.dashboard.handlers.base import DataHandler, PageHandler
from orchestrator.dashboard.handlers.ordering import OrderHandler
from orchestrator.dashboard.many import FOR_MANY, MOST_AT_ONCE, preview_of, read_choice


class StacksPage(PageHandler):
    """All stacks."""

    async def get(self) -> None:
        """Show the list, with the actions that the visitor may take on many stacks at once."""
        mode = self.application.mode
        may = [action for action in FOR_MANY if not refusal(mode, self.visitor, action)]
        self.page("stacks.html", may=may, most=MOST_AT_ONCE)


class StacksData(DataHandler):
    """One page of the list of stacks."""

    async def get(self) -> None:
        """Send the requested page, and why nothing works on the operations in progress on it, if so."""
        arguments, application = self.arguments(), self.application
        standstill = await application.fleet.standstill(
            "NAME", broker_away_since=application.events.away_since
        )

        def question() -> dict[str, Any]:
            page = self.observer.stacks(stack_query(arguments))
            stands = standstill and any(row.status == "IN_PROGRESS" for row in page.rows)
            return {**page.to_dict(), "standstill": standstill.to_dict() if stands else None}

        await self.reply(question)


class ManyPreview(OrderHandler):
    """What an action would do to each of many stacks; the orders themselves are sent for each stack."""

    def target(self) -> tuple[str, str]:
        """Return no name, and the action."""
        return "", self.path_args[0]

    async def post(self, action: str) -> None:
        """Send the preview."""
        self.require(action, "")
        self.require_json()
        body = self.request.body
        self.answer(await self.fetch(lambda: preview_of(action, self.observer.stacks(read_choice(body)))))


class Root(PageHandler):
    """The dashboard's address without a page: redirects to the list of stacks."""

    async def get(self) -> None:
        """Redirect."""
        self.redirect(self.reverse_url("stacks"))


ROUTES: Final[list[Any]] = [
    url(r"/", Root, name="root"),
    url(r"/stacks", StacksPage, name="stacks"),
    url(r"/stacks/data", StacksData, name="stacks_data"),
    url(rf"/stacks/act/({'|'.join(FOR_MANY)})/preview", ManyPreview, name="stacks_many"),
]
