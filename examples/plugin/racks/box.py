"""``Racks::Box``: goes where the lifecycle plugin said."""

from typing import Any

from isotherm.properties import Attribute, Property, PropertyType
from isotherm.resources import PropertyChanges, Resource, ResourceFailure


class Box(Resource):
    """A box in a rack."""

    description = "A box in a rack."
    example = """\
heat_template_version: 2021-04-16
resources:
  hats:
    type: Racks::Box
    properties: {label: hats}
"""
    properties_schema = {
        "label": Property(
            type=PropertyType.STRING, description="What stands on it.", default="", update_allowed=True
        ),
    }
    attributes_schema = {
        "rack": Attribute("The rack that it is in.", PropertyType.STRING),
    }

    def handle_create(self) -> None:
        """Go to the rack that was found before the operation began."""
        said = self.annotations.get("racks", {})
        if "rack" not in said:
            raise ResourceFailure("nobody found a place for it: enable the lifecycle plugin racks")
        self.state.physical_id = f"{said['rack']}/{self.state.uuid}"

    def handle_update(self, changes: PropertyChanges) -> None:
        """Put another label on it, where it is."""

    def handle_delete(self) -> None:
        """Be gone; its place is given back when the operation is over."""

    def attribute(self, name: str) -> Any:
        """Return the rack."""
        return (self.state.physical_id or "").partition("/")[0]
