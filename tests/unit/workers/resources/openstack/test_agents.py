"""Networks and routers on agents of one's choice, with a network service that has nothing but agents."""

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.plugins.steps import PropertyChanges, ResourceState
from tests.unit.workers.resources.core.made import UUID, make
from workers.resources.openstack.cloud_object import UNSEEN
from workers.resources.openstack.neutron.agents import Scheduled
from workers.resources.openstack.neutron.net import Net
from workers.resources.openstack.neutron.router import Router


class Refused(Exception):
    """The service refuses."""


class Agents:
    """A service with the agents of one object; ``refusing`` are agents that refuse everything."""

    def __init__(self, *agents: str, refusing: str = "", hidden: bool = False) -> None:
        self.agents, self.refusing, self.hidden, self.asked = {*agents}, refusing, hidden, 0

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        self.asked += 1
        if method == "GET" and self.hidden:
            raise Refused
        if method == "GET":
            return {"agents": [{"id": agent} for agent in sorted(self.agents)]}
        agent = path.split("/")[2]
        if agent == self.refusing:
            raise Refused
        if method == "POST":
            assert list(body.values()) == ["its-id"]
            self.agents.add(agent)
        else:
            assert path.endswith("/its-id")
            self.agents.remove(agent)
        return None

    def is_conflict(self, error: Exception) -> bool:
        return isinstance(error, Refused)

    is_not_found = is_forbidden = is_conflict


def of(kind: type[Scheduled], service: Agents, **properties: Any) -> Scheduled:
    class Made(kind):  # type: ignore[misc,valid-type]
        def show(self) -> dict[str, Any]:
            return {"id": "its-id", "status": "ACTIVE"}

        @property
        def service(self) -> Agents:
            return service

    return make(Made, properties, state=ResourceState(uuid=UUID, physical_id="its-id"))


KINDS: Mapping[str, type[Scheduled]] = {"dhcp_agent_ids": Net, "l3_agent_ids": Router}
every_kind = pytest.mark.parametrize(("name", "kind"), KINDS.items())


@every_kind
def test_it_is_served_by_the_agents_that_are_wanted(name: str, kind: type[Scheduled]) -> None:
    service = Agents("a", "b")
    assert of(kind, service, **{name: ["b", "c"]}).is_ready() is True
    assert service.agents == {"b", "c"}


@every_kind
def test_agents_that_nobody_names_are_left_alone(name: str, kind: type[Scheduled]) -> None:
    service = Agents("a")
    it = of(kind, service)
    assert it.is_ready() is True
    assert it.properties[name] is None
    assert service.asked == 0


@every_kind
def test_without_a_choice_any_more_no_agent_is_left(name: str, kind: type[Scheduled]) -> None:
    service = Agents("a")
    it = of(kind, service)
    it.handle_update(PropertyChanges(before={**it.properties, name: ["a"]}, after=it.properties))
    assert service.agents == set()


@every_kind
def test_a_refusal_of_an_agent_is_an_error(name: str, kind: type[Scheduled]) -> None:
    with pytest.raises(Refused):
        of(kind, Agents("a", refusing="a"), **{name: []}).is_ready()
    with pytest.raises(Refused):
        of(kind, Agents("a", refusing="b"), **{name: ["a", "b"]}).is_ready()


@every_kind
def test_who_may_not_see_agents_sees_no_difference(name: str, kind: type[Scheduled]) -> None:
    assert of(kind, Agents("a"), **{name: ["b"]}).seen(name, {}) == ["a"]
    assert of(kind, Agents("a", hidden=True), **{name: ["b"]}).seen(name, {}) is UNSEEN
