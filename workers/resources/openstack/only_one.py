"""Base of types of whose objects there can be only one at a time, such as a relation or the limits of a project."""

from orchestrator.plugins.steps import Wait
from workers.resources.openstack.cloud_object import CloudObject


class OnlyOne(CloudObject):
    """An object that is deleted before its replacement is made, if the service could not have both.

    Then the resource has none on record, and its own deletion takes nothing from its replacement. If the replacement
    fails, a rollback makes it anew.
    """

    @property
    def is_in_the_way(self) -> bool:
        """Whether the service cannot have it beside its replacement, which has the present properties."""
        return True

    def prepare_for_replace(self) -> bool | Wait:
        """Delete the object if it is in the way, and forget it once it is gone."""
        if not self.is_in_the_way:
            return True
        gone = self.check_delete_complete(self.handle_delete())
        if gone is True:
            self.state.physical_id = None
            self.state.data.clear()
        return gone
