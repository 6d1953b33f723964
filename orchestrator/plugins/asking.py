"""Look-ups in other systems: the interface that constraints use, and the errors of clients."""

from typing import Final, Protocol

from orchestrator.errors import IsothermError

_SHOWN_IDS: Final = 5


class EntityNotFound(IsothermError):
    """The other system has no entity of this kind with this name or id."""

    def __init__(self, entity: str, name: str) -> None:
        super().__init__(entity, name)
        self.entity, self.name = entity, name

    def __str__(self) -> str:
        return f"there is no {self.entity} {self.name!r}"


class AmbiguousName(IsothermError):
    """Several entities of this kind have this name: the user must give an id."""

    def __init__(self, entity: str, name: str, ids: tuple[str, ...] = ()) -> None:
        super().__init__(entity, name, ids)
        self.entity, self.name, self.ids = entity, name, ids

    def __str__(self) -> str:
        listed = ", ".join(self.ids[:_SHOWN_IDS])
        more = f" and {len(self.ids) - _SHOWN_IDS} more" if len(self.ids) > _SHOWN_IDS else ""
        ids = f" ({listed}{more})" if listed else ""
        return f"several have the name {self.name!r}{ids}: give the id of the {self.entity} that is meant"


class EntityFinder(Protocol):
    """The look-ups of a client; implemented by :class:`orchestrator.plugins.client_plugin.ClientPlugin`."""

    @property
    def api_version(self) -> str:
        """The API version that the client uses."""

    def find(self, entity: str, name: str, *, use_cache: bool = False) -> str:
        """Return the id of the entity with this id or name.

        Raises:
            EntityNotFound: there is none.
            AmbiguousName: there are several.
            Exception: the system could not be queried.
        """


class NamedClients(Protocol):
    """Clients by name; implemented by :class:`orchestrator.plugins.clients.ProjectClients`."""

    def get(self, name: str) -> EntityFinder:
        """Return the client called ``name``."""
