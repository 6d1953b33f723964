"""``OS::Nova::ServerGroup``: servers that are placed together, or apart."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.definition import is_unknown
from orchestrator.plugins.constraints import AllowedValues, Length, Range
from orchestrator.plugins.properties import PropertyError
from workers.resources.openstack.collection import Collection
from workers.resources.openstack.noted import Noted
from workers.resources.openstack.nova.nova_object import NovaObject
from workers.resources.schemas import integer, listing, mapping, text


class ServerGroup(NovaObject, Noted):
    """A group of servers with a policy on where they are placed."""

    description = "A group of servers with a policy that places them together, or apart."
    example = """\
heat_template_version: 2021-04-16
resources:
  apart:
    type: OS::Nova::ServerGroup
    properties: {name: apart, policies: [anti-affinity], rules: {max_server_per_host: 2}}
"""
    collection = Collection(
        path="/os-server-groups", key="server_group", plural="server_groups", microversion="2.64"
    )
    whole_list = {}
    microversions = {"": "2.64"}
    sent_as = {"policies": ""}
    properties_schema = {
        "name": text("Its name."),
        "policies": listing(
            "The policy, as a list of one item: anti-affinity puts servers on different hosts, affinity on the same; "
            "with soft- in front, as far as that is possible.",
            default=["anti-affinity"],
            schema=text(
                constraints=(
                    AllowedValues(("anti-affinity", "affinity", "soft-anti-affinity", "soft-affinity")),
                )
            ),
            constraints=(Length(min=1, max=1),),
        ),
        "rules": mapping(
            "Rules of the policy anti-affinity.",
            schema={
                "max_server_per_host": integer(
                    "How many servers of the group a host may have.", constraints=(Range(min=1),)
                )
            },
        ),
    }

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse rules of other policies than the one that has them.

        Raises:
            PropertyError: there are rules for another policy.
        """
        policies = properties["policies"]
        if not properties["rules"] or is_unknown(policies) or list(policies) == ["anti-affinity"]:
            return
        raise PropertyError(("rules",), "only the policy anti-affinity has rules")

    def values(self, names: Any) -> dict[str, Any]:
        """Return the body of the request, with the one policy."""
        body = super().values(names)
        rules = {name: value for name, value in (body.pop("rules", None) or {}).items() if value is not None}
        policy = {"policy": self.properties["policies"][0]} if "policies" in names else {}
        return {**body, **policy, **({"rules": rules} if rules else {})}

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        return [shown["policy"]] if name == "policies" else super().seen(name, shown)

    def needs_replace_failed(self) -> bool:
        """Return whether it was never made, or is gone."""
        return self.show() is None

    def alike(self) -> Sequence[dict[str, Any]]:
        """Return the groups of its name and policy."""
        policy = self.properties["policies"][0]
        return [each for each in super().alike() if each["policy"] == policy]
