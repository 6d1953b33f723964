"""Handlers of the page about one resource, and of its data."""

from functools import partial
from typing import Any, Final

from tornado.web import url

from orchestrator.dashboard.handlers.base import DataHandler, PageHandler
from orchestrator.dashboard.handlers.stack import head_of

#: Names of resources are quoted in addresses; none has a slash in it.
_RESOURCE: Final = r"/stack/([^/]+)/resource/([^/]+)"


class ResourcePage(PageHandler):
    """The page of one resource; its part in a past operation by ``?traversal=ID``."""

    async def get(self, name: str, resource: str) -> None:
        """Show it."""
        traversal = self.text("traversal")
        head = await head_of(self, name, traversal)
        found = await self.fetch(
            partial(self.observer.resource_page, name, resource, traversal_id=traversal or None)
        )
        self.page("resource.html", head=head, resource=found, traversal=traversal)


class ResourceData(DataHandler):
    """The data of one resource's page; values only for visitors who see them."""

    async def get(self, name: str, resource: str) -> None:
        """Send it."""
        question = partial(
            self.observer.resource_page,
            name,
            resource,
            traversal_id=self.text("traversal") or None,
            shows_values=self.visitor.sees_values,
        )
        # Not shared with other requests: it has values.
        self.answer((await self.fetch(question)).to_dict())


ROUTES: Final[list[Any]] = [
    url(_RESOURCE, ResourcePage, name="stack_resource"),
    url(rf"{_RESOURCE}/data\.json", ResourceData),
]
