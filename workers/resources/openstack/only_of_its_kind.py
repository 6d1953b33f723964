"""Base of types whose objects have no token, and of which the service accepts only one that looks so."""

from workers.resources.openstack.noted import Noted
from workers.resources.openstack.only_one import OnlyOne


class OnlyOfItsKind(Noted, OnlyOne):
    """An object that is distinguished by what was there before, and gives way to a replacement that looks like it."""

    @property
    def is_in_the_way(self) -> bool:
        """Whether it looks like its replacement, which has the present properties."""
        return any(self.id_of(each) == self.state.physical_id for each in self.alike())
