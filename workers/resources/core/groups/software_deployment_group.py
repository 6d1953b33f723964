"""``OS::Heat::SoftwareDeploymentGroup`` and the same for maps: a config that is applied on several servers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from orchestrator.definition import UNKNOWN, AttributePath, follow, is_unknown
from orchestrator.plugins.properties import Attribute, Property, PropertyError, PropertyType
from orchestrator.plugins.stack_resource import Blueprint, Child, member_path
from orchestrator.plugins.support import Support, SupportStatus
from workers.resources.core.groups.batches import Batching, Present
from workers.resources.core.groups.group import Group
from workers.resources.core.groups.roster import Roster, template_of, written_out
from workers.resources.core.groups.update_policies import BATCH_CREATE_SCHEMA, batching_of
from workers.resources.core.software_deployment import COMMON, STRUCTURED, check_transport
from workers.resources.schemas import mapping

#: The attributes that are maps, and the attribute of each deployment that is in them.
_MAPS: Final = {f"{name}s": name for name in ("deploy_stdout", "deploy_stderr", "deploy_status_code")}


class SoftwareDeploymentGroup(Group):
    """A deployment to each of several servers, which has the name of the server."""

    description = "Applies a config on each of several servers."
    example = """\
heat_template_version: 2021-04-16
parameters:
  servers: {type: json, default: {web: an-id, database: another-id}}
resources:
  script:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      config: hostname
  everywhere:
    type: OS::Heat::SoftwareDeploymentGroup
    properties:
      config: {get_resource: script}
      servers: {get_param: servers}
    update_policy:
      rolling_update:
        max_batch_size: 1
outputs:
  names: {value: {get_attr: [everywhere, deploy_stdouts]}}
"""
    #: The type of the deployments.
    member_type: ClassVar[str] = "OS::Heat::SoftwareDeployment"
    properties_schema: ClassVar[Mapping[str, Property]] = {
        **COMMON,
        "servers": mapping(
            "The ids of the servers; the names, which may be any, are those of the deployments.",
            required=True,
            update_allowed=True,
        ),
    }
    update_policy_schema = {
        "rolling_update": mapping(
            "Deployments are changed in batches; without it, all at once.", schema=BATCH_CREATE_SCHEMA
        ),
        "batch_create": mapping(
            "Deployments are made in batches; without it, all at once.", schema=BATCH_CREATE_SCHEMA
        ),
    }
    attributes_schema = {
        name: Attribute(f"Of each deployment {of_one}, by its name.", PropertyType.MAP)
        for name, of_one in _MAPS.items()
    }

    @classmethod
    def blueprint(cls, name: str, properties: Mapping[str, Any]) -> Blueprint | None:
        """Return the deployments, if the servers' names are known; None if there will be none."""
        servers = properties["servers"]
        if (is_unknown(servers) and not isinstance(servers, Mapping)) or not servers:
            return None
        shared = _shared(properties)
        resources = {
            each: written_out({"type": cls.member_type, "properties": {**shared, "server": server}})
            for each, server in servers.items()
        }
        return Blueprint(
            child=Child(template=template_of(resources), file=f"{name} (its members)"), place=("servers",)
        )

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check that there is the transport of signals, and that each server has an id.

        Raises:
            PropertyError: a server has none.
        """
        check_transport(properties)
        servers = properties["servers"]
        for name, server in servers.items() if isinstance(servers, Mapping) else ():
            if server is not UNKNOWN and (not isinstance(server, str) or not server):
                raise PropertyError(("servers", name), "expected the id of a server")

    def definition(self) -> dict[str, Any]:
        """Return the definition of the deployments, with all servers in it."""
        properties = {**_shared(self.properties), "servers": dict(self.properties["servers"])}
        return {"type": self.member_type, "properties": properties}

    def expanded(self, definition: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        """Return the definition with the one server of this deployment."""
        properties = dict(definition["properties"])
        servers = properties.pop("servers")
        return {**definition, "properties": {**properties, "server": servers[name]}}

    def size(self, roster: Roster) -> int:  # noqa: ARG002 (the contract's signature)
        """Return the number of servers."""
        return len(self.properties["servers"])

    def goal(self, roster: Roster, present: Sequence[Present], size: int) -> Sequence[str]:  # noqa: ARG002 (as above)
        """Return the names of the servers."""
        return tuple(self.properties["servers"])

    def fresh(self, roster: Roster) -> Iterator[str]:  # noqa: ARG002 (the contract's signature)
        """Yield nothing: there are no more servers."""
        return iter(())

    def batching(self, *, creating: bool) -> Batching:
        """Return the batching of the update policy."""
        return batching_of(self.update_policy.get("batch_create" if creating else "rolling_update"))

    # -- attributes --------------------------------------------------------------------------------------------

    def _of_every_member(self, path: AttributePath) -> AttributePath:
        """Return the attribute of every deployment that an attribute of this is a map of."""
        found = super()._of_every_member(path)[:1]
        name = str(path[0])
        return (_MAPS[name],) if name in _MAPS else found

    def attribute_at(self, path: AttributePath) -> object:
        """Return the value at ``path``: of a map by the deployments' names, or of one deployment."""
        member_attribute = () if member_path(path) is not None else self._of_every_member(path)
        if not member_attribute:
            return super().attribute_at(path)
        values = {member.name: member.at(member_attribute) for member in self.members()}
        return follow(values, path[1:])


def _shared(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if name != "servers" and value is not None}


class StructuredDeploymentGroup(SoftwareDeploymentGroup):
    """The same, of a config that is a map."""

    description = "Applies a config that is a map on each of several servers."
    example = """\
heat_template_version: 2021-04-16
parameters:
  servers: {type: json, default: {web: an-id, database: another-id}}
resources:
  listener:
    type: OS::Heat::StructuredConfig
    properties:
      config: {listen: {get_input: port}}
  everywhere:
    type: OS::Heat::StructuredDeploymentGroup
    properties:
      config: {get_resource: listener}
      servers: {get_param: servers}
      input_values: {port: 8080}
      signal_transport: NO_SIGNAL
"""
    member_type = "OS::Heat::StructuredDeployment"
    properties_schema = {**SoftwareDeploymentGroup.properties_schema, **STRUCTURED}


class SoftwareDeployments(SoftwareDeploymentGroup):
    """The former name of the group."""

    description = "The former name of OS::Heat::SoftwareDeploymentGroup."
    example = SoftwareDeploymentGroup.example.replace("SoftwareDeploymentGroup", "SoftwareDeployments")
    support_status = SupportStatus(
        status=Support.DEPRECATED, version="2014.2", substitute="OS::Heat::SoftwareDeploymentGroup"
    )


class StructuredDeployments(StructuredDeploymentGroup):
    """The former name of the group of deployments of maps."""

    description = "The former name of OS::Heat::StructuredDeploymentGroup."
    example = StructuredDeploymentGroup.example.replace("StructuredDeploymentGroup", "StructuredDeployments")
    support_status = SupportStatus(
        status=Support.DEPRECATED, version="2014.2", substitute="OS::Heat::StructuredDeploymentGroup"
    )
