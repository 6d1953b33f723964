"""Base of the types of the network service that are a relation between objects, and no object of their own."""

from abc import abstractmethod
from typing import Any, Final

from orchestrator.plugins.steps import Busy, PropertyChanges, Wait
from workers.resources.openstack.neutron.neutron_object import NeutronObject
from workers.resources.openstack.only_one import OnlyOne

#: The token of a step before which the state was stored.
_STORED: Final = "stored"


class Relation(NeutronObject, OnlyOne):
    """A relation, whose id is chosen in advance.

    The relation has no place for a token. So the first step of a create looks whether there is such a relation already,
    which then is not this resource's, and keeps the id; the next ones establish it. Whatever is there after
    a crash is one's own.
    """

    has_description = False

    @property
    @abstractmethod
    def relation_id(self) -> str:
        """The physical id, from the properties."""

    @property
    def is_in_the_way(self) -> bool:
        """Whether its replacement is the same relation."""
        return self.state.physical_id == self.relation_id

    @abstractmethod
    def refuse_what_is_there(self) -> None:
        """Refuse to be made, by raising a ``ResourceFailure``, if the relation exists already."""

    @abstractmethod
    def establish(self) -> None:
        """Make the relation, unless it is there already, and unmake what it replaces."""

    @abstractmethod
    def dissolve(self) -> bool:
        """Unmake what this row made; return whether it was there."""

    def handle_create(self) -> Any:
        """Choose the id; nothing is made yet."""
        if self.state.physical_id is None:
            self.refuse_what_is_there()
            self.state.physical_id = self.relation_id

    def resume_create(self) -> Any:
        """Return the token with which the chosen id is stored already."""
        return _STORED

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Make it, once what was chosen is stored."""
        if token != _STORED:
            return Wait(0, token=_STORED)
        self.establish()
        self.changed()
        return True

    def find(self) -> str | None:
        """Return the id, if it was chosen: before that, nothing was made."""
        return self.state.physical_id

    def handle_update(self, changes: PropertyChanges) -> Any:
        """Change nothing yet; all is done when it is established."""

    def check_update_complete(self, token: Any) -> bool | Wait:
        """Make it as it is wanted now."""
        return self.check_create_complete(token)

    def needs_replace_failed(self) -> bool:
        """Return whether it was never begun: otherwise it is established anew."""
        return self.state.physical_id is None

    def handle_delete(self) -> bool:
        """Unmake it; return whether it was there.

        Raises:
            Busy: something else needs it.
        """
        if self.state.physical_id is None:
            return False
        try:
            was_there = self.dissolve()
        except Exception as error:
            if self.service.is_conflict(error):
                raise Busy(f"it cannot be taken away yet: {error}") from error
            if self.service.is_not_found(error):
                return False
            raise
        self.changed()
        return was_there

    def check_delete_complete(self, token: Any) -> bool | Wait:  # noqa: ARG002 (the contract's signature)
        """Return whether it is gone: it is, when the service has accepted that."""
        return True
