"""Base of types whose objects have no token: what is to be made is on record before anything is made.

The engine stores a resource's state after a step. So the first step of a create or an update changes nothing but the
state, and the next acts on what is on record: an attempt after a crash knows that what is there is this resource's.
"""

from typing import Any, Final

from orchestrator.plugins.steps import PropertyChanges, Wait
from workers.resources.openstack.cloud_object import CloudObject

#: The tokens of a step that is not stored yet, and of one that is.
RECORDING: Final = "recording"
RECORDED: Final = "recorded"


class RecordedFirst(CloudObject):
    """An object that :meth:`record` notes in the state, and :meth:`make` makes in a later step."""

    def record(self) -> None:
        """Note in ``self.state`` what is to be made, by its id if that is known; change nothing else.

        Raises:
            ResourceFailure: there is one already that this resource did not make.
        """

    def make(self, token: Any) -> bool | Wait:
        """Make what is on record, unless that is done, and return whether it is complete; called until it is."""
        raise NotImplementedError

    def record_changes(self) -> None:
        """Note in ``self.state`` what an update is about to make; change nothing else."""

    def make_changes(self, token: Any) -> bool | Wait:
        """Change what differs, and return whether that is complete; called until it is."""
        return self.make(token)

    def handle_create(self) -> str:
        """Record what is to be made."""
        self.record()
        return RECORDING

    def find(self) -> str | None:
        """Return the id on record, which is there before the object is."""
        return self.state.physical_id

    def resume_create(self) -> str:
        """Return that it is on record."""
        return RECORDED

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Make it, in the step after the one that recorded it."""
        return Wait(0, token=RECORDED) if token == RECORDING else self.make(token)

    def handle_update(self, changes: PropertyChanges) -> Any:  # noqa: ARG002 (the contract's signature)
        """Record what is to be changed."""
        self.record_changes()
        return RECORDING

    def check_update_complete(self, token: Any) -> bool | Wait:
        """Change it, in the step after the one that recorded that."""
        return Wait(0, token=RECORDED) if token == RECORDING else self.make_changes(token)
