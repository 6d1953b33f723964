"""``OS::Keystone::Region``: a region."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from orchestrator.plugins.custom import Custom
from orchestrator.plugins.steps import PropertyChanges
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.keystone.keystone_object import (
    ENABLED,
    KeystoneObject,
    keystone_collection,
)
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.only_one import OnlyOne
from workers.resources.openstack.tokens import token_of
from workers.resources.schemas import text


class Region(KeystoneObject, OnlyOne):
    """A region of the identity service; without a given id it has that of its row."""

    description = "A region, a part of a cloud with services of its own."
    example = """\
heat_template_version: 2021-04-16
resources:
  north:
    type: OS::Keystone::Region
    properties: {id: north, description: the northern halls}
"""
    collection = keystone_collection("region")
    whole_list = {}
    entity = "region"
    sent_as = {"parent_region": "parent_region_id"}
    properties_schema = {
        "id": text("Its id, which is quoted as in addresses; by default a unique one."),
        "parent_region": text(
            "The id of the region that it is in.",
            update_allowed=True,
            constraints=(Custom("keystone.region"),),
        ),
        "description": text("Its description.", update_allowed=True),
        "enabled": ENABLED,
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003
        """Return that the region above is looked up."""
        return [looked_up("region", "parent_region")]

    @property
    def chosen_id(self) -> str:
        """The id that it is made with."""
        given = self.properties["id"]
        return quote(given) if given else self.state.uuid

    @property
    def is_in_the_way(self) -> bool:
        """Whether its replacement has the same given id."""
        return bool(self.properties["id"]) and self.state.physical_id == self.chosen_id

    def values(self, names: Any) -> dict[str, Any]:
        """Return the properties as a body; the id is in the first one only."""
        body = super().values(names)
        body.pop("id", None)
        return body if self.state.physical_id else {**body, "id": self.chosen_id}

    def changed_values(self, changes: PropertyChanges) -> dict[str, Any]:
        """Return the body of an update, which never has the id."""
        body = super().changed_values(changes)
        body.pop("id", None)
        return body

    def found(self) -> dict[str, Any] | None:
        """Return the region of this row's id, if this row made it."""
        shown = self.collection.show(self.service, self.chosen_id)
        return shown if shown and token_of(shown.get("description")) == self.state.uuid else None

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        if name == "id":
            return self.properties["id"] if shown["id"] == self.chosen_id else shown["id"]
        return super().seen(name, shown)
