"""The pages about nodes, caches and workers, and their data."""

from collections.abc import Awaitable
from typing import Any, ClassVar, Final

from tornado.web import url

from orchestrator.dashboard.fleet import Fleet, Told
from orchestrator.dashboard.handlers.base import DataHandler, PageHandler, told
from orchestrator.errors import IsothermError


class NodesPage(PageHandler):
    """All nodes."""

    section: ClassVar[str] = "nodes"

    async def get(self) -> None:
        """Show them."""
        self.page("nodes.html")


class NodePage(PageHandler):
    """One node; whether there is such a node, its data tell."""

    section: ClassVar[str] = "nodes"

    async def get(self, name: str) -> None:
        """Show it."""
        self.page("node.html", name=name)


class CachePage(PageHandler):
    """What is remembered."""

    section: ClassVar[str] = "cache"

    async def get(self) -> None:
        """Show it."""
        self.page("cache.html")


class WorkersPage(PageHandler):
    """The processes of the engine."""

    section: ClassVar[str] = "workers"

    async def get(self) -> None:
        """Show them."""
        self.page("workers.html", flowers=self.reverse_url("workers"))


class FleetData(DataHandler):
    """Data of one of these pages."""

    @property
    def fleet(self) -> Fleet:
        """What asks."""
        fleet: Fleet = self.application.fleet
        return fleet

    async def tell(self, question: Awaitable[Told]) -> None:
        """Send what is answered.

        Raises:
            HTTPError: there is no such thing, or nobody answers.
        """
        try:
            self.answer(await question)
        except IsothermError as error:
            raise told(error) from error


class NodesData(FleetData):
    """All nodes."""

    async def get(self) -> None:
        """Send them."""
        await self.tell(self.fleet.nodes())


class NodeData(FleetData):
    """One node."""

    async def get(self, name: str) -> None:
        """Send it."""
        await self.tell(self.fleet.node(name))


class CacheData(FleetData):
    """What is remembered."""

    async def get(self) -> None:
        """Send it."""
        await self.tell(self.fleet.caches())


class WorkersData(FleetData):
    """The processes of the engine, and what is stuck."""

    async def get(self) -> None:
        """Send them."""
        # Flower's memory is its loop's, which is where this runs.
        await self.tell(self.fleet.workers(self.application.events.state.workers))


ROUTES: Final[list[Any]] = [
    url(r"/stacks/nodes", NodesPage, name="stacks_nodes"),
    # A node that is called so is reached by another spelling of its name: %64ata.
    url(r"/stacks/nodes/data", NodesData, name="stacks_nodes_data"),
    url(r"/stacks/nodes/([^/]+)", NodePage, name="stacks_node"),
    url(r"/stacks/nodes/([^/]+)/data", NodeData, name="stacks_node_data"),
    url(r"/stacks/cache", CachePage, name="stacks_cache"),
    url(r"/stacks/cache/data", CacheData, name="stacks_cache_data"),
    url(r"/stacks/workers", WorkersPage, name="stacks_workers"),
    url(r"/stacks/workers/data", WorkersData, name="stacks_workers_data"),
]
