"""``OS::Nova::Quota``: how much of the compute service a project may use."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.plugins.constraints import Range
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import Property, PropertyError
from orchestrator.plugins.steps import PropertyChanges
from orchestrator.plugins.support import Support, SupportStatus
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.collection import Collection
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.nova.nova_object import NovaObject
from workers.resources.schemas import integer, text

_FILES: Final = SupportStatus(
    status=Support.DEPRECATED, message="newer compute services put no files into servers"
)


def _limit(of: str, **others: Any) -> Property:
    words = f"The most {of}; -1 for any number."
    return integer(words, update_allowed=True, constraints=(Range(min=-1),), **others)


class Quota(NovaObject):
    """The quota of a project; it has no object of its own, and its deletion brings the defaults back."""

    description = "How much of the compute service a project may use. Only administrators may set it."
    example = """\
heat_template_version: 2021-04-16
resources:
  quota:
    type: OS::Nova::Quota
    properties: {project: demo, instances: 20, cores: 40}
"""
    collection = Collection(path="/os-quota-sets", key="quota_set", plural="quota_sets")
    sent_as = {"project": ""}
    properties_schema = {
        "project": text(
            "The id or name of the project.", required=True, constraints=(Custom("keystone.project"),)
        ),
        "cores": _limit("processors"),
        "fixed_ips": _limit("fixed addresses"),
        "floating_ips": _limit("floating addresses"),
        "instances": _limit("servers"),
        "injected_files": _limit("files put into a server", support_status=_FILES),
        "injected_file_content_bytes": _limit("bytes of such a file", support_status=_FILES),
        "injected_file_path_bytes": _limit("bytes of the path of such a file", support_status=_FILES),
        "key_pairs": _limit("key pairs of a user"),
        "metadata_items": _limit("metadata of a server"),
        "ram": _limit("memory, in MiB"),
        "security_groups": _limit("security groups"),
        "security_group_rules": _limit("rules of a security group"),
        "server_groups": _limit("server groups"),
        "server_group_members": _limit("servers of a server group"),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003
        """Let the project be given by name."""
        return [looked_up("project", "project")]

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse a quota without any limit.

        Raises:
            PropertyError: no limit is given.
        """
        if all(value is None for name, value in properties.items() if name != "project"):
            limits = sorted(cls.properties_schema.keys() - {"project"})
            raise PropertyError((), f"one of these is needed: {', '.join(limits)}")

    def handle_create(self) -> None:
        """Set the quota of the project, whose id is its own."""
        self.state.physical_id = self.properties["project"]
        self.change(self.values(self.properties_schema.keys()))

    def handle_update(self, changes: PropertyChanges) -> None:
        """Change the limits that are given."""
        body = self.changed_values(changes)
        self.change({name: value for name, value in body.items() if value is not None})

    def found(self) -> None:
        """Return nothing: a quota may be set again."""

    def check_delete_complete(self, token: Any) -> bool:  # noqa: ARG002
        """Return that it is gone: what remains are the defaults."""
        return True
