"""Handlers of the pages about nodes, caches and workers, and of their data."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from tornado.web import url

from orchestrator.dashboard.fleet import Fleet, JsonObject
from orchestrator.dashboard.handlers.base import DataHandler, PageHandler, http_error
from orchestrator.errors import IsothermError


class FleetPage(PageHandler):
    """The page of all nodes, of one node (an unknown one is reported by its data), of caches or of workers."""

    operation = "fleet.read"

    def initialize(self, section: str, template: str) -> None:
        """Set the section of the navigation, and the template."""
        self.section, self.template = section, template

    async def get(self, name: str = "") -> None:
        """Show it."""
        self.page(self.template, name=name, flowers=self.reverse_url("workers"))


class FleetData(DataHandler):
    """The data of one of these pages."""

    operation = "fleet.read"

    def initialize(self, question: Callable[..., Awaitable[JsonObject]]) -> None:
        """Set the query, a method of :class:`Fleet`."""
        self.question = question

    async def get(self, *arguments: Any) -> None:
        """Send the result of the query.

        Raises:
            HTTPError: the queried object does not exist, or does not answer.
        """
        try:
            self.answer(await self.question(self.application.fleet, *arguments))
        except IsothermError as error:
            raise http_error(error) from error


class WorkersData(FleetData):
    """The data of the engine's processes, and of stuck resources."""

    async def get(self) -> None:
        """Send them."""
        # Flower's state may be read in its loop alone, which runs this.
        await super().get(self.application.events.state.workers)


#: Our pages: the end of the address, the end of the name, the section and the template.
_PAGES: Final = (
    ("nodes", "nodes", "nodes", "nodes.html"),
    ("nodes/([^/]+)", "node", "nodes", "node.html"),
    ("cache", "cache", "cache", "cache.html"),
    ("workers", "workers", "workers", "workers.html"),
)
ROUTES: Final[list[Any]] = [
    # Before the pages: that of a node called ``data`` is reached by another spelling, %64ata.
    url(r"/stacks/nodes/data", FleetData, {"question": Fleet.nodes}, name="stacks_nodes_data"),
    url(r"/stacks/nodes/([^/]+)/data", FleetData, {"question": Fleet.node}, name="stacks_node_data"),
    url(r"/stacks/cache/data", FleetData, {"question": Fleet.caches}, name="stacks_cache_data"),
    url(r"/stacks/workers/data", WorkersData, {"question": Fleet.workers}, name="stacks_workers_data"),
    *(
        url(rf"/stacks/{path}", FleetPage, {"section": section, "template": template}, name=f"stacks_{name}")
        for path, name, section, template in _PAGES
    ),
]
