"""Changes of the objects of OpenStack's types behind the engine's back, by requests past the types."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from tests.drifting import Tampering, Thing, Way
from tests.services.openstack.memory import Memory
from tests.waiting import until
from workers.resources.openstack.keystone.links import member_link, role_link
from workers.resources.openstack.neutron.security_rules import rule_key

#: A text that no template has.
THEIRS: Final = "theirs"
_NEVER_CHANGES: Final = "the service changes nothing of it"
_RELATION: Final = "a relation has nothing to change: it is there, or is not"
_PATCH: Final = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
_TAGGED: Final = "2.26"


def sent(thing: Thing, method: str, path: str, body: object = None, *, service: str = "", **more: Any) -> Any:
    """Send a request to the service of the type, or to another; return its answer, whatever it is made of.

    Raises:
        AssertionError: it was refused.
    """
    answer = thing.case.service(service).request(path, method, json=body, **more)
    assert answer.status_code < 400, f"{method} {path}: {answer.text}"
    return answer.json() if answer.content else None


def at(thing: Thing, more: str = "") -> str:
    """Return the address of the object, or of a part of it."""
    address: str = thing.case.type.collection.at(thing.id)
    return address + more


# -- ways to change properties -----------------------------------------------------------------------------------------


def _shown(thing: Thing, name: str) -> Any:
    shown = thing.case.asked(thing.id)
    assert shown is not None, "it is gone"
    return shown[thing.case.type.sent_as.get(name, name) or name]


def _change(thing: Thing, name: str, value: Any) -> None:
    kind = thing.case.type.collection
    body = {thing.case.type.sent_as.get(name, name): value}
    sent(
        thing,
        kind.changed_by,
        at(thing),
        {kind.key: body} if kind.key else body,
        microversion=kind.microversion,
    )


def _acting(request: Callable[[Thing, Any], object]) -> Way:
    """Return the way to a property that has a request of its own."""
    return Way(read=_shown, write=lambda thing, _, value: request(thing, value))


PLAIN: Final = Way(read=_shown, write=_change)
TAGS: Final = _acting(lambda thing, tags: sent(thing, "PUT", at(thing, "/tags"), {"tags": tags}))
#: Without the tag by which a server is found, which such a change replaces together with its tags.
SERVER_TAGS: Final = Way(
    read=lambda thing, _: sent(thing, "GET", at(thing, "/tags"), microversion=_TAGGED)["tags"],
    write=lambda thing, _, tags: sent(thing, "PUT", at(thing, "/tags"), {"tags": tags}, microversion=_TAGGED),
)
SERVER_METADATA: Final = _acting(
    lambda thing, values: sent(thing, "PUT", at(thing, "/metadata"), {"metadata": values})
)
VOLUME_METADATA: Final = SERVER_METADATA
TYPE_METADATA: Final = Way(
    read=lambda thing, _: thing.case.asked(thing.id)["extra_specs"],
    write=lambda thing, _, specs: sent(thing, "POST", at(thing, "/extra_specs"), {"extra_specs": specs}),
)
FLAVOR_SPECS: Final = Way(
    read=lambda thing, _: sent(thing, "GET", at(thing, "/os-extra_specs"))["extra_specs"],
    write=lambda thing, _, specs: sent(thing, "POST", at(thing, "/os-extra_specs"), {"extra_specs": specs}),
)
AGGREGATE_METADATA: Final = _acting(
    lambda thing, values: sent(thing, "POST", at(thing, "/action"), {"set_metadata": {"metadata": values}})
)
QOS_SPECS: Final = _acting(lambda thing, specs: sent(thing, "PUT", at(thing), {"qos_specs": specs}))
GATEWAY_ROUTES: Final = Way(
    read=lambda thing, _: sent(thing, "GET", f"/routers/{_router(thing)}")["router"]["routes"],
    write=lambda thing, _, routes: sent(
        thing, "PUT", f"/routers/{_router(thing)}", {"router": {"routes": routes}}
    ),
)


def _router(thing: Thing) -> str:
    return thing.id.partition(":")[0]


def _patch(thing: Thing, name: str, value: Any) -> None:
    sent(
        thing,
        "PATCH",
        at(thing),
        [{"op": "replace", "path": f"/{name}", "value": value}],
        headers=_PATCH,
    )


IMAGE: Final = Way(read=_shown, write=_patch)
EXTRA_OF_IMAGE: Final = Way(
    read=lambda thing, _: thing.case.asked(thing.id)["b"],
    write=lambda thing, _, value: _patch(thing, "b", value),
)


def _links(name: str, link: Callable[[Thing, Any], str]) -> Way:
    """Return the way to relations of the identity service: a list of those that are there."""

    def given(thing: Thing) -> list[str]:
        return sorted(link(thing, each) for each in thing.given[name])

    def is_there(thing: Thing, address: str) -> bool:
        return bool(thing.case.service().head(address).status_code < 400)

    def write(thing: Thing, _: str, wanted: list[str]) -> None:
        for address in given(thing):
            sent(thing, "PUT" if address in wanted else "DELETE", address)

    return Way(
        read=lambda thing, _: [each for each in given(thing) if is_there(thing, each)],
        write=write,
    )


def _role(holders: str, thing: Thing, role: Any) -> str:
    return role_link(holders, thing.id, role)


ROLES_OF_USER: Final = _links("roles", partial(_role, "users"))
ROLES_OF_GROUP: Final = _links("roles", partial(_role, "groups"))
GROUPS_OF_USER: Final = _links("groups", lambda thing, group: member_link(group, thing.id))
ASSIGNED: Final = _links(
    "roles",
    lambda thing, role: role_link(f"{thing.case.type.holder}s", thing.given[thing.case.type.holder], role),
)


def _associated(thing: Thing, _: str) -> list[str]:
    path = f"/qos-specs/{thing.given['qos_specs']}/associations"
    return sorted(each["id"] for each in sent(thing, "GET", path)["qos_associations"])


def _associate(thing: Thing, _: str, wanted: list[str]) -> None:
    there = _associated(thing, _)
    for what, types in (("associate", set(wanted) - set(there)), ("disassociate", set(there) - set(wanted))):
        for each in sorted(types):
            path = f"/qos-specs/{thing.given['qos_specs']}/{what}"
            sent(thing, "GET", path, params={"vol_type_id": each})


ASSOCIATIONS: Final = Way(read=_associated, write=_associate)


def _encryption(thing: Thing) -> Mapping[str, Any]:
    found: Mapping[str, Any] = sent(thing, "GET", f"/types/{thing.id}/encryption")
    return found


def _encryption_at(thing: Thing) -> str:
    return f"/types/{thing.id}/encryption/{_encryption(thing)['encryption_id']}"


ENCRYPTION: Final = Way(
    read=lambda thing, name: _encryption(thing)[name],
    write=lambda thing, name, value: sent(thing, "PUT", _encryption_at(thing), {"encryption": {name: value}}),
)
_RULE: Final = (
    *("direction", "ethertype", "protocol", "port_range_min", "port_range_max"),
    *("remote_ip_prefix", "remote_group_id"),
)


def _rules(thing: Thing, _: str) -> list[dict[str, Any]]:
    shown = thing.case.asked(thing.id)["security_group_rules"]
    return [{name: each[name] for name in _RULE} for each in shown]


def _set_rules(thing: Thing, _: str, wanted: list[dict[str, Any]]) -> None:
    keys = {rule_key(each) for each in wanted}
    shown = thing.case.asked(thing.id)["security_group_rules"]
    for each in shown:
        if rule_key(each) not in keys:
            sent(thing, "DELETE", f"/security-group-rules/{each['id']}")
    there = {rule_key(each) for each in shown}
    for each in wanted:
        if rule_key(each) not in there:
            body = {**each, "security_group_id": thing.id}
            sent(thing, "POST", "/security-group-rules", {"security_group_rule": body})


RULES: Final = Way(read=_rules, write=_set_rules)


def _kept(thing: Thing, name: str) -> Any:
    return thing.case.asked(thing.id)[thing.case.type.sent_as.get(name, name)]


def _keep(thing: Thing, name: str, value: Any) -> None:
    thing.case.asked(thing.id)[thing.case.type.sent_as.get(name, name)] = value


IN_MEMORY: Final = Way(read=_kept, write=_keep)

# -- ways to take objects away -----------------------------------------------------------------------------------------


def _delete(thing: Thing) -> None:
    """Delete the object, and wait until its service does not show it any more."""
    object_id = thing.id
    sent(thing, "DELETE", at(thing), microversion=thing.case.type.collection.microversion)
    until(lambda: thing.case.asked(object_id) is None, pause_seconds=0.1)


def _delete_domain(thing: Thing) -> None:
    _change(thing, "enabled", False)
    _delete(thing)


def _disconnect(thing: Thing) -> None:
    path = f"/routers/{_router(thing)}/remove_router_interface"
    sent(thing, "PUT", path, {"subnet_id": thing.given["subnet"]})


def _without_gateway(thing: Thing) -> None:
    sent(thing, "PUT", f"/routers/{_router(thing)}", {"router": {"external_gateway_info": {}}})


def _lead_to(thing: Thing, _: str, port: str | None) -> None:
    path = f"/floatingips/{thing.given['floatingip_id']}"
    sent(thing, "PUT", path, {"floatingip": {"port_id": port}})


def _leads_to(thing: Thing, _: str) -> str | None:
    shown = sent(thing, "GET", f"/floatingips/{thing.given['floatingip_id']}")
    port: str | None = shown["floatingip"]["port_id"]
    return port


def _detach(thing: Thing) -> None:
    volume, server = thing.given["volume_id"], thing.given["instance_uuid"]
    sent(thing, "DELETE", f"/servers/{server}/os-volume_attachments/{volume}", service="compute")
    until(
        lambda: sent(thing, "GET", f"/volumes/{volume}")["volume"]["status"] == "available",
        pause_seconds=0.1,
    )


def _forget(thing: Thing) -> None:
    object_id = thing.id
    for there in Memory.there.values():
        there.pop(object_id, None)


# -- by type -----------------------------------------------------------------------------------------------------------

_of_cloud = partial(Tampering, way=PLAIN, take=_delete)
_in_memory = partial(Tampering, way=IN_MEMORY, take=_forget)
_fixed = partial(_of_cloud, because=_NEVER_CHANGES)
_limits = partial(_of_cloud, take=None, because="a project always has limits")

#: By the name of a type.
TAMPERING: Final[Mapping[str, Tampering]] = {
    "OS::Cinder::EncryptedVolumeType": _of_cloud(
        way=ENCRYPTION,
        values={"key_size": 128},
        take=lambda thing: sent(thing, "DELETE", _encryption_at(thing)),
    ),
    "OS::Cinder::QoSAssociation": _of_cloud(
        way=ASSOCIATIONS,
        values={"volume_types": lambda before: before[:1]},
        take=lambda thing: _associate(thing, "", []),
    ),
    "OS::Cinder::QoSSpecs": _of_cloud(
        ways={"specs": QOS_SPECS}, values={"specs": {"total_iops_sec": "9", "b": "x"}}
    ),
    "OS::Cinder::Quota": _limits(values={"volumes": 33}),
    "OS::Cinder::Volume": _of_cloud(
        ways={"metadata": VOLUME_METADATA}, values={"name": THEIRS, "metadata": {"a": "9"}}
    ),
    "OS::Cinder::VolumeAttachment": _of_cloud(take=_detach, because=_RELATION),
    "OS::Cinder::VolumeType": _of_cloud(
        ways={"metadata": TYPE_METADATA}, values={"metadata": {"a": "9", "b": "2"}}
    ),
    "OS::Glance::WebImage": _of_cloud(
        way=IMAGE,
        ways={"extra_properties": EXTRA_OF_IMAGE},
        values={"tags": [THEIRS], "extra_properties": "9"},
    ),
    "OS::Keystone::Domain": _of_cloud(
        values={"name": lambda name: f"{name}-{THEIRS}", "description": THEIRS, "enabled": False},
        take=_delete_domain,
    ),
    "OS::Keystone::Endpoint": _of_cloud(values={"url": "https://theirs", "interface": "internal"}),
    "OS::Keystone::Group": _of_cloud(
        ways={"roles": ROLES_OF_GROUP}, values={"description": THEIRS, "roles": []}
    ),
    "OS::Keystone::GroupRoleAssignment": _of_cloud(
        take=lambda thing: ASSIGNED.write(thing, "", []), because=_RELATION
    ),
    "OS::Keystone::Project": _of_cloud(
        values={"description": THEIRS, "enabled": False, "tags": [THEIRS]},
    ),
    "OS::Keystone::Region": _of_cloud(values={"description": THEIRS, "parent_region": None}),
    "OS::Keystone::Role": _of_cloud(values={"name": lambda name: f"{name}-{THEIRS}"}),
    "OS::Keystone::Service": _of_cloud(values={"name": THEIRS, "type": THEIRS, "enabled": False}),
    "OS::Keystone::User": _of_cloud(
        ways={"roles": ROLES_OF_USER, "groups": GROUPS_OF_USER},
        values={"email": "theirs@example.org", "enabled": False, "roles": [], "groups": []},
    ),
    "OS::Keystone::UserRoleAssignment": _of_cloud(
        take=lambda thing: ASSIGNED.write(thing, "", []), because=_RELATION
    ),
    "OS::Neutron::AddressScope": _of_cloud(values={"name": THEIRS}),
    "OS::Neutron::ExtraRoute": _of_cloud(
        take=lambda thing: GATEWAY_ROUTES.write(thing, "", []), because=_RELATION
    ),
    "OS::Neutron::ExtraRouteSet": _of_cloud(
        ways={"routes": GATEWAY_ROUTES},
        values={"routes": lambda before: before[:1]},
        take=lambda thing: GATEWAY_ROUTES.write(thing, "", []),
    ),
    "OS::Neutron::FloatingIP": _of_cloud(values={"port_id": None}),
    "OS::Neutron::FloatingIPAssociation": _of_cloud(
        take=lambda thing: _lead_to(thing, "", None), because=_RELATION
    ),
    "OS::Neutron::Net": _of_cloud(
        ways={"tags": TAGS}, values={"name": THEIRS, "admin_state_up": False, "tags": [THEIRS]}
    ),
    "OS::Neutron::Port": _of_cloud(
        values={
            "admin_state_up": False,
            "security_groups": [],
            "allowed_address_pairs": [{"ip_address": "10.9.0.2"}],
        }
    ),
    "OS::Neutron::ProviderNet": _of_cloud(values={"shared": True, "segmentation_id": 173}),
    "OS::Neutron::QoSBandwidthLimitRule": _in_memory(values={"max_kbps": 99}),
    "OS::Neutron::QoSDscpMarkingRule": _in_memory(values={"dscp_mark": 48}),
    "OS::Neutron::QoSMinimumBandwidthRule": _in_memory(values={"min_kbps": 99}),
    "OS::Neutron::QoSMinimumPacketRateRule": _in_memory(values={"min_kpps": 99}),
    "OS::Neutron::QoSPolicy": _in_memory(values={"name": THEIRS, "description": THEIRS, "shared": True}),
    "OS::Neutron::Quota": _limits(values={"network": 7}),
    "OS::Neutron::RBACPolicy": _of_cloud(values={"target_tenant": "1" * 32}),
    "OS::Neutron::Router": _of_cloud(
        ways={"tags": TAGS}, values={"name": THEIRS, "admin_state_up": False, "tags": [THEIRS]}
    ),
    "OS::Neutron::RouterGateway": _of_cloud(take=_without_gateway, because=_RELATION),
    "OS::Neutron::RouterInterface": _of_cloud(take=_disconnect, because=_RELATION),
    "OS::Neutron::SecurityGroup": _of_cloud(
        ways={"rules": RULES},
        values={"name": THEIRS, "description": THEIRS, "rules": lambda before: before[:-1]},
    ),
    "OS::Neutron::SecurityGroupRule": _fixed(),
    "OS::Neutron::Subnet": _of_cloud(
        ways={"tags": TAGS},
        values={
            "enable_dhcp": False,
            "dns_nameservers": ["10.4.0.2"],
            "host_routes": [{"destination": "10.6.0.0/24", "nexthop": "10.4.0.8"}],
            "tags": [THEIRS],
        },
    ),
    "OS::Neutron::SubnetPool": _of_cloud(values={"name": THEIRS, "min_prefixlen": 24, "default_quota": 300}),
    "OS::Neutron::Trunk": _in_memory(values={"name": THEIRS, "sub_ports": lambda before: before[:1]}),
    "OS::Nova::Flavor": _of_cloud(
        ways={"extra_specs": FLAVOR_SPECS}, values={"extra_specs": {"a": "9", "b": "2"}}
    ),
    "OS::Nova::HostAggregate": _of_cloud(
        ways={"metadata": AGGREGATE_METADATA}, values={"name": THEIRS, "metadata": {"a": "9", "b": "2"}}
    ),
    "OS::Nova::KeyPair": _fixed(),
    "OS::Nova::Quota": _limits(values={"cores": 4001}),
    "OS::Nova::Server": _of_cloud(
        ways={"metadata": SERVER_METADATA, "tags": SERVER_TAGS},
        values={"metadata": {"role": "theirs"}, "tags": [THEIRS]},
    ),
    "OS::Nova::ServerGroup": _fixed(),
}
