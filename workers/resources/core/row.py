"""Resources whose only object is their own row."""

from collections.abc import Mapping
from typing import Any

from orchestrator.plugins.resource import Resource


class RowResource(Resource):
    """Base of types without an external object: the row's uuid is the physical id.

    So an interrupted create is simply run again, and there is nothing to find or to clean up.
    """

    is_row = True

    def handle_create(self) -> Any:
        """Take the row's uuid as the physical id."""
        self.state.physical_id = self.state.uuid

    def observe(self) -> Mapping[str, Any] | None:
        """Return the properties unchanged: nothing outside can change them."""
        return self.properties if self.state.physical_id else None
