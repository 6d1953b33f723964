"""A stand-in for the refused messages of an installation, without a table."""

from collections import Counter

from orchestrator.errors import NotFound
from orchestrator.store.installation.refused_messages import RefusedCount, RefusedMessage


class FakeRefused:
    """Refused messages, without a table."""

    def __init__(self) -> None:
        self.held: list[RefusedMessage] = []

    def counts(self) -> list[RefusedCount]:
        found = Counter((each.place, each.reason) for each in self.held)
        return [RefusedCount(place=p, reason=r, amount=n, last_at=0.0) for (p, r), n in found.items()]

    def newest(self, limit: int) -> list[RefusedMessage]:
        return self.held[:limit]

    def get(self, no: int) -> RefusedMessage:
        for each in self.held:
            if each.no == no:
                return each
        raise NotFound(f"there is no refused message {no}")

    def purge(self) -> int:
        return len(self.held)
