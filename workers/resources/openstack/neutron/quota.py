"""``OS::Neutron::Quota``: the limits of a project in the network service."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from orchestrator.plugins.constraints import Range
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.steps import PropertyChanges
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.neutron.neutron_object import NeutronObject, neutron_collection
from workers.resources.schemas import integer, text

_limit = partial(integer, update_allowed=True, constraints=(Range(min=-1),))
_LIMITS: Final = {
    "subnet": _limit("The most subnets; -1 is no limit."),
    "network": _limit("The most networks; -1 is no limit."),
    "floatingip": _limit("The most floating IP addresses; -1 is no limit."),
    "security_group_rule": _limit("The most rules of security groups; -1 is no limit."),
    "security_group": _limit("The most security groups; -1 is no limit."),
    "router": _limit("The most routers; -1 is no limit."),
    "port": _limit("The most ports; -1 is no limit."),
    "subnetpool": _limit("The most subnet pools; -1 is no limit."),
    "rbac_policy": _limit("The most RBAC policies; -1 is no limit."),
}


class Quota(NeutronObject):
    """The limits of a project, which has them in any case: its id is the project's, and a deletion resets them.

    There should be only one for each project.
    """

    description = "The limits of a project in the network service, set by an administrator."
    example = """\
heat_template_version: 2021-04-16
resources:
  shop:
    type: OS::Keystone::Project
  limits:
    type: OS::Neutron::Quota
    properties:
      project: {get_resource: shop}
      network: 2
      router: 1
"""
    collection = neutron_collection("quota")
    has_description = False
    extensions = {"": "quotas"}
    sent_as = {"project": ""}
    properties_schema = {
        "project": text(
            "The id or name of the project.", required=True, constraints=(Custom("keystone.project"),)
        ),
        **_LIMITS,
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003
        """Return that the project may be given by its name."""
        return [looked_up("project", "project")]

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse to limit nothing.

        Raises:
            PropertyError: no limit is given.
        """
        if all(properties[name] is None for name in _LIMITS):
            raise PropertyError((), f"at least one limit must be given: {', '.join(_LIMITS)}")

    def handle_create(self) -> None:
        """Set the limits."""
        self.state.physical_id = str(self.properties["project"])
        self.change(self.values(self.properties_schema.keys()))

    def found(self) -> None:
        """Return None: limits may be set again."""

    def changed_values(self, changes: PropertyChanges) -> dict[str, Any]:
        """Return the body of an update; what is not limited any more has the default."""
        body = super().changed_values(changes)
        if None not in body.values():
            return body
        defaults = self.service.ask("GET", f"{self.collection.at(str(self.state.physical_id))}/default")
        return {name: defaults["quota"][name] if value is None else value for name, value in body.items()}

    def handle_delete(self) -> bool:
        """Reset the limits; return that nothing is waited for, as there are always some."""
        super().handle_delete()
        return False
