"""Objects of the network service that an administrator may give to agents of one's choice: networks and routers."""

from collections.abc import Collection as Names
from collections.abc import Mapping
from typing import Any, ClassVar

from orchestrator.plugins.steps import PropertyChanges
from workers.resources.openstack.cloud_object import UNSEEN
from workers.resources.openstack.neutron.neutron_object import NeutronObject


class Scheduled(NeutronObject):
    """An object with a property that lists the agents which serve it; nothing is changed where it is not given."""

    #: The property with the ids of agents.
    agents_property: ClassVar[str]
    #: The last part of the path of its agents: ``dhcp-agents``.
    agents_path: ClassVar[str]
    #: The last part of the path of what an agent serves, ``dhcp-networks``, and the key of an id there.
    scheduled_path: ClassVar[str]
    scheduled_key: ClassVar[str]

    def is_ready(self) -> Any:
        """Return whether it is ready; then it is served by its agents."""
        ready = super().is_ready()
        if ready is True and self.properties[self.agents_property] is not None:
            self._schedule(self.properties[self.agents_property])
        return ready

    def handle_update(self, changes: PropertyChanges) -> Any:
        """Change what one request can, and take it from its agents if none are given any more."""
        super().handle_update(changes)
        if self._is_taken_away(self.agents_property, changes):
            self._schedule(())

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it; its agents only if the user may see them."""
        if name != self.agents_property:
            return super().seen(name, shown)
        try:
            return self._agents()
        except Exception as error:
            if self.service.is_not_found(error) or self.service.is_forbidden(error):
                return UNSEEN
            raise

    def _agents(self) -> list[str]:
        path = f"{self.collection.at(str(self.state.physical_id))}/{self.agents_path}"
        return [str(agent["id"]) for agent in self.related(path, "agents")]

    def _schedule(self, wanted: Names[str]) -> None:
        """Add it to the agents that are wanted and do not serve it, and take it from others."""
        object_id, there = str(self.state.physical_id), set(self._agents())
        for agent in sorted(there - set(wanted)):
            self._change(agent, "DELETE", f"/agents/{agent}/{self.scheduled_path}/{object_id}")
        for agent in sorted(set(wanted) - there):
            body = {self.scheduled_key: object_id}
            self._change(agent, "POST", f"/agents/{agent}/{self.scheduled_path}", body)

    def _change(self, agent: str, method: str, path: str, body: Mapping[str, Any] | None = None) -> None:
        """Send a request to an agent; a request that another user has made meanwhile is no error."""
        try:
            self.service.ask(method, path, body=body)
        except Exception as error:
            is_refused = self.service.is_conflict(error) or self.service.is_not_found(error)
            if not is_refused or (agent in self._agents()) is (method == "DELETE"):
                raise
