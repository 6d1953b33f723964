"""Handlers of the pages about nodes, caches and workers, and of their data."""

from collections.abc import Awaitable
from typing import Any, ClassVar, Final

from tornado.web import url

from orchestrator.dashboard.fleet import Fleet, JsonObject
from orchestrator.dashboard.handlers.base import DataHandler, PageHandler, http_error
from orchestrator.errors import IsothermError


class NodesPage(PageHandler):
    """The page of all nodes."""

    section: ClassVar[str] = "nodes"

    async def get(self) -> None:
        """Show them."""
        self.page("nodes.html")


class NodePage(PageHandler):
    """The page of one node; an unknown node is reported by its data."""

    section: ClassVar[str] = "nodes"

    async def get(self, name: str) -> None:
        """Show it."""
        self.page("node.html", name=name)


class CachePage(PageHandler):
    """The page of caches."""

    section: ClassVar[str] = "cache"

    async def get(self) -> None:
        """Show it."""
        self.page("cache.html")


class WorkersPage(PageHandler):
    """The page of the engine's processes."""

    section: ClassVar[str] = "workers"

    async def get(self) -> None:
        """Show them."""
        self.page("workers.html", flowers=self.reverse_url("workers"))


class FleetData(DataHandler):
    """Base of the data of these pages."""

    @property
    def fleet(self) -> Fleet:
        """The queries of nodes, caches and workers."""
        fleet: Fleet = self.application.fleet
        return fleet

    async def send(self, question: Awaitable[JsonObject]) -> None:
        """Send the result of a query.

        Raises:
            HTTPError: the queried object does not exist, or does not answer.
        """
        try:
            self.answer(await question)
        except IsothermError as error:
            raise http_error(error) from error


class NodesData(FleetData):
    """Data of all nodes."""

    async def get(self) -> None:
        """Send them."""
        await self.send(self.fleet.nodes())


class NodeData(FleetData):
    """Data of one node."""

    async def get(self, name: str) -> None:
        """Send it."""
        await self.send(self.fleet.node(name))


class CacheData(FleetData):
    """Data of the caches."""

    async def get(self) -> None:
        """Send it."""
        await self.send(self.fleet.caches())


class WorkersData(FleetData):
    """Data of the engine's processes, and of stuck resources."""

    async def get(self) -> None:
        """Send them."""
        # Flower's state may be read in its loop alone, which runs this.
        await self.send(self.fleet.workers(self.application.events.state.workers))


ROUTES: Final[list[Any]] = [
    url(r"/stacks/nodes", NodesPage, name="stacks_nodes"),
    # The page of a node called ``data`` is reached by another spelling: %64ata.
    url(r"/stacks/nodes/data", NodesData, name="stacks_nodes_data"),
    url(r"/stacks/nodes/([^/]+)", NodePage, name="stacks_node"),
    url(r"/stacks/nodes/([^/]+)/data", NodeData, name="stacks_node_data"),
    url(r"/stacks/cache", CachePage, name="stacks_cache"),
    url(r"/stacks/cache/data", CacheData, name="stacks_cache_data"),
    url(r"/stacks/workers", WorkersPage, name="stacks_workers"),
    url(r"/stacks/workers/data", WorkersData, name="stacks_workers_data"),
]
