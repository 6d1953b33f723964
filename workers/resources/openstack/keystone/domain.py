"""``OS::Keystone::Domain``: a domain."""

from workers.resources.openstack.keystone.keystone_object import (
    ENABLED,
    KeystoneObject,
    keystone_collection,
    named,
)
from workers.resources.schemas import text


class Domain(KeystoneObject):
    """A domain of the identity service, which is disabled before it is deleted."""

    description = "A domain, which contains users, groups and projects."
    example = """\
heat_template_version: 2021-04-16
resources:
  company:
    type: OS::Keystone::Domain
    properties: {name: company}
"""
    collection = keystone_collection("domain")
    whole_list = {}
    entity = "domain"
    properties_schema = {
        "name": named("domain"),
        "description": text("Its description.", update_allowed=True),
        "enabled": ENABLED,
    }

    def handle_delete(self) -> bool:
        """Disable it, for the service deletes no enabled one, and delete it."""
        shown = self.show()
        if shown is not None and shown["enabled"]:
            self.change({"enabled": False})
        return super().handle_delete()
