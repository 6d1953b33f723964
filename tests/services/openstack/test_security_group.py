"""``OS::Neutron::SecurityGroup`` and ``OS::Neutron::SecurityGroupRule`` on a real network service."""

import json
import os

import pytest

from isotherm.testing.engine import Engine
from orchestrator.plugins.properties import PropertyError
from tests.services.openstack.cloud import NOTHING_CHANGES, CloudConformance
from workers.resources.openstack.neutron.security_group import SecurityGroup
from workers.resources.openstack.neutron.security_group_rule import SecurityGroupRule
from workers.resources.openstack.neutron.security_rules import rule_key

#: What is made has names of its own, so that two processes may run these tests.
IT = f"conformance-{os.getpid()}"
SSH = {"protocol": "tcp", "port_range_min": 22, "port_range_max": 22}
ALL = {("egress", "IPv4", None), ("egress", "IPv6", None)}


class TestSecurityGroup(CloudConformance):
    type = SecurityGroup
    properties = {
        "name": f"{IT}-a",
        "description": "a",
        "rules": [SSH, {"remote_mode": "remote_group_id"}],
    }
    changes = {
        "name": f"{IT}-b",
        "rules": [SSH, {"direction": "egress", "protocol": "udp", "remote_ip_prefix": "10.0.0.1/24"}],
    }

    def objects(self) -> list[str]:
        """Return the ids of the groups of this test."""
        groups = self.service().get("/security-groups").json()["security_groups"]
        return [each["id"] for each in groups if each["name"].startswith((IT, "rules-group-"))]

    def rules(self, group: str) -> set[tuple[str | None, ...]]:
        shown = self.service().get(f"/security-groups/{group}").json()["security_group"]
        return {
            (each["direction"], each["ethertype"], each["protocol"]) for each in shown["security_group_rules"]
        }

    def stack(self, engine: Engine, do: str, *rules: object) -> str:
        """Create or update a stack with a group with these rules; return the id of the group."""
        group = {"type": "OS::Neutron::SecurityGroup", "properties": {"rules": list(rules)}}
        template = json.dumps({"heat_template_version": "2021-04-16", "resources": {"group": group}})
        stack = getattr(engine, do)("rules", template)
        assert stack.status == "COMPLETE", stack.reason
        return str(engine.resource("rules", "group").physical_id)

    def test_rules_for_egress_replace_the_default_ones_until_they_are_taken_away(self) -> None:
        with self._engine() as engine:
            dns = {"direction": "egress", "protocol": "udp", "port_range_min": 53, "port_range_max": 53}
            group = self.stack(engine, "create")
            assert self.rules(group) == ALL
            assert self.stack(engine, "update", dns) == group
            assert self.rules(group) == {("egress", "IPv4", "udp")}
            self.stack(engine, "update", SSH)
            assert self.rules(group) == {*ALL, ("ingress", "IPv4", "tcp")}
            self._is(engine.operate("CHECK", "rules"), "CHECK_COMPLETE")
            assert engine.delete("rules") is None

    def test_rules_made_by_hand_are_drift_and_those_of_other_resources_are_not(self) -> None:
        with self._engine() as engine:
            group = self.stack(engine, "create", SSH)
            rule = {"type": "OS::Neutron::SecurityGroupRule", "properties": {"security_group": group}}
            other = json.dumps({"heat_template_version": "2021-04-16", "resources": {"rule": rule}})
            self._is(engine.create("other", other), "CREATE_COMPLETE")
            self._is(engine.operate("CHECK", "rules"), "CHECK_COMPLETE")
            body = {"security_group_id": group, "direction": "ingress", "protocol": "udp"}
            made = self.service().post("/security-group-rules", json={"security_group_rule": body})
            assert made.status_code == 201
            self._is(engine.operate("CHECK", "rules"), "CHECK_FAILED")
            self.stack(engine, "update", SSH, {"protocol": "icmp"})
            assert self.rules(group) == {*ALL, ("ingress", "IPv4", "tcp"), ("ingress", "IPv4", "icmp")}
            self._is(engine.operate("CHECK", "other"), "CHECK_COMPLETE")
            assert engine.delete("other") is None
            assert engine.delete("rules") is None


class TestSecurityGroupRule(CloudConformance):
    type = SecurityGroupRule
    cannot = {"updated": NOTHING_CHANGES}
    others = {"group": {"type": "OS::Neutron::SecurityGroup", "properties": {"name": f"{IT}-of-rules"}}}
    properties = {
        "security_group": {"get_resource": "group"},
        "protocol": "6",
        "port_range_min": 80,
        "port_range_max": 81,
        "remote_ip_prefix": "10.0.0.1/24",
    }
    changes = {"protocol": "udp"}

    def objects(self) -> list[str]:
        """Return the ids of the rules of the group of this test, without the default ones."""
        groups = self.service().get(f"/security-groups?name={IT}-of-rules").json()["security_groups"]
        rules = [rule for group in groups for rule in group["security_group_rules"]]
        return [each["id"] for each in rules if each["direction"] == "ingress"]


def test_a_rule_has_one_other_side_and_a_range_in_order() -> None:
    given = {"protocol": "tcp", "remote_group": None, "remote_ip_prefix": None}
    ports = {"port_range_min": 8, "port_range_max": 0}
    with pytest.raises(PropertyError, match="before the first"):
        SecurityGroupRule.validate({**given, **ports})
    SecurityGroupRule.validate({**given, **ports, "protocol": "icmp"})
    with pytest.raises(PropertyError, match="together"):
        SecurityGroupRule.validate({**given, **ports, "remote_group": "g", "remote_ip_prefix": "::/0"})


def test_no_group_is_called_default() -> None:
    with pytest.raises(PropertyError, match="every project"):
        SecurityGroup.validate({"name": "default"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"protocol": "tcp"}, {"protocol": "6"}),
        ({"protocol": None}, {"protocol": "any", "remote_ip_prefix": "0.0.0.0/0"}),
        ({"protocol": "icmp", "ethertype": "IPv6"}, {"protocol": "icmpv6", "ethertype": "IPv6"}),
        ({"remote_ip_prefix": "10.0.0.1/24"}, {"remote_ip_prefix": "10.0.0.0/24", "ethertype": "IPv4"}),
    ],
)
def test_rules_are_the_same_however_they_are_spelled(one: dict[str, str], other: dict[str, str]) -> None:
    assert rule_key({"direction": "ingress", **one}) == rule_key({"direction": "ingress", **other})
    assert rule_key({"direction": "ingress", **one}) != rule_key({"direction": "egress", **other})
