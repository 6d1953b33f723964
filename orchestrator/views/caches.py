"""What the faces show of constraint caches."""

from dataclasses import dataclass, field
from typing import Any

from cache.constraints.counters import Counts
from orchestrator.views.stacks import View


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheView(View):
    """The constraint cache of one client plugin, and what all processes counted of it."""

    client: str
    #: ok, disabled, unreachable, wrong (it cannot be made of the settings), or unknown: there is no such plugin.
    state: str
    backend: str = ""
    #: Where it is, without a password.
    url: str = ""
    #: Who shares it, or why it is wrong; a few words.
    detail: str = ""
    expiration_seconds: float | None = None
    max_entries: int | None = None
    #: How many answers it holds; None where nobody can tell.
    entries: int | None = None
    #: When counting began, by the database's clock; None while nothing was counted.
    since: float | None = None
    counters: Counts = field(default_factory=Counts)

    @property
    def hit_rate(self) -> float | None:
        """How many of the look-ups needed no question of their own, from 0 to 1; None while there were none."""
        lookups = self.counters.hits + self.counters.misses
        return self.counters.hits / lookups if lookups else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, with what follows from the fields."""
        # Not super(): a dataclass with slots is another class than the one that is written here.
        return {
            **View.to_dict(self),
            "enabled": self.state != "disabled",
            "reachable": {"ok": True, "unreachable": False}.get(self.state),
            "hit_rate": self.hit_rate,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushView(View):
    """What became of a flush of one client plugin's cache."""

    client: str
    #: flushed, ordered (every process empties its own soon), disabled, unreachable or wrong.
    state: str
    #: What that means; a sentence.
    detail: str
