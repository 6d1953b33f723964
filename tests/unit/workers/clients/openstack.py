"""Clients of a cloud for tests."""

from pathlib import Path
from typing import Any, TypeVar

from orchestrator.plugins.client_plugin import ClientContext
from orchestrator.plugins.clients import options_of
from tests.services.openstack_api import OpenStackApi
from workers.clients.openstack import OpenStack

Kind = TypeVar("Kind", bound=OpenStack)

#: For each kind of thing, where the cloud keeps it.
PLACES = {
    "flavor": ("compute", "flavors"),
    "keypair": ("compute", "os-keypairs"),
    "server": ("compute", "servers"),
    "image": ("image", "images"),
    "network": ("network", "networks"),
    "subnet": ("network", "subnets"),
    "port": ("network", "ports"),
    "router": ("network", "routers"),
    "security group": ("network", "security-groups"),
    "subnet pool": ("network", "subnetpools"),
    "address scope": ("network", "address-scopes"),
    "segment": ("network", "segments"),
    "QoS policy": ("network", "qos-policies"),
    "volume": ("volume", "volumes"),
    "volume snapshot": ("volume", "snapshots"),
    "volume backup": ("volume", "backups"),
    "QoS specification": ("volume", "qos-specs"),
    "volume type": ("volume", "types"),
    "project": ("identity", "projects"),
    "user": ("identity", "users"),
    "role": ("identity", "roles"),
    "group": ("identity", "groups"),
    "domain": ("identity", "domains"),
    "service": ("identity", "services"),
    "region": ("identity", "regions"),
}


class Hasty(OpenStack):
    """Makes no pauses worth the name, and shares outcomes only with those who wait for them."""

    first_pause_seconds = 0.001
    shared_seconds = 0.0


def client(api: OpenStackApi, directory: Path, cloud: str = "demo", **options: Any) -> OpenStack:
    """Return a client that logs in as the user ``cloud``."""
    return client_of(Hasty, {"cloud": cloud, "config_file": str(api.write_clouds(directory)), **options})


def client_of(kind: type[Kind], options: dict[str, Any], project: str = "default") -> Kind:
    """Return a client with options as the settings would have them."""
    return kind(ClientContext(project), options_of(kind, options, project))


def hurried(user: Kind, timeout_seconds: float = 0.2) -> Kind:
    """Log in with all the patience of the client's options; let requests from here on wait only for so long."""
    OpenStack.probe(user)
    user._cloud.proxy("identity").session.timeout = timeout_seconds
    return user
