"""Handlers of the page of what needs a person, and of its data."""

from typing import Any, Final

from tornado.web import url

from orchestrator.dashboard.access import ACTIONS
from orchestrator.dashboard.handlers.base import DataHandler, PageHandler


class AttentionPage(PageHandler):
    """What needs a person."""

    section = "attention"

    async def get(self) -> None:
        """Show it."""
        self.page("attention.html")


class AttentionData(DataHandler):
    """The findings, and for each action the reason why the visitor may not do it, if so."""

    async def get(self) -> None:
        """Send them."""
        application = self.application
        found = await application.attention.data(
            broker_away_since=application.events.away_since,
            sees_fleet=self.visitor.may(application.mode, "fleet.read"),
        )
        refusals = self.powers()["actions"]
        may = [action for action in ACTIONS if not refusals[action]]
        self.answer({**found, "may": may})


ROUTES: Final[list[Any]] = [
    url(r"/stacks/attention", AttentionPage, name="stacks_attention"),
    url(r"/stacks/attention/data", AttentionData, name="stacks_attention_data"),
]
