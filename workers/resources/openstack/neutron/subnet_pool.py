"""``OS::Neutron::SubnetPool``: addresses from which subnets are cut."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from ipaddress import ip_network
from itertools import pairwise
from typing import Any, Final

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.constraints import Length, Range
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.steps import PropertyChanges
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.neutron.neutron_object import NeutronObject, neutron_collection
from workers.resources.schemas import boolean, integer, listing, text

_size = partial(integer, update_allowed=True, constraints=(Range(min=0),))
#: Numbers that can be changed but not taken away, and are shown as text at first.
_NUMBERS: Final = ("default_quota", "default_prefixlen", "min_prefixlen", "max_prefixlen")


class SubnetPool(NeutronObject):
    """A pool of addresses; prefixes can be added to it, and the service refuses to take any away."""

    description = "A pool of addresses, from which subnets are cut."
    example = """\
heat_template_version: 2021-04-16
resources:
  pool:
    type: OS::Neutron::SubnetPool
    properties:
      prefixes: [10.32.0.0/16]
      default_prefixlen: 24
"""
    collection = neutron_collection("subnetpool")
    entity = "subnet pool"
    extensions = {"": "subnet_allocation", "address_scope": "address-scope", "tags": "standard-attr-tag"}
    sent_as = {"address_scope": "address_scope_id"}
    properties_schema = {
        "name": text("Its name.", update_allowed=True),
        "prefixes": listing(
            "Its addresses, as networks; they can only become more.",
            schema=text(constraints=(Custom("net_cidr"),)),
            constraints=(Length(min=1),),
            required=True,
            update_allowed=True,
        ),
        "address_scope": text(
            "The id or name of its scope of addresses.",
            update_allowed=True,
            constraints=(Custom("neutron.address_scope"),),
        ),
        "default_quota": _size("How many addresses a project may have; of IPv6, how many networks of /64."),
        "default_prefixlen": _size("The length of the prefix of a subnet that names none."),
        "min_prefixlen": _size("The shortest prefix of a subnet."),
        "max_prefixlen": _size("The longest prefix of a subnet."),
        "is_default": boolean(
            "Whether subnets that name no pool use it; usually only administrators may set it.",
            default=False,
            update_allowed=True,
        ),
        "tenant_id": text("The id of its project; only administrators may name another than their own."),
        "shared": boolean(
            "Whether all projects may use it; usually only administrators may share pools.", default=False
        ),
        "tags": listing("Its tags.", schema=text(), update_allowed=True),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003
        """Return that the scope may be given by its name."""
        return [looked_up("address scope", "address_scope")]

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse lengths of prefixes that are not in order.

        Raises:
            PropertyError: they are not.
        """
        lengths = [
            (name, properties[name]) for name in ("min_prefixlen", "default_prefixlen", "max_prefixlen")
        ]
        given = [(name, length) for name, length in lengths if length and length is not UNKNOWN]
        for (less, shorter), (more, longer) in pairwise(given):
            if shorter > longer:
                raise PropertyError((less,), f"{shorter} is more than {longer}, the {more}")

    def changed_values(self, changes: PropertyChanges) -> dict[str, Any]:
        """Return the body of an update; the service keeps numbers that are taken away."""
        body = super().changed_values(changes)
        return {name: value for name, value in body.items() if value is not None or name not in _NUMBERS}

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it, which joins neighbouring prefixes."""
        found = super().seen(name, shown)
        if name == "prefixes":
            return self.properties[name] if _addresses(found) == _addresses(self.properties[name]) else found
        return int(found) if name in _NUMBERS and isinstance(found, str) else found


def _addresses(prefixes: Iterable[str]) -> set[tuple[int, int, int]]:
    """Return networks as few as possible, each as its version and its first and last address."""
    joined: list[tuple[int, int, int]] = []
    networks = (ip_network(prefix, strict=False) for prefix in prefixes)
    for version, first, last in sorted((each.version, int(each[0]), int(each[-1])) for each in networks):
        if joined and joined[-1][0] == version and first <= joined[-1][2] + 1:
            joined[-1] = (version, joined[-1][1], max(last, joined[-1][2]))
        else:
            joined.append((version, first, last))
    return set(joined)
