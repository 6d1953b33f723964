"""Base of the types that limit what a project may use of a service."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from orchestrator.plugins.constraints import Range
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import Property, PropertyError
from orchestrator.plugins.steps import PropertyChanges
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.cloud_object import CloudObject
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.only_one import OnlyOne
from workers.resources.schemas import integer, text

#: The property of a limit, of which the words say what it is of.
limit: Final = partial(integer, update_allowed=True, constraints=(Range(min=-1),))
PROJECT: Final[Mapping[str, Property]] = {
    "project": text(
        "The id or name of the project.", required=True, constraints=(Custom("keystone.project"),)
    ),
}


class ProjectQuota(OnlyOne):
    """The limits of a project, which has some in any case: the id is the project's.

    Limits that are not given are left alone; those that are no longer given, and all of them after a deletion, are the
    service's own. There should be only one resource for each project.
    """

    has_description = False
    sent_as = {"project": ""}
    #: The end of the path at which the service's own limits are.
    defaults: ClassVar[str] = "defaults"

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003 (the contract's)
        """Return that the project may be given by its name."""
        return [looked_up("project", "project")] if "project" in cls.properties_schema else []

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse to limit nothing.

        Raises:
            PropertyError: no limit is given.
        """
        limits = [name for name in cls.properties_schema if name not in PROJECT]
        if all(properties[name] is None for name in limits):
            raise PropertyError((), f"at least one limit must be given: {', '.join(limits)}")

    @property
    def is_in_the_way(self) -> bool:
        """Whether its replacement limits the same project."""
        return bool(self.state.physical_id == self.properties["project"])

    def handle_create(self) -> None:
        """Set the limits."""
        self.state.physical_id = str(self.properties["project"])
        self.change(self.values(self.properties_schema.keys()))

    def found(self) -> None:
        """Return None: limits may be set again."""

    def changed_values(self, changes: PropertyChanges) -> dict[str, Any]:
        """Return the body of an update; what is not limited any more has the service's own limit."""
        body = super().changed_values(changes)
        if None not in body.values():
            return body
        path = f"{self.collection.at(str(self.state.physical_id))}/{self.defaults}"
        own = self.service.ask("GET", path)[self.collection.key]
        return {name: own[name] if value is None else value for name, value in body.items()}

    def handle_delete(self) -> bool:
        """Take the limits away; return that nothing is waited for, as there are always some."""
        super().handle_delete()
        return False

    @classmethod
    def list_query(cls, resources: Sequence[CloudObject]) -> None:
        """Return None: the limits of each project are read by themselves."""

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        return self.state.physical_id if name == "project" else super().seen(name, shown)
