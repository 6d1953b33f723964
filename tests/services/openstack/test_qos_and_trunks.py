"""Types of the network service whose extensions few clouds have, on one in memory."""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, ClassVar

import pytest

from isotherm.testing import ResourceConformance
from isotherm.testing.engine import Engine
from tests.services.openstack.memory import Memory, Names
from workers.resources.openstack.neutron.qos_policy import QoSPolicy
from workers.resources.openstack.neutron.qos_rules import (
    QoSBandwidthLimitRule,
    QoSDscpMarkingRule,
    QoSMinimumBandwidthRule,
    QoSMinimumPacketRateRule,
)
from workers.resources.openstack.neutron.trunk import Trunk

POLICY = {"policy": {"type": "OS::Neutron::QoSPolicy"}}


class MemoryConformance(ResourceConformance):
    """The contract, on a network service in memory."""

    clients = {"openstack": Names, "neutron": Memory}
    settings = {"clients": {"openstack": {"cloud": "memory"}}}
    #: The end of the path of the type's collection.
    kept_at: str
    is_shown = True
    cannot: ClassVar[Mapping[str, str]] = {}
    more_changes: ClassVar[Mapping[str, Any]] = {}

    @pytest.fixture(autouse=True)
    def _empty(self) -> Iterator[None]:
        Memory.there.clear()
        Memory.sent.clear()
        yield
        assert not any(Memory.there.values()), "something is left"

    def objects(self) -> Collection[str]:
        """Return the ids of all objects in the type's collection."""
        return [each for path, there in Memory.there.items() if path.endswith(self.kept_at) for each in there]

    def asked(self, object_id: str) -> Mapping[str, Any] | None:
        """Return an object as the service has it; None if it is gone."""
        return next((there[object_id] for there in Memory.there.values() if object_id in there), None)

    def everything(self) -> set[str]:
        """Return what there is, of any kind."""
        return {f"{path} {each}" for path, there in Memory.there.items() for each in there}

    def made(self) -> tuple[str, Any]:
        """Make and delete the stack; return the path and the body of the request that made the resource."""
        with self._engine() as engine:
            self._is(engine.create("s", self._template()), "CREATE_COMPLETE")
            (made,) = (each for each in Memory.sent if each[0] == "POST" and each[1].endswith(self.kept_at))
            assert engine.delete("s") is None
        return made[1], made[2]


class TestQoSPolicy(MemoryConformance):
    type = QoSPolicy
    kept_at = "/qos/policies"
    properties = {"name": "a", "description": "slow"}
    changes = {"name": "b", "shared": True}

    def test_it_is_sent_as_a_policy(self) -> None:
        path, body = self.made()
        assert path == "/qos/policies"
        assert body["policy"]["description"].startswith("slow [isotherm:")
        assert (body["policy"]["name"], body["policy"]["shared"]) == ("a", False)


class RuleConformance(MemoryConformance):
    """The contract, for rules of a policy."""

    #: That of a rule for which none is given.
    direction: str | None = None

    others = POLICY

    def test_a_rule_that_was_there_before_stays(self) -> None:
        with self._engine() as engine:
            policy = json.dumps({"heat_template_version": "2021-04-16", "resources": POLICY})
            self._is(engine.create("s", policy), "CREATE_COMPLETE")
            given = {name: value for name, value in self.properties.items() if name != "policy"}
            path = f"/qos/policies/{engine.resource('s', 'policy').physical_id}{self.kept_at}"
            Memory.there[path] = {"theirs": {"direction": self.direction, **given, "id": "theirs"}}
            self._is(engine.update("s", self._template()), "UPDATE_FAILED")
            assert engine.delete("s") is None
            assert list(Memory.there.pop(path)) == ["theirs"]

    def test_it_is_sent_to_its_policy(self) -> None:
        path, body = self.made()
        (key,) = body
        given = {name: value for name, value in self.properties.items() if name != "policy"}
        assert path.startswith("/qos/policies/")
        assert path.endswith(f"/{key}s")
        assert given.items() <= body[key].items()
        assert "policy" not in body[key]
        assert "description" not in body[key]


class TestBandwidthLimit(RuleConformance):
    type = QoSBandwidthLimitRule
    kept_at = "/bandwidth_limit_rules"
    properties = {"policy": {"get_resource": "policy"}, "max_kbps": 10, "direction": "ingress"}
    changes = {"max_kbps": 20, "direction": "egress"}


class TestDscpMarking(RuleConformance):
    type = QoSDscpMarkingRule
    kept_at = "/dscp_marking_rules"
    properties = {"policy": {"get_resource": "policy"}, "dscp_mark": 8}
    changes = {"dscp_mark": 56}


class TestMinimumBandwidth(RuleConformance):
    type = QoSMinimumBandwidthRule
    direction = "egress"
    kept_at = "/minimum_bandwidth_rules"
    properties = {"policy": {"get_resource": "policy"}, "min_kbps": 10}
    changes = {"min_kbps": 20}


class TestMinimumPacketRate(RuleConformance):
    type = QoSMinimumPacketRateRule
    direction = "any"
    kept_at = "/minimum_packet_rate_rules"
    properties = {"policy": {"get_resource": "policy"}, "min_kpps": 10}
    changes = {"min_kpps": 20}


class TestTrunk(MemoryConformance):
    type = Trunk
    kept_at = "/trunks"
    properties = {
        "name": "a",
        "port": "parent",
        "sub_ports": [
            {"port": "child", "segmentation_type": "vlan", "segmentation_id": 1},
            {"port": "other", "segmentation_type": "vlan", "segmentation_id": 2},
        ],
    }
    changes = {
        "name": "b",
        "sub_ports": [
            {"port": "child", "segmentation_type": "vlan", "segmentation_id": 3},
            {"port": "other", "segmentation_type": "vlan", "segmentation_id": 2},
        ],
    }

    def test_only_ports_that_differ_are_taken_out_and_put_in(self) -> None:
        with self._engine() as engine:
            self._is(engine.create("s", self._template()), "CREATE_COMPLETE")
            assert self._puts(engine) == [
                ("remove_subports", {"sub_ports": [{"port_id": "child"}]}),
                (
                    "add_subports",
                    {"sub_ports": [{"port_id": "child", "segmentation_type": "vlan", "segmentation_id": 3}]},
                ),
            ]
            assert engine.delete("s") is None

    def _puts(self, engine: Engine) -> list[tuple[str, Any]]:
        self._is(engine.update("s", self._template("sub_ports")), "UPDATE_COMPLETE")
        return [(path.rpartition("/")[2], body) for method, path, body in Memory.sent if method == "PUT"]

    def test_the_port_that_carries_the_others_stays_the_same(self) -> None:
        with self._engine() as engine:
            self._is(engine.create("s", self._template()), "CREATE_COMPLETE")
            self._is(engine.update("s", self._template().replace("parent", "another")), "UPDATE_FAILED")
            assert engine.delete("s") is None
