"""``OS::Neutron::AddressScope``: a scope in which addresses are unique."""

from typing import Any, Final

from orchestrator.plugins.constraints import AllowedValues
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.steps import Wait
from workers.resources.openstack.neutron.neutron_object import NeutronObject, neutron_collection
from workers.resources.schemas import boolean, integer, text

#: The token of a create whose object is on record.
_STORED: Final = "stored"


class AddressScope(NeutronObject):
    """A scope of addresses.

    It has no description, so it is made with a unique name, by which an interrupted create is found, and gets its own
    name afterwards.
    """

    description = "A scope of addresses, in which no two subnet pools overlap."
    example = """\
heat_template_version: 2021-04-16
resources:
  scope:
    type: OS::Neutron::AddressScope
    properties: {name: inside}
"""
    collection = neutron_collection("address_scope")
    entity = "address scope"
    has_description = False
    extensions = {"": "address-scope"}
    properties_schema = {
        "name": text("Its name.", update_allowed=True),
        "shared": boolean(
            "Whether all projects may use it; usually only administrators may share scopes, and nobody "
            "may end that.",
            default=False,
            update_allowed=True,
        ),
        "tenant_id": text(
            "The id of its project; only administrators may name another than their own.",
            constraints=(Custom("keystone.project"),),
        ),
        "ip_version": integer(
            "The version of the addresses.", default=4, constraints=(AllowedValues((4, 6)),)
        ),
    }

    def values(self, names: Any) -> dict[str, Any]:
        """Return the properties as a body, the first time with the unique name."""
        body = super().values(names)
        return body if self.state.physical_id else {**body, "name": self.unique_name}

    def found(self) -> dict[str, Any] | None:
        """Return the scope with the unique name."""
        return next(iter(self.collection.listed(self.service, name=self.unique_name)), None)

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Return whether it is there, with its own name, which it gets only when its id is in the store."""
        ready = super().check_create_complete(token)
        if ready is not True or self.whole()["name"] == self.physical_name:
            return ready
        if token != _STORED:
            return Wait(0.0, _STORED)
        self.change({"name": self.physical_name})
        return True
