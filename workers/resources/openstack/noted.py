"""Base of types whose objects have no token, and of which there may be others that look the same."""

from collections.abc import Sequence
from typing import Any, Final

from orchestrator.plugins.steps import ResourceFailure, Wait
from workers.resources.openstack.cloud_object import CloudObject

#: The token of a create that has noted which objects there were before, and now makes its own.
_NOTED: Final = "noted"
#: The name under which they are noted in the private data.
_OTHERS: Final = "others"


class Noted(CloudObject):
    """An object that has no place for a token, and is distinguished from others by what there was before.

    A first step notes the objects that may be taken for it, and makes nothing. A later step makes it: if that has died
    and is taken again, what there is besides those noted is the object.
    """

    def handle_create(self) -> Any:
        """Note the objects there are before."""
        if _OTHERS not in self.state.data:
            self.state.data[_OTHERS] = sorted(self.id_of(each) for each in self.alike())
        return None

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Make the object, once what was noted is on record, and return whether it can be used."""
        if token is None and self.state.physical_id is None:
            return Wait(0.0, token=_NOTED)
        if self.state.physical_id is None:
            made = self.found() or self.collection.create(
                self.service, self.values(self.properties_schema.keys())
            )
            self.state.physical_id = self.id_of(made)
            self.changed()
        return self.is_ready()

    def found(self) -> dict[str, Any] | None:
        """Return the one object that was not there before.

        Raises:
            ResourceFailure: there are several, and this one cannot be told from those that others made meanwhile.
        """
        others = self.state.data.get(_OTHERS)
        if others is None:
            return None
        found = [each for each in self.alike() if self.id_of(each) not in others]
        if len(found) > 1:
            ids = ", ".join(sorted(self.id_of(each) for each in found))
            raise ResourceFailure(f"one of these was made by this resource, but it cannot tell which: {ids}")
        return found[0] if found else None

    def find(self) -> str | None:
        """Return the id of what an interrupted create of this row has made."""
        if self.state.physical_id is not None:
            return self.state.physical_id
        found = self.found()
        return self.id_of(found) if found else None

    def resume_create(self) -> Any:
        """Go on with the object that was found."""
        return _NOTED

    def alike(self) -> Sequence[dict[str, Any]]:
        """Return the objects that may be taken for this one: by default those of its name."""
        named = self.collection.listed(self.service)
        return [each for each in named if each.get("name") == self.physical_name]

    def id_of(self, shown: dict[str, Any]) -> str:
        """Return the id of an object."""
        return str(shown["id"])
