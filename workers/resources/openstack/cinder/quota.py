"""``OS::Cinder::Quota``: the limits of a project in the block storage service."""

from collections.abc import Mapping
from typing import Any

from orchestrator.plugins.steps import ResourceFailure
from workers.resources.openstack.cinder.cinder_object import CinderObject
from workers.resources.openstack.collection import Collection
from workers.resources.openstack.project_quota import PROJECT, ProjectQuota, limit


class Quota(ProjectQuota, CinderObject):
    """The limits of a project in the block storage service, which are never below what it uses."""

    description = "Limits of a project in the block storage service, set by an administrator."
    example = """\
heat_template_version: 2021-04-16
parameters:
  project: {type: string}
resources:
  limits:
    type: OS::Cinder::Quota
    properties:
      project: {get_param: project}
      volumes: 20
      gigabytes: 1000
"""
    collection = Collection(path="/os-quota-sets", key="quota_set", plural="quota_sets")
    extensions = {"": "os-quota-sets"}
    properties_schema = {
        **PROJECT,
        "gigabytes": limit("The limit of the size of all volumes and snapshots, in GiB; -1 is no limit."),
        "volumes": limit("The limit of the number of volumes; -1 is no limit."),
        "backups": limit("The limit of the number of backups; -1 is no limit."),
        "backup_gigabytes": limit("The limit of the size of all backups, in GiB; -1 is no limit."),
        "snapshots": limit("The limit of the number of snapshots; -1 is no limit."),
    }

    def change(self, body: Mapping[str, Any]) -> None:
        """Set limits.

        Raises:
            ResourceFailure: one is below what the project uses already.
        """
        path = self.collection.at(str(self.state.physical_id))
        used = self.service.ask("GET", path, query={"usage": "True"})["quota_set"] if body else {}
        for name, most in body.items():
            if 0 <= most < used[name]["in_use"]:
                raise ResourceFailure(
                    f"{name} cannot be limited to {most}: the project uses {used[name]['in_use']}"
                )
        super().change(body)
