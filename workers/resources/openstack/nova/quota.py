"""``OS::Nova::Quota``: how much of the compute service a project may use."""

from typing import Any, Final

from orchestrator.plugins.properties import Property
from orchestrator.plugins.support import Support, SupportStatus
from workers.resources.openstack.collection import Collection
from workers.resources.openstack.nova.nova_object import NovaObject
from workers.resources.openstack.project_quota import PROJECT, ProjectQuota, limit

_FILES: Final = SupportStatus(
    status=Support.DEPRECATED, message="newer compute services put no files into servers"
)


def _most(of: str, **others: Any) -> Property:
    return limit(f"The most {of}; -1 is no limit.", **others)


class Quota(ProjectQuota, NovaObject):
    """The limits of a project in the compute service."""

    description = "How much of the compute service a project may use. Only administrators may set it."
    example = """\
heat_template_version: 2021-04-16
resources:
  quota:
    type: OS::Nova::Quota
    properties: {project: demo, instances: 20, cores: 40}
"""
    collection = Collection(path="/os-quota-sets", key="quota_set", plural="quota_sets")
    properties_schema = {
        **PROJECT,
        "cores": _most("processors"),
        "fixed_ips": _most("fixed addresses"),
        "floating_ips": _most("floating addresses"),
        "instances": _most("servers"),
        "injected_files": _most("files put into a server", support_status=_FILES),
        "injected_file_content_bytes": _most("bytes of such a file", support_status=_FILES),
        "injected_file_path_bytes": _most("bytes of the path of such a file", support_status=_FILES),
        "key_pairs": _most("key pairs of a user"),
        "metadata_items": _most("metadata of a server"),
        "ram": _most("memory, in MiB"),
        "security_groups": _most("security groups"),
        "security_group_rules": _most("rules of a security group"),
        "server_groups": _most("server groups"),
        "server_group_members": _most("servers of a server group"),
    }
