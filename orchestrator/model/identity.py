"""Identities of callers: a name, and a role by project."""

from collections.abc import Mapping
from typing import Final, Self

from hooks.values.dataclass import dataclass

#: The roles; each may do what those before it may.
READER, OPERATOR, ADMINISTRATOR = "reader", "operator", "administrator"
ROLES: Final = (READER, OPERATOR, ADMINISTRATOR)
#: In place of a project: all of them, and the installation itself.
EVERY_PROJECT: Final = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who a caller is proven to be, and what it may be in which project."""

    #: Empty for the installation's own processes, and for a visitor without a name.
    user: str
    #: The role by project; that of :data:`EVERY_PROJECT` holds in each.
    roles: Mapping[str, str]

    @classmethod
    def administrator(cls, user: str = "") -> Self:
        """Return an administrator of the installation."""
        return cls(user=user, roles={EVERY_PROJECT: ADMINISTRATOR})

    def role_in(self, project: str) -> str:
        """Return the highest role in a project; empty for none. Of the installation: in :data:`EVERY_PROJECT`."""
        found = {self.roles.get(project, ""), self.roles.get(EVERY_PROJECT, "")}
        return next((role for role in reversed(ROLES) if role in found), "")

    def has(self, role: str, project: str) -> bool:
        """Return whether the identity has a role, or a higher one, in a project."""
        own = self.role_in(project)
        return bool(own) and ROLES.index(own) >= ROLES.index(role)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The caller on whose behalf something is done, and where from."""

    identity: Identity
    #: The face, and the id of a key or an address: ``queue, key 1f0c9a3e``.
    origin: str
    #: Why, if the caller says so: :func:`orchestrator.model.comments.is_comment`. Recorded with what it begins.
    comment: str = ""


#: What the engine does by itself, such as a rollback after a failure.
ENGINE_ITSELF: Final = Caller(identity=Identity.administrator(), origin="engine")
