"""What constraints see of clients, and what clients say of what they looked up."""

from typing import Final, Protocol

from orchestrator.errors import IsothermError

_SHOWN_IDS: Final = 5


class EntityNotFound(IsothermError):
    """The external system has nothing of this kind with this name or id."""

    def __init__(self, entity: str, name: str) -> None:
        super().__init__(entity, name)
        self.entity, self.name = entity, name

    def __str__(self) -> str:
        return f"there is no {self.entity} {self.name!r}"


class AmbiguousName(IsothermError):
    """Several things of this kind have this name: which is meant is for a person to say."""

    def __init__(self, entity: str, name: str, ids: tuple[str, ...] = ()) -> None:
        super().__init__(entity, name, ids)
        self.entity, self.name, self.ids = entity, name, ids

    def __str__(self) -> str:
        listed = ", ".join(self.ids[:_SHOWN_IDS])
        more = f" and {len(self.ids) - _SHOWN_IDS} more" if len(self.ids) > _SHOWN_IDS else ""
        ids = f" ({listed}{more})" if listed else ""
        return f"several have the name {self.name!r}{ids}: give the id of the {self.entity} that is meant"


class Finds(Protocol):
    """A client, as far as it looks things up: :class:`orchestrator.plugins.clients.ClientPlugin`."""

    @property
    def api_version(self) -> str:
        """The version of the interface that is spoken now."""

    def find(self, entity: str, name: str, *, use_cache: bool = False) -> str:
        """Return the id of what has this id or name."""


class AskedClients(Protocol):
    """The clients that may be asked: :class:`orchestrator.plugins.clients.ProjectClients`."""

    def get(self, name: str) -> Finds:
        """Return the client called ``name``."""
