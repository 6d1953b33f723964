"""Base of the types of the identity service."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import Property
from orchestrator.plugins.steps import PropertyChanges
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.cloud_object import CloudObject
from workers.resources.openstack.collection import Collection
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.tokens import token_of
from workers.resources.schemas import boolean, text

#: The domain of an object, as most types have it.
DOMAIN: Final = text(
    "The id or name of its domain; another one replaces it.",
    default="default",
    update_allowed=True,
    constraints=(Custom("keystone.domain"),),
)
DESCRIPTION: Final = text("Its description.", default="", update_allowed=True)
ENABLED: Final = boolean("Whether it may be used.", default=True, update_allowed=True)


def named(kind: str) -> Property:
    """Return the property for the name of an object; ``kind`` says what it is."""
    return text(f"The name of the {kind}.", update_allowed=True)


def keystone_collection(key: str) -> Collection:
    """Return a collection with the usual names: ``user``, listed as ``users`` at ``/users``."""
    return Collection(path=f"/{key}s", key=key, plural=f"{key}s", changed_by="PATCH")


class KeystoneObject(CloudObject):
    """An object of the identity service, found by its name and the token in its description."""

    client_name = "keystone"
    longest_name = 64
    sent_as = {"domain": "domain_id"}

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003
        """Return that a domain may be given by its name."""
        return [looked_up("domain", "domain")] if "domain" in cls.properties_schema else []

    def needs_replace(self, changes: PropertyChanges) -> bool:
        """Return whether it moves to another domain, which the service does not do."""
        before, after = changes.before.get("domain"), changes.after.get("domain")
        return None not in (before, after) and before != after

    def found(self) -> dict[str, Any] | None:
        """Return the object of this row, among those of its name or where :meth:`searched` says."""
        listed = self.collection.listed(self.service, **self.searched())
        return next((each for each in listed if token_of(each.get("description")) == self.state.uuid), None)

    def searched(self) -> dict[str, Any]:
        """Return the query that selects few objects, among them that of this row."""
        domain = self.properties.get("domain")
        return {"name": self.physical_name, **({"domain_id": domain} if domain else {})}
