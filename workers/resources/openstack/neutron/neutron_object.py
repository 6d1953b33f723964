"""Base of the types of the network service."""

from collections.abc import Mapping
from typing import Any

from orchestrator.plugins.steps import PropertyChanges
from workers.resources.openstack.cloud_object import UNSEEN, CloudObject
from workers.resources.openstack.collection import Collection
from workers.resources.schemas import mapping

#: Extra values of requests, as Heat's types of networks have them.
VALUE_SPECS = mapping("Further values of the request, sent as they are.", update_allowed=True, default={})


def neutron_collection(key: str, plural: str = "", path: str = "") -> Collection:
    """Return a collection with the usual names: ``network``, listed as ``networks`` at ``/networks``."""
    plural = plural or f"{key}s"
    return Collection(path=path or f"/{plural.replace('_', '-')}", key=key, plural=plural)


class NeutronObject(CloudObject):
    """An object of the network service, found by the token in its description."""

    client_name = "neutron"

    def values(self, names: Any) -> dict[str, Any]:
        """Return the properties as a body, and the further values in it."""
        body = super().values(names)
        further = body.pop("value_specs", None) or {}
        body.pop("tags", None)
        return {**body, **further}

    def changed_values(self, changes: PropertyChanges) -> dict[str, Any]:
        """Return the body of an update."""
        body = super().changed_values(changes)
        body.pop("value_specs", None)
        body.pop("tags", None)
        return body

    def found(self) -> dict[str, Any] | None:
        """Return the object with exactly the description that this row gives it."""
        if not self.has_description:
            return super().found()
        described = self.collection.listed(self.service, description=super().values(())["description"])
        return described[0] if described else None

    def is_ready(self) -> Any:
        """Return whether it is ready; then it has its tags."""
        ready = super().is_ready()
        if ready is True:
            self._set_tags()
        return ready

    def _set_tags(self) -> None:
        """Set the tags, which a request of their own does, if they differ."""
        tags, shown = self.properties.get("tags"), self.show()
        if (
            "tags" not in self.properties_schema
            or (tags is None and self.state.action == "CREATE")
            or shown is None
        ):
            return
        if sorted(shown.get("tags") or ()) != sorted(tags or ()):
            path = f"{self.collection.at(str(self.state.physical_id))}/tags"
            self.service.ask("PUT", path, body={"tags": sorted(tags or ())})
            self.changed()

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        if name == "value_specs":
            return {key: shown.get(key) for key in self.properties[name] if key in shown} or UNSEEN
        return super().seen(name, shown)
