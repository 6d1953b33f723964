"""``OS::Neutron::RBACPolicy``: the permission of a project to use what another has."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.plugins.constraints import AllowedValues
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.neutron.neutron_object import NeutronObject, neutron_collection
from workers.resources.openstack.only_of_its_kind import OnlyOfItsKind
from workers.resources.schemas import text

_SHARED, _EXTERNAL = "access_as_shared", "access_as_external"
#: By type of object: what look-ups call it, and what may be permitted.
_OBJECTS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "network": ("network", (_SHARED, _EXTERNAL)),
    "qos_policy": ("QoS policy", (_SHARED,)),
    "security_group": ("security group", (_SHARED,)),
    "address_scope": ("address scope", (_SHARED,)),
    "subnetpool": ("subnet pool", (_SHARED,)),
}


class RBACPolicy(NeutronObject, OnlyOfItsKind):
    """A permission, of which there is one for an object, a project and an action: it is found by these."""

    description = "The permission of a project to use a network, or another object, of one's own."
    example = """\
heat_template_version: 2021-04-16
resources:
  network:
    type: OS::Neutron::Net
  all_projects:
    type: OS::Neutron::RBACPolicy
    properties:
      object_type: network
      object_id: {get_resource: network}
      action: access_as_shared
      target_tenant: "*"
"""
    collection = neutron_collection("rbac_policy", "rbac_policies")
    has_description = False
    extensions = {"": "rbac-policies"}
    properties_schema = {
        "object_type": text(
            "The type of the object.", required=True, constraints=(AllowedValues(tuple(_OBJECTS)),)
        ),
        "target_tenant": text(
            "The id of the project that may use it; `*` stands for all.", required=True, update_allowed=True
        ),
        "action": text(
            "What is permitted.", required=True, constraints=(AllowedValues((_SHARED, _EXTERNAL)),)
        ),
        "object_id": text("The id or name of the object.", required=True),
        "tenant_id": text("The id of its project; only administrators may name another than their own."),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:
        """Return that the object may be given by its name."""
        kind = properties["object_type"]
        if not isinstance(kind, str) or kind not in _OBJECTS:
            return []
        return [looked_up(_OBJECTS[kind][0], "object_id")]

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse actions that objects of the type do not have.

        Raises:
            PropertyError: it is such.
        """
        kind, action = properties["object_type"], properties["action"]
        if isinstance(kind, str) and isinstance(action, str) and action not in _OBJECTS[kind][1]:
            allowed = " or ".join(_OBJECTS[kind][1])
            raise PropertyError(("action",), f"for objects of type {kind} it must be {allowed}")

    def alike(self) -> Sequence[dict[str, Any]]:
        """Return the permission that this row asks for, if there is one."""
        names = ("object_type", "object_id", "target_tenant", "action")
        return self.collection.listed(self.service, **{name: self.properties[name] for name in names})
