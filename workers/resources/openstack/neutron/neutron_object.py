"""Base of the types of the network service."""

from collections.abc import Collection as Names
from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.plugins.properties import Property, PropertyError
from orchestrator.plugins.steps import PropertyChanges
from orchestrator.plugins.support import Support, SupportStatus
from orchestrator.plugins.translation import Replace, Rule
from workers.resources.openstack.cloud_object import UNSEEN, CloudObject
from workers.resources.openstack.collection import Collection
from workers.resources.openstack.comparing import as_given, spelled_as_given
from workers.resources.openstack.listing import by_ids
from workers.resources.openstack.tokens import with_token, without_token
from workers.resources.schemas import listing, mapping, text

#: Extra values of requests, as Heat's types of networks have them.
VALUE_SPECS: Final = mapping(
    "Further values of the request, sent as they are.", update_allowed=True, default={}
)
TAGS: Final = listing("Its tags.", schema=text(), update_allowed=True)
#: Names of further values that are properties of most types.
_NEVER_FURTHER: Final = frozenset({"shared", "tenant_id"})


def neutron_collection(key: str, plural: str = "", path: str = "") -> Collection:
    """Return a collection with the usual names: ``network``, listed as ``networks`` at ``/networks``."""
    plural = plural or f"{key}s"
    return Collection(path=path or f"/{plural.replace('_', '-')}", key=key, plural=plural)


def old_name(instead: str, **fields: Any) -> Property:
    """Return a property of text that is the hidden, old name of another."""
    message = f"use {instead}"
    before = SupportStatus(status=Support.DEPRECATED, version="2014.2", message=message)
    status = SupportStatus(status=Support.HIDDEN, version="5.0.0", message=message, previous=before)
    return text(f"The old name of {instead}.", support_status=status, **fields)


def renamed(old: str, new: str) -> Rule:
    """Return the rule that moves the value of a property's old name to the new one."""
    return Replace(path=(new,), source=(old,))


def refuse_known_values(properties: Mapping[str, Any]) -> None:
    """Refuse further values that are properties.

    Raises:
        PropertyError: there are some.
    """
    further = properties["value_specs"]
    if not isinstance(further, Mapping):
        return
    if known := sorted(further.keys() & {*properties, *_NEVER_FURTHER}):
        message = f"{', '.join(known)} cannot be given here, but as a property"
        raise PropertyError(("value_specs",), message)


class NeutronObject(CloudObject):
    """An object of the network service, found by the token in its description."""

    client_name = "neutron"

    # -- the body of requests ----------------------------------------------------------------------------------

    def values(self, names: Names[str]) -> dict[str, Any]:
        """Return the properties as a body; when the object is made, with the further values."""
        body = super().values(names)
        further = body.pop("value_specs", None) or {}
        body.pop("tags", None)
        return {**body, **(self._further(further) if self.state.physical_id is None else {})}

    def changed_values(self, changes: PropertyChanges) -> dict[str, Any]:
        """Return the body of an update, with those further values that change.

        Others may be such that are only accepted when an object is made.
        """
        body = super().changed_values(changes)
        body.pop("value_specs", None)
        body.pop("tags", None)
        if "value_specs" not in changes.names:
            return body
        shown, before = self.whole(), changes.before.get("value_specs") or {}
        further = {
            name: value
            for name, value in (self.properties["value_specs"] or {}).items()
            if not _alike(value, self._further_seen(name, shown) if name in shown else before.get(name))
        }
        return {**body, **self._further(further)}

    def _further(self, values: Mapping[str, Any]) -> dict[str, Any]:
        is_described = self.has_description and "description" in values
        return {**values, **({"description": self._description} if is_described else {})}

    @property
    def _description(self) -> str:
        """The description with the token."""
        given = self.properties.get("description") or (self.properties.get("value_specs") or {}).get(
            "description"
        )
        return with_token(given, self.state.uuid)

    # -- steps -------------------------------------------------------------------------------------------------

    def found(self) -> dict[str, Any] | None:
        """Return the object with exactly the description that this row gives it."""
        if not self.has_description:
            return super().found()
        described = self.collection.listed(self.service, description=self._description)
        return described[0] if described else None

    def is_ready(self) -> Any:
        """Return whether it is ready; then it has its tags."""
        ready = super().is_ready()
        if ready is True and self.properties.get("tags") is not None:
            self._set_tags(self.properties["tags"])
        return ready

    def handle_update(self, changes: PropertyChanges) -> Any:
        """Change what can be changed by one request, and take away tags; others are set when it is ready."""
        super().handle_update(changes)
        if "tags" in changes.names and self.properties["tags"] is None:
            self._set_tags(())

    def _set_tags(self, tags: Names[str]) -> None:
        """Set the tags, which a request of their own does, if they differ."""
        if sorted(self.whole().get("tags") or ()) != sorted(tags):
            path = f"{self.collection.at(str(self.state.physical_id))}/tags"
            self.service.ask("PUT", path, body={"tags": sorted(tags)})
            self.changed()

    # -- reading -----------------------------------------------------------------------------------------------

    @classmethod
    def list_query(cls, resources: Sequence[CloudObject]) -> Mapping[str, Any] | None:
        """Return the query for exactly the objects of these resources."""
        return by_ids(resources)

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it, with the addresses spelled as they are given."""
        given = self.properties[name]
        if name == "value_specs":
            seen = {key: self._further_seen(key, shown) for key in given if key in shown}
            return {
                key: seen[key] if key in seen and not _alike(given[key], seen[key]) else given[key]
                for key in given
            }
        found = super().seen(name, shown)
        return found if found is UNSEEN else spelled_as_given(given, found)

    def _further_seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        return without_token(shown[name]) if self.has_description and name == "description" else shown[name]

    def related(self, path: str, key: str) -> Any:
        """Return what the service has at another path, by the key in its answer."""
        return self.service.ask("GET", path)[key]


def _alike(given: object, found: object) -> bool:
    """Whether two values agree as far as given; templates often write truth values as text."""
    return as_given(given, found) == given or (isinstance(given, str) and given.lower() == str(found).lower())
