"""The properties and attributes of ports."""

from typing import Any, Final

from orchestrator.plugins.constraints import AllowedValues
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import Attribute, Property, PropertyType
from orchestrator.plugins.support import Support, SupportStatus
from workers.resources.openstack.neutron.neutron_object import TAGS, VALUE_SPECS, old_name
from workers.resources.schemas import boolean, listing, live, mapping, text

#: The further value that is the profile of a port's binding, a part of which others write.
PROFILE: Final = "binding:profile"
_NETWORK: Final = (Custom("neutron.network"),)
_SUBNET: Final = (Custom("neutron.subnet"),)
_ADDRESS: Final = (Custom("ip_addr"),)
_MAC: Final = (Custom("mac_addr"),)
_VNIC_TYPES: Final = (
    "normal",
    "direct",
    "macvtap",
    "direct-physical",
    "baremetal",
    "virtio-forwarder",
    "smart-nic",
)
_POLICY_STATUS: Final = SupportStatus(
    status=Support.HIDDEN,
    version="9.0.0",
    previous=SupportStatus(
        status=Support.DEPRECATED, version="6.0.0", message="no port needs to be replaced any more"
    ),
)


def _changeable(made: Any, *words: Any, **fields: Any) -> Property:
    found: Property = made(*words, update_allowed=True, **fields)
    return found


PROPERTIES: Final = {
    "name": _changeable(text, "Its name."),
    "network_id": old_name("network", constraints=_NETWORK),
    "network": text("The id or name of its network.", required=True, constraints=_NETWORK),
    "device_id": _changeable(text, "The id of what uses it, such as a server.", default=""),
    "device_owner": _changeable(text, "The kind of what uses it, such as `compute:nova`.", default=""),
    "fixed_ips": _changeable(
        listing,
        "Its addresses; by default, and with an empty list, the service chooses one.",
        schema=mapping(
            "An address.",
            schema={
                "subnet_id": old_name("subnet", constraints=_SUBNET),
                "subnet": text("The id or name of the subnet that it is of.", constraints=_SUBNET),
                "ip_address": text("The address; by default, the service chooses one.", constraints=_ADDRESS),
            },
        ),
    ),
    "security_groups": _changeable(
        listing,
        "The ids of its security groups, or the names of groups of the project; by default, the group `default`.",
    ),
    "replacement_policy": _changeable(
        text,
        "With `REPLACE_ALWAYS`, every change replaces the port.",
        default="AUTO",
        constraints=(AllowedValues(("REPLACE_ALWAYS", "AUTO")),),
        support_status=_POLICY_STATUS,
    ),
    "dns_name": _changeable(text, "Its DNS name.", constraints=(Custom("dns_name"),)),
    "tags": TAGS,
    "value_specs": VALUE_SPECS,
    "admin_state_up": _changeable(boolean, "Whether it is up.", default=True),
    "mac_address": text("Its hardware address; by default, the service chooses one.", constraints=_MAC),
    "allowed_address_pairs": _changeable(
        listing,
        "Further addresses that what uses it may have.",
        schema=mapping(
            "An address.",
            schema={
                "mac_address": text("The hardware address; by default, that of the port.", constraints=_MAC),
                "ip_address": text(
                    "The IP address, or network.", required=True, constraints=(Custom("ip_or_cidr"),)
                ),
            },
        ),
    ),
    "binding:vnic_type": _changeable(
        text,
        "How it is connected: by a virtual card (`normal`), or by one of the kinds of cards that are passed through.",
        default="normal",
        constraints=(AllowedValues(_VNIC_TYPES),),
    ),
    "port_security_enabled": _changeable(
        boolean, "Whether security groups and addresses are enforced; by default, as its network says."
    ),
    "qos_policy": _changeable(
        text,
        "The id or name of its policy of the quality of service.",
        constraints=(Custom("neutron.qos_policy"),),
    ),
    "propagate_uplink_status": _changeable(boolean, "Whether it is down while its uplink is."),
    "no_fixed_ips": _changeable(boolean, "Whether it has no addresses at all.", default=False),
}

ATTRIBUTES: Final[dict[str, Attribute]] = {
    "admin_state_up": live("Whether it is up."),
    "device_id": live("The id of what uses it.", PropertyType.STRING),
    "device_owner": live("The kind of what uses it.", PropertyType.STRING),
    "fixed_ips": live("Its addresses: maps with `subnet_id` and `ip_address`.", PropertyType.LIST),
    "mac_address": live("Its hardware address.", PropertyType.STRING),
    "name": live("Its name.", PropertyType.STRING),
    "network_id": live("The id of its network.", PropertyType.STRING),
    "security_groups": live("The ids of its security groups.", PropertyType.LIST),
    "status": live("Its status.", PropertyType.STRING),
    "tenant_id": live("The id of its project.", PropertyType.STRING),
    "allowed_address_pairs": live("Further addresses of what uses it.", PropertyType.LIST),
    "subnets": live("The subnets of its addresses, with all that the service shows.", PropertyType.LIST),
    "port_security_enabled": live(
        "Whether security groups and addresses are enforced.", PropertyType.BOOLEAN
    ),
    "qos_policy_id": live("The id of its policy of the quality of service.", PropertyType.STRING),
    "dns_assignment": live("Its DNS names, with their addresses."),
    "network": live("Its network, with all that the service shows.", PropertyType.MAP),
    "propagate_uplink_status": live("Whether it is down while its uplink is.", PropertyType.BOOLEAN),
}
