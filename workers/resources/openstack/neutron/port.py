"""``OS::Neutron::Port``: a connection of a server, or of something else, to a network."""

from collections.abc import Collection as Names
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.siblings import Sibling, Siblings
from orchestrator.plugins.steps import CannotTell, PropertyChanges, ResourceFailure, Wait
from orchestrator.plugins.translation import Replace, Rule
from workers.clients.openstack_errors import status_of
from workers.resources.openstack.comparing import as_given
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.neutron.fixed_ips import fixed_ips_seen, fixed_ips_sent, without_null
from workers.resources.openstack.neutron.neutron_object import (
    NeutronObject,
    neutron_collection,
    renamed,
)
from workers.resources.openstack.neutron.order import subnets_of
from workers.resources.openstack.neutron.port_schema import ATTRIBUTES, PROFILE, PROPERTIES
from workers.resources.openstack.neutron.security_group_ids import security_group_ids

#: Properties that say what uses the port: the compute service and others set them, unless the template does.
_OF_USERS: Final = frozenset({"device_id", "device_owner"})
#: What begins the owner of a port of the network service's own, such as a router's.
_OF_THE_SERVICE: Final = "network:"
#: Private data: the addresses that were given up for a replacement.
_GIVEN_UP: Final = "given_up"


class Port(NeutronObject):
    """A port of the network service."""

    description = "A connection of a server, or of something else, to a network."
    example = """\
heat_template_version: 2021-04-16
resources:
  network:
    type: OS::Neutron::Net
  subnet:
    type: OS::Neutron::Subnet
    properties:
      network: {get_resource: network}
      cidr: 10.0.0.0/24
  port:
    type: OS::Neutron::Port
    properties:
      network: {get_resource: network}
      fixed_ips: [{subnet: {get_resource: subnet}, ip_address: 10.0.0.7}]
outputs:
  address: {value: {get_attr: [port, fixed_ips, 0, ip_address]}}
"""
    collection = neutron_collection("port")
    entity = "port"
    sent_as = {
        "network": "network_id",
        "qos_policy": "qos_policy_id",
        "replacement_policy": "",
        "no_fixed_ips": "",
    }
    extensions = {
        "allowed_address_pairs": "allowed-address-pairs",
        "dns_name": "dns-integration",
        "port_security_enabled": "port-security",
        "propagate_uplink_status": "uplink-status-propagation",
        "qos_policy": "qos",
        "security_groups": "security-group",
        "tags": "standard-attr-tag",
    }
    properties_schema = PROPERTIES
    attributes_schema = ATTRIBUTES

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003 (the contract)
        """Return the rules of old names, and of the names of networks and subnets."""
        return (
            renamed("network_id", "network"),
            Replace(path=("fixed_ips", "subnet"), sibling="subnet_id"),
            looked_up("network", "network"),
            looked_up("subnet", "fixed_ips", "subnet"),
            looked_up("QoS policy", "qos_policy"),
        )

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check that addresses are not both given and excluded.

        Raises:
            PropertyError: they are.
        """
        if UNKNOWN not in (properties["fixed_ips"], properties["no_fixed_ips"]) and all(
            (properties["fixed_ips"], properties["no_fixed_ips"])
        ):
            raise PropertyError(("no_fixed_ips",), "it cannot be given together with fixed_ips")

    @classmethod
    def implied_requirements(cls, own: Sibling, siblings: Siblings) -> Iterable[str]:
        """Return the subnets of its network, from any of which it may have its address."""
        return subnets_of(own.properties.get("network"), siblings)

    # -- the body of requests ----------------------------------------------------------------------------------

    def values(self, names: Names[str]) -> dict[str, Any]:
        """Return the body of a request.

        An empty list of addresses is not sent, for it would mean none: the service then chooses one, or leaves them.
        """
        body = super().values(names)
        if addresses := body.pop("fixed_ips", None):
            body["fixed_ips"] = fixed_ips_sent(addresses)
        if "no_fixed_ips" in names and self.properties["no_fixed_ips"]:
            body["fixed_ips"] = []
        if "allowed_address_pairs" in body:
            pairs = body["allowed_address_pairs"]
            body["allowed_address_pairs"] = [without_null(pair) for pair in pairs]
        if "security_groups" in body:
            body["security_groups"] = self._group_ids(body["security_groups"])
        return body

    def changed_values(self, changes: PropertyChanges) -> dict[str, Any]:
        """Return the body of an update: what is taken away goes back to what the service chooses for a new port."""
        body = super().changed_values(changes)
        if body.get("fixed_ips", ()) is None:
            del body["fixed_ips"]
        if "allowed_address_pairs" in body:
            body["allowed_address_pairs"] = body["allowed_address_pairs"] or []
        if body.get("security_groups", ()) is None:
            body["security_groups"] = self._group_ids(["default"])
        # Not seen where they are empty: the services that use the port set them.
        body |= {name: "" for name in _OF_USERS if changes.before.get(name) and not self.properties[name]}
        if profile := body.get(PROFILE):
            body[PROFILE] = self._profile(profile, changes)
        if (restored := self._restored()) is not None:
            body["fixed_ips"] = restored
        return body

    def _group_ids(self, names: Sequence[str]) -> list[str]:
        found = security_group_ids(self.service, names)
        return [found[name] for name in names]

    def _profile(self, wanted: Mapping[str, Any], changes: PropertyChanges) -> dict[str, Any]:
        """Return the profile of the binding with what the service and others wrote there, such as a card's slot."""
        before = (changes.before.get("value_specs") or {}).get(PROFILE) or {}
        gone = (before.keys() - wanted.keys()) | {name for name, value in wanted.items() if value is None}
        profile = {**(self.whole().get(PROFILE) or {}), **wanted}
        return {name: value for name, value in profile.items() if name not in gone}

    # -- replacing ---------------------------------------------------------------------------------------------

    def needs_replace(self, changes: PropertyChanges) -> bool:
        """Return whether the old policy is given that every change replaces the port."""
        return bool(changes.after.get("replacement_policy") == "REPLACE_ALWAYS")

    def prepare_for_replace(self) -> bool | Wait:
        """Give up its addresses, which the replacement may want; an update in place takes them back.

        The service refuses that while a floating IP leads to one of them: then the port keeps them.
        """
        shown = self.show()
        if not shown or not shown["fixed_ips"] or str(shown["device_owner"]).startswith(_OF_THE_SERVICE):
            return True
        if self.state.data.get(_GIVEN_UP) != shown["fixed_ips"]:
            # Stored before they are gone.
            self.state.data[_GIVEN_UP] = shown["fixed_ips"]
            return Wait(0)
        try:
            self.change({"fixed_ips": []})
        except Exception as error:
            if status_of(error) != HTTPStatus.BAD_REQUEST and not self.service.is_conflict(error):
                raise
            del self.state.data[_GIVEN_UP]
        return True

    def _restored(self) -> list[dict[str, Any]] | None:
        """Return the addresses to take back; None if none were given up."""
        given_up, given = self.state.data.get(_GIVEN_UP), self.properties["fixed_ips"]
        if not given_up or self.properties["no_fixed_ips"] or self.whole()["fixed_ips"]:
            return None
        as_they_were = fixed_ips_seen(given_up)
        if not given or as_given(given, as_they_were) == given:
            return [dict(each) for each in given_up]
        return fixed_ips_sent(given)

    def handle_update(self, changes: PropertyChanges) -> Any:
        """Change what is changed; the addresses that were given up are taken back.

        Raises:
            ResourceFailure: the port is gone.
        """
        super().handle_update(changes)
        if not self.show():
            raise ResourceFailure("it does not exist any more")
        self.state.data.pop(_GIVEN_UP, None)

    # -- reading -----------------------------------------------------------------------------------------------

    def observe(self) -> Mapping[str, Any] | CannotTell | None:
        """Return the given properties, as the service has them."""
        observed = super().observe()
        if not isinstance(observed, Mapping) or self.properties["no_fixed_ips"]:
            return observed
        # A network without subnets has no addresses to give, so none are missing.
        is_without = bool(self.state.data.get(_GIVEN_UP)) and not self.whole()["fixed_ips"]
        return {**observed, "no_fixed_ips": is_without}

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it; what the service chooses where nothing is given is no difference."""
        given = self.properties[name]
        if name == "no_fixed_ips":
            return not shown["fixed_ips"]
        if name == "replacement_policy" or (name in {*_OF_USERS, "fixed_ips"} and not given):
            return given
        if name == "fixed_ips":
            shown = {**shown, name: fixed_ips_seen(shown[name])}
        if name == "security_groups":
            named = {found: group for group, found in security_group_ids(self.service, given).items()}
            return [named.get(group, group) for group in shown[name]]
        return super().seen(name, shown)

    def attribute(self, name: str) -> Any:
        """Return an attribute; its network and subnets are objects of their own."""
        if name == "network":
            return self.related(f"/networks/{self.whole()['network_id']}", "network")
        if name == "subnets":
            ids = [each["subnet_id"] for each in self.whole()["fixed_ips"]]
            return [self.related(f"/subnets/{subnet}", "subnet") for subnet in ids]
        return super().attribute(name)
