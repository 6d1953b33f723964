"""Reads what the pages show, from the store alone."""

from dataclasses import dataclass

from orchestrator.observation.views import StackPage
from orchestrator.settings import Settings
from orchestrator.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class StackQuery:
    """Which stacks a list is to have, and in which order."""

    #: A part of the name or of a tag, or a whole id.
    search: str = ""
    #: As ``CREATE_FAILED``; empty for all.
    states: tuple[str, ...] = ()
    #: name, state, created, updated or last_event.
    sort: str = "updated"
    descending: bool = True
    offset: int = 0
    limit: int = 50
    #: Whether those in other stacks are among them, and those that are deleted.
    nested: bool = False
    deleted: bool = False


class Observer:
    """Pictures of stacks, for faces: every name is looked up in the settings' project; safe for threads."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings = settings
        self._store = store

    def stacks(self, query: StackQuery) -> StackPage:
        """Return one page of the list of stacks."""
        raise NotImplementedError
