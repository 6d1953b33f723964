"""``OS::Neutron::SecurityGroup``: a security group with its rules."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from orchestrator.plugins.constraints import AllowedValues, Range
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.steps import PropertyChanges, Wait
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.neutron.neutron_object import NeutronObject, neutron_collection
from workers.resources.openstack.neutron.security_rules import rule_key
from workers.resources.openstack.tokens import token_of, with_token
from workers.resources.schemas import integer, listing, mapping, text

RULES: Final = neutron_collection("security_group_rule")
PORT: Final = (Range(min=0, max=65535),)
_BY_GROUP, _BY_PREFIX = "remote_group_id", "remote_ip_prefix"
#: The rules of a new group, as the network service has them by default.
_DEFAULTS: Final = tuple({"direction": "egress", "ethertype": ethertype} for ethertype in ("IPv4", "IPv6"))
_DEFAULT_KEYS: Final = frozenset(map(rule_key, _DEFAULTS))

_RULE: Final = {
    "direction": text(
        "Whether it is about traffic to a server (`ingress`) or from it (`egress`).",
        default="ingress",
        constraints=(AllowedValues(("ingress", "egress")),),
    ),
    "ethertype": text(
        "The version of the addresses.", default="IPv4", constraints=(AllowedValues(("IPv4", "IPv6")),)
    ),
    "port_range_min": integer("The first port, or the type of ICMP.", constraints=PORT),
    "port_range_max": integer("The last port, or the code of ICMP.", constraints=PORT),
    "protocol": text("The protocol, such as `tcp`, `udp` or `icmp`; all without it."),
    "remote_mode": text(
        "Whether the other side is given by its addresses or by its security group.",
        default=_BY_PREFIX,
        constraints=(AllowedValues((_BY_PREFIX, _BY_GROUP)),),
    ),
    "remote_group_id": text(
        "The security group of the other side, where `remote_mode` is `remote_group_id`; by default this one.",
        constraints=(Custom("neutron.security_group"),),
    ),
    "remote_ip_prefix": text("The addresses of the other side.", constraints=(Custom("net_cidr"),)),
}


class SecurityGroup(NeutronObject):
    """A security group, whose rules have its token in their description.

    Rules that belong to other resources have another token, and are left alone. Rules without any are those that the
    network service made with the group, which are left alone unless rules of the same direction are given, or made by
    hand, which are drift.
    """

    description = "A security group: the traffic that may reach and leave ports."
    example = """\
heat_template_version: 2021-04-16
resources:
  web:
    type: OS::Neutron::SecurityGroup
    properties:
      description: web servers
      rules:
      - {protocol: tcp, port_range_min: 80, port_range_max: 80}
      - {protocol: icmp}
      - {remote_mode: remote_group_id}
"""
    collection = neutron_collection("security_group")
    entity = "security group"
    extensions = {"": "security-group", "tags": "standard-attr-tag"}
    sent_as = {"rules": ""}
    properties_schema = {
        "name": text("Its name, which need not be unique; `default` is refused.", update_allowed=True),
        "description": text("Its description.", update_allowed=True),
        "rules": listing(
            "Its rules. Without a rule for `egress`, all traffic from servers may pass.",
            schema=mapping("A rule.", schema=_RULE),
            default=[],
            update_allowed=True,
        ),
        "tags": listing("Its tags.", schema=text(), update_allowed=True),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003
        """Return that groups may be given by their names."""
        return [looked_up("security group", "rules", _BY_GROUP)]

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse the name of the group that every project has.

        Raises:
            PropertyError: it is that.
        """
        if properties["name"] == "default":
            raise PropertyError(
                ("name",), "'default' is the group that every project has, and cannot be made"
            )

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Return whether it is there; then it has its rules."""
        ready = super().check_create_complete(token)
        if ready is True:
            self._set_rules()
            self.state.data["made_with_it"] = [each["id"] for each in self._unmarked()]
        return ready

    def handle_update(self, changes: PropertyChanges) -> Any:
        """Change the group, and its rules if they differ."""
        super().handle_update(changes)
        if "rules" in changes.names:
            self._set_rules()

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it; rules that are there as given come as given."""
        if name != "rules":
            return super().seen(name, shown)
        there = {rule_key(each) for each in shown["security_group_rules"]}
        given = [each for each in self.properties["rules"] if rule_key(self._body(each)) in there]
        return [*given, *map(_as_property, self._strays())]

    # -- rules -------------------------------------------------------------------------------------------------

    def _set_rules(self) -> None:
        for stray in self._strays():
            RULES.delete(self.service, stray["id"])
        self.changed()
        there = {rule_key(each) for each in self.whole()["security_group_rules"]}
        for key, body in self._wanted().items():
            if key not in there:
                self._make(body, with_token(None, self.state.uuid))
        is_open = self.state.action == "CREATE" or any(key[0] == "egress" for key in there)
        if not is_open and not self._limits_egress():
            for body in _DEFAULTS:
                self._make(body, "")
        self.changed()

    def _make(self, body: Mapping[str, Any], description: str) -> None:
        values = {**body, "security_group_id": self.state.physical_id, "description": description}
        try:
            RULES.create(self.service, values)
        except Exception as error:
            # It is there, though spelled in another way.
            if not self.service.is_conflict(error):
                raise

    def _strays(self) -> list[dict[str, Any]]:
        """Return the rules that are not wanted, except those of other resources."""
        wanted, rules = self._wanted(), self.whole()["security_group_rules"]
        return [each for each in rules if rule_key(each) not in wanted and self._is_stray(each)]

    def _is_stray(self, rule: Mapping[str, Any]) -> bool:
        token = token_of(rule.get("description"))
        if token is not None:
            return token == self.state.uuid
        if rule["direction"] == "egress" and self._limits_egress():
            return True
        if self.state.action == "CREATE" or rule["id"] in self.state.data.get("made_with_it", ()):
            return False
        return rule_key(rule) not in _DEFAULT_KEYS

    def _unmarked(self) -> Iterable[dict[str, Any]]:
        rules = self.whole()["security_group_rules"]
        return (each for each in rules if token_of(each.get("description")) is None)

    def _limits_egress(self) -> bool:
        return any(each["direction"] == "egress" for each in self.properties["rules"] or ())

    def _wanted(self) -> dict[Any, dict[str, Any]]:
        bodies = map(self._body, self.properties["rules"] or ())
        return {rule_key(body): body for body in bodies}

    def _body(self, rule: Mapping[str, Any]) -> dict[str, Any]:
        names = ("direction", "ethertype", "protocol", "port_range_min", "port_range_max")
        body = {name: rule[name] for name in names}
        if rule["remote_mode"] == _BY_GROUP:
            body[_BY_GROUP] = rule[_BY_GROUP] or self.state.physical_id
        else:
            body[_BY_PREFIX] = rule[_BY_PREFIX]
        return {name: value for name, value in body.items() if value not in (None, "")}


def _as_property(rule: Mapping[str, Any]) -> dict[str, Any]:
    mode = _BY_GROUP if rule.get(_BY_GROUP) else _BY_PREFIX
    return {**{name: rule.get(name) for name in _RULE}, "remote_mode": mode}
