"""``OS::Nova::HostAggregate``: hosts of servers that have something in common."""

from collections.abc import Mapping
from typing import Any

from orchestrator.plugins.steps import Wait
from workers.resources.openstack.collection import Collection
from workers.resources.openstack.comparing import as_texts, texts_as_given
from workers.resources.openstack.noted import Noted
from workers.resources.openstack.nova.nova_object import NovaObject
from workers.resources.schemas import listing, mapping, text


class HostAggregate(NovaObject, Noted):
    """A set of hosts with metadata, which the scheduler uses; its name is unique."""

    description = "A set of hosts of the compute service, with metadata. Only administrators may make one."
    example = """\
heat_template_version: 2021-04-16
resources:
  fast:
    type: OS::Nova::HostAggregate
    properties: {name: fast, availability_zone: east, metadata: {ssd: "true"}}
"""
    collection = Collection(path="/os-aggregates", key="aggregate", plural="aggregates")
    whole_list = {}
    properties_schema = {
        "name": text("Its name.", required=True, update_allowed=True),
        "availability_zone": text("The availability zone of its hosts.", required=True, update_allowed=True),
        "hosts": listing("The names of its hosts.", update_allowed=True, schema=text()),
        "metadata": mapping("Its metadata.", update_allowed=True, default={}),
    }

    def values(self, names: Any) -> dict[str, Any]:
        """Return the body of a request; hosts and metadata have requests of their own."""
        return super().values(set(names) - {"hosts", "metadata"})

    def changed_values(self, changes: Any) -> dict[str, Any]:
        """Return the body of an update, without hosts and metadata."""
        body = super().changed_values(changes)
        return {name: value for name, value in body.items() if name not in ("hosts", "metadata")}

    def is_ready(self) -> bool | Wait:
        """Return whether it is there; then it gets its metadata and its hosts."""
        ready, shown = super().is_ready(), self.show()
        if ready is True and shown is not None:
            self._set_metadata(shown)
            self._set_hosts(shown)
        return ready

    def _set_metadata(self, shown: Mapping[str, Any]) -> None:
        found, wanted = _metadata(shown), as_texts(self.properties["metadata"])
        if found != wanted:
            self._act("set_metadata", {"metadata": {**dict.fromkeys(found.keys() - wanted.keys()), **wanted}})

    def _set_hosts(self, shown: Mapping[str, Any]) -> None:
        found, wanted = set(shown["hosts"]), set(self.properties["hosts"] or ())
        for host in sorted(found - wanted):
            self._act("remove_host", {"host": host})
        for host in sorted(wanted - found):
            self._act("add_host", {"host": host})

    def _act(self, action: str, body: Mapping[str, Any]) -> None:
        path = f"{self.collection.at(str(self.state.physical_id))}/action"
        self.service.ask("POST", path, body={action: body})
        self.changed()

    def handle_delete(self) -> bool:
        """Take its hosts away, and delete it."""
        for host in sorted((self.show() or {}).get("hosts", ())):
            self._act("remove_host", {"host": host})
        return super().handle_delete()

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        given = self.properties[name]
        if name == "metadata":
            return texts_as_given(given, _metadata(shown))
        if name == "hosts":
            return given if sorted(given) == sorted(shown["hosts"]) else shown["hosts"]
        return super().seen(name, shown)


def _metadata(shown: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata without the availability zone, which is part of it."""
    return {name: each for name, each in shown["metadata"].items() if name != "availability_zone"}
