"""Groups whose members are made, changed and removed in batches."""

import hashlib
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgpack

from orchestrator.plugins.stack_resource import ENTRIES, Child
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure, Wait
from workers.resources.core.groups.batches import AT_ONCE, Batching, Present, next_batch
from workers.resources.core.groups.member_stack import MemberStack
from workers.resources.core.groups.roster import Roster, template_of, written_out

#: The private fact with the roster.
ROSTER: Final = "roster"


class Group(MemberStack):
    """Base of groups: the present members become the wanted ones, batch after batch.

    A subclass defines the wanted members. The last target is a private fact; a finished batch is
    followed by the next one, and an interrupted one by whatever is wanted then.
    """

    # -- for subclasses ----------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Update the private data from the properties, before anything is begun."""

    @abstractmethod
    def definition(self) -> dict[str, Any]:
        """Return the definition of each member as in a template, without the member's name."""

    @abstractmethod
    def size(self, roster: Roster) -> int:
        """Return the target number of members."""

    @abstractmethod
    def goal(self, roster: Roster, present: Sequence[Present], size: int) -> Sequence[str]:
        """Return the target names of members."""

    @abstractmethod
    def fresh(self, roster: Roster) -> Iterator[str]:
        """Yield names for new members, in order, without used ones that are not reused."""

    def adopted(self, roster: Roster, names: Sequence[str]) -> Sequence[str]:  # noqa: ARG002 (for subclasses)
        """Return the members to adopt among ``names``."""
        return self.goal(roster, (), self.size(roster))

    @abstractmethod
    def batching(self, *, creating: bool) -> Batching:
        """Return how members are made (``creating``) or changed."""

    def expanded(self, definition: Mapping[str, Any], name: str) -> Mapping[str, Any]:  # noqa: ARG002 (for subclasses)
        """Return the definition of one member."""
        return definition

    @classmethod
    def names_wanted(cls, properties: Mapping[str, Any], data: Mapping[str, Any]) -> Collection[str]:  # noqa: ARG003 (for subclasses)
        """Return no names: a group makes them up as it needs them."""
        return ()

    # -- the stack ---------------------------------------------------------------------------------------------

    @property
    def roster(self) -> Roster:
        """The last target roster."""
        return Roster.of(self.state.data.get(ROSTER, {}))

    def names(self) -> Sequence[str]:
        """Return the names of the members, oldest first."""
        return tuple(self.roster.members)

    def child(self) -> Child:
        """Return the nested stack of the last target roster."""
        roster = self.roster
        resources = {
            name: written_out(self.expanded(roster.definitions[key], name))
            for name, key in roster.members.items()
        }
        return Child(template=template_of(resources), file=f"{self.name} (its members)", asks=self.asks())

    def handle_create(self) -> object:
        """Begin to make the first members."""
        return self._start(creating=True)

    def resume_create(self) -> object:
        """Continue after an interrupted create."""
        return self._start(creating=True)

    def handle_adopt(self) -> object:
        """Begin to adopt existing members, by the present definition."""
        self.settle()
        roster, key = self.roster.knowing(self.definition())
        entries = self.state.data.get(ENTRIES) or {}
        names = self.adopted(roster, tuple(entries))
        roster = replace(roster, members=dict.fromkeys(names, key), size=len(names))
        self.state.data = {**self.state.data, ROSTER: roster.to_data()}
        return {**super().handle_adopt(), "aim": self._aim(), "creating": True, "until": None}

    def handle_update(self, changes: PropertyChanges) -> object:  # noqa: ARG002 (the contract's signature)
        """Begin to change the members to the wanted ones; pass an update on even if nothing changes here."""
        return self._start(creating=False)

    def is_outdated(self, token: Any) -> bool:
        """Return whether a token's target was an earlier definition of this resource."""
        return bool(token.get("aim") != self._aim())

    def is_complete(self, token: Mapping[str, Any]) -> bool | Wait:
        """Return whether the last batch is complete; begin the next one.

        Raises:
            ResourceFailure: a batch failed.
        """
        while True:
            if token["until"] is None:
                answer = super().is_complete(token)
                if isinstance(answer, Wait):
                    return replace(answer, token=dict(token))
            elif token["until"] > self.now:
                return Wait(token["until"] - self.now, token=dict(token))
            # All members of a completed stack are in service.
            roster, creating = self.roster, token["creating"]
            following = self.following(roster, creating=creating, serving=roster.members)
            if following is None:
                return True
            pause = self._batching_of(roster, creating=creating).pause_seconds
            if token["until"] is None and pause > 0:
                return Wait(pause, token={**token, "until": self.now + pause})
            token = self._begin(following, creating=creating)

    # -- batches -----------------------------------------------------------------------------------------------

    def _start(self, *, creating: bool) -> dict[str, Any]:
        before = self.state.data
        try:
            return self._started(creating=creating)
        except ResourceFailure:
            # Nothing was touched.
            self.state.data = before
            raise

    def _started(self, *, creating: bool) -> dict[str, Any]:
        self.settle()
        roster = replace(self.roster, size=self.size(self.roster))
        serving = {
            member.name
            for member in self.stacks.members()
            if member.status == "COMPLETE" and member.action not in ("INIT", "DELETE")
        }
        roster = self._joined(roster, serving)
        following = self.following(roster, creating=creating, serving=serving)
        if following is not None:
            self._refuse_long_pauses(following, creating=creating)
        return self._begin(following or roster, creating=creating)

    def _joined(self, roster: Roster, serving: Collection[str]) -> Roster:
        """Return a roster with the wanted members that serve without being on it: they were moved into the group.

        In a batch without them, they would be removed.
        """
        wanted = self.goal(roster, (), roster.size or 0)
        joined = [name for name in wanted if name in serving and name not in roster.members]
        if not joined:
            return roster
        roster, key = roster.knowing(self.definition())
        return replace(roster, members={**roster.members, **dict.fromkeys(joined, key)})

    def _begin(self, roster: Roster, *, creating: bool) -> dict[str, Any]:
        before = self.state.data
        self.state.data = {**before, ROSTER: roster.to_data()}
        try:
            return self.begin(self.child(), aim=self._aim(), creating=creating, until=None)
        except ResourceFailure:
            # The earlier target stays.
            self.state.data = before
            raise

    def following(self, roster: Roster, *, creating: bool, serving: Collection[str]) -> Roster | None:
        """Return the next roster; None if the target is reached."""
        roster, key = roster.knowing(self.definition())
        present = roster.present(key, serving)
        size = 0 if roster.size is None else roster.size
        goal = self.goal(roster, present, size)
        taken = {*roster.members, *goal}
        spares = (name for name in self.fresh(roster) if name not in taken)
        batching = self._batching_of(roster, creating=creating)
        batch = next_batch(present, goal, batching, spares)
        return None if batch is None else roster.after(batch, key)

    def _batching_of(self, roster: Roster, *, creating: bool) -> Batching:
        """Return the batching; a mere change of the size is made at once."""
        _, key = roster.knowing(self.definition())
        if creating or any(own != key for own in roster.members.values()):
            return self.batching(creating=creating)
        return AT_ONCE

    def _refuse_long_pauses(self, roster: Roster, *, creating: bool) -> None:
        """Refuse pauses that leave no time for anything else, before anything is begun."""
        left, paused = self.stacks.seconds_left, 0.0
        while paused < left:
            pause = self._batching_of(roster, creating=creating).pause_seconds
            following = (
                self.following(roster, creating=creating, serving=roster.members) if pause > 0 else None
            )
            if following is None:
                return
            roster, paused = following, paused + pause
        raise ResourceFailure(
            f"the pauses between its batches take more than the {left:.0f} seconds that are left for the whole "
            "operation"
        )

    def _aim(self) -> str:
        parts = [self.properties, self.update_policy, sorted(map(list, self.wanted), key=repr)]
        return hashlib.sha256(msgpack.packb(parts)).hexdigest()
