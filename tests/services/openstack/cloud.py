"""The contract of a resource type on a real cloud, which ``OS_CLIENT_CONFIG_FILE`` names."""

import os
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, ClassVar

import openstack
import pytest

from isotherm.testing import ResourceConformance
from workers.resources.openstack.cloud_object import CloudObject

FILE = os.environ.get("OS_CLIENT_CONFIG_FILE", "")


@cache
def connected(cloud: str) -> Any:
    """Return a connection to an entry of clouds.yaml, one for all tests of a process: each has logins of its own."""
    return openstack.connect(cloud=cloud)


class CloudConformance(ResourceConformance):
    """The contract of resource types, for one whose objects are in a cloud, where nothing may be left of them."""

    pytestmark = [
        pytest.mark.devcloud,
        pytest.mark.slow,
        pytest.mark.skipif(not FILE, reason="OS_CLIENT_CONFIG_FILE names no clouds.yaml"),
    ]
    type: ClassVar[type[CloudObject]]
    #: The entry of clouds.yaml: ``devcloud``, or ``devcloud-admin`` for what only an administrator may do.
    cloud: ClassVar[str] = "devcloud"

    @property
    def settings(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {"clients": {"openstack": {"cloud": self.cloud, "config_file": FILE}}}

    def objects(self) -> Collection[str]:
        """Return the ids of all objects in the type's collection that are not of another project."""
        kind, service = self.type.collection, self.service()
        answer = service.get(kind.details or kind.path, microversion=kind.microversion).json()
        own = service.get_project_id()
        return [str(each["id"]) for each in answer[kind.plural] if each.get("project_id", own) == own]

    def service(self, name: str = "") -> Any:
        """Return openstacksdk's proxy of the type's service, or of another."""
        names = {"neutron": "network", "nova": "compute", "cinder": "block_storage", "glance": "image"}
        name = name or names.get(self.type.client_name, "identity")
        return getattr(connected(self.cloud), name)
