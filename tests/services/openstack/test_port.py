"""``OS::Neutron::Port`` on a real network service."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from isotherm.testing.engine import Engine
from orchestrator.plugins.steps import PropertyChanges
from tests.services.openstack.cloud import UNIQUE, CloudConformance
from tests.services.openstack.outside import NET, SUBNET
from workers.resources.openstack.neutron.port import Port


class TestPort(CloudConformance):
    type = Port
    cannot = {"replaced by its like": UNIQUE}
    others = {"net": NET, "subnet": SUBNET}
    properties = {
        "network": {"get_resource": "net"},
        "security_groups": ["default"],
        "allowed_address_pairs": [{"ip_address": "10.9.0.1"}],
    }
    changes = {
        "fixed_ips": [{"subnet": {"get_resource": "subnet"}, "ip_address": "10.4.0.77"}],
        "security_groups": [],
        "mac_address": "FA-16-3E-00-00-01",
    }

    def objects(self) -> Collection[str]:
        """Return the ids of the ports of the project that are not a network's own."""
        ports = self.service().get("/ports").json()["ports"]
        return [str(port["id"]) for port in ports if not port["device_owner"].startswith("network:")]

    def _with(self, **properties: Any) -> str:
        its = {"network": {"get_resource": "net"}, **properties}
        resources = {**self.others, "it": {"type": "OS::Neutron::Port", "properties": its}}
        return json.dumps({"heat_template_version": "2021-04-16", "resources": resources})

    def _made(self, engine: Engine, **properties: Any) -> tuple[Port, Mapping[str, Any]]:
        self._is(engine.create("s", self._with(**properties)), "CREATE_COMPLETE")
        port = engine.watch.last
        assert isinstance(port, Port)
        return port, self._port(port)

    def _port(self, port: Port) -> dict[str, Any]:
        return dict(self.service().get(f"/ports/{port.state.physical_id}").json()["port"])

    def test_addresses_are_given_up_for_a_replacement_and_taken_back(self) -> None:
        with self._engine() as engine:
            before = self._there()
            port, made = self._made(engine)
            for _ in range(2):
                while port.prepare_for_replace() is not True:
                    pass
                assert self._port(port)["fixed_ips"] == []
            port.changed()
            assert port.observe() != {name: port.properties[name] for name in port.observe() or ()}  # type: ignore[union-attr]
            for _ in range(2):
                port.handle_update(PropertyChanges(before=port.properties, after=port.properties))
                assert self._port(port)["fixed_ips"] == made["fixed_ips"]
            self._is_gone(engine, before)

    def test_a_port_stays_that_of_who_uses_it(self) -> None:
        with self._engine() as engine:
            before = self._there()
            port, _ = self._made(engine, device_owner="mine")
            path = f"/ports/{port.state.physical_id}"
            self.service().put(path, json={"port": {"device_id": "machine"}})
            self._is(engine.operate("CHECK", "s"), "CHECK_COMPLETE")
            self._is_updated(engine, self._with(name="other"), "")
            found = self._port(port)
            assert (found["name"], found["device_id"], found["device_owner"]) == ("other", "machine", "")
            self.service().put(path, json={"port": {"device_id": ""}})
            self._is_gone(engine, before)

    def test_what_is_taken_away_goes_back_to_the_default(self) -> None:
        with self._engine() as engine:
            before = self._there()
            pairs = [{"ip_address": "10.9.0.0/24"}]
            port, bare = self._made(engine, security_groups=[], allowed_address_pairs=pairs, tags=["x"])
            assert bare["security_groups"] == []
            self._is_updated(engine, self._with(), "")
            found = self._port(port)
            assert len(found["security_groups"]) == 1
            assert (found["allowed_address_pairs"], found["tags"]) == ([], [])
            self._is_gone(engine, before)

    def test_a_port_may_have_no_address(self) -> None:
        with self._engine() as engine:
            before = self._there()
            port, made = self._made(engine, no_fixed_ips=True, value_specs={"description": "mine"})
            assert made["fixed_ips"] == []
            assert made["description"].startswith("mine [isotherm:")
            self._is(engine.operate("CHECK", "s"), "CHECK_COMPLETE")
            given = [{"subnet": {"get_resource": "subnet"}, "ip_address": "10.4.0.9"}]
            self._is_updated(engine, self._with(fixed_ips=given, value_specs={"description": "his"}), "")
            found = self._port(port)
            assert [each["ip_address"] for each in found["fixed_ips"]] == ["10.4.0.9"]
            assert found["description"] == made["description"].replace("mine", "his")
            self._is_gone(engine, before)
