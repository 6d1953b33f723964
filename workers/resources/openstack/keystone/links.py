"""Relations of the identity service: roles and memberships.

Each has an address, at which PUT makes it, DELETE ends it and HEAD tells whether it is there; it has no id.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.steps import PropertyChanges, Wait
from workers.resources.openstack.keystone.keystone_object import KeystoneObject
from workers.resources.openstack.lookups import looked_up
from workers.resources.schemas import listing, mapping, text

ROLES: Final = listing(
    "The roles, each in a project or in a domain. Roles that it has besides are left alone.",
    schema=mapping(
        "A role.",
        schema={
            "role": text(
                "The id or name of the role.", required=True, constraints=(Custom("keystone.role"),)
            ),
            "project": text(
                "The id or name of the project that it is for.", constraints=(Custom("keystone.project"),)
            ),
            "domain": text(
                "The id or name of the domain that it is for.", constraints=(Custom("keystone.domain"),)
            ),
        },
    ),
    update_allowed=True,
)
#: The token of an action whose relations are remembered.
_REMEMBERED: Final = "remembered"
ROLE_RULES: Final = tuple(looked_up(name, "roles", name) for name in ("role", "project", "domain"))


def role_link(holders: str, holder: str, role: Mapping[str, Any]) -> str:
    """Return the address of a role of a user or a group; ``holders`` is ``users`` or ``groups``."""
    place = ("projects", role["project"]) if role["project"] else ("domains", role["domain"])
    return _address(*place, holders, holder, "roles", role["role"])


def member_link(group: str, user: str) -> str:
    """Return the address of the membership of a user in a group."""
    return _address("groups", group, "users", user)


def refuse_wrong_roles(properties: Mapping[str, Any]) -> None:
    """Refuse roles that are for a project and a domain, or for neither.

    Raises:
        PropertyError: there is one.
    """
    roles = properties["roles"]
    for index, role in enumerate(() if roles in (None, UNKNOWN) else roles):
        if role is UNKNOWN or UNKNOWN in (role["project"], role["domain"]):
            continue
        if (role["project"] is None) == (role["domain"] is None):
            raise PropertyError(("roles", index), "a role is for either a project or a domain")


class Linked(KeystoneObject):
    """An object with relations, which it has once it is made, and which it remembers to end them again."""

    #: The properties that relations follow from.
    linked_by: frozenset[str] = frozenset({"roles"})

    def links(self, properties: Mapping[str, Any]) -> Iterable[str]:
        """Return the addresses of the relations that properties ask for."""
        raise NotImplementedError

    @property
    def remembered(self) -> set[str]:
        """The addresses of all relations that it may have made."""
        return set(self.state.data.get("links", ()))

    def handle_adopt(self) -> None:
        """Remember the relations that it has then."""
        self._remember(self.links(self.properties))

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Return whether it is there, with its relations."""
        ready = super().check_create_complete(token)
        return self._linked(token) if ready is True else ready

    def handle_update(self, changes: PropertyChanges) -> bool:
        """Change the object, and remember the relations it had; return whether they change."""
        super().handle_update(changes)
        given_before = {name: value for name, value in changes.before.items() if value is not None}
        self._remember(self.links({**self.properties, **given_before}))
        return bool(self.linked_by & changes.names)

    def check_update_complete(self, token: Any) -> bool | Wait:
        """Return whether it can be used again, with its relations."""
        ready = super().check_update_complete(token)
        return self._linked(token) if ready is True and token else ready

    def has_link(self, link: str) -> bool:
        """Return whether a relation is there."""
        try:
            self.service.ask("HEAD", link)
        except Exception as error:
            if self.service.is_not_found(error):
                return False
            raise
        return True

    def end_link(self, link: str) -> None:
        """End a relation, which may be gone."""
        try:
            self.service.ask("DELETE", link)
        except Exception as error:
            if not self.service.is_not_found(error):
                raise

    def _remember(self, links: Iterable[str]) -> None:
        self.state.data["links"] = sorted({*self.remembered, *links})

    def _linked(self, token: Any) -> bool | Wait:
        """Return True once it has its relations, none of which is made before it is remembered in the store."""
        wanted = set(self.links(self.properties))
        if token != _REMEMBERED:
            self._remember(wanted)
            return Wait(0.0, _REMEMBERED)
        for link in sorted(wanted):
            self.service.ask("PUT", link)
        for link in sorted(self.remembered - wanted):
            self.end_link(link)
        self.state.data["links"] = sorted(wanted)
        self.changed()
        return True


def _address(*parts: str) -> str:
    return "/" + "/".join(quote(part, safe="") for part in parts)
