"""Views of constraint caches."""

from dataclasses import dataclass, field
from typing import Any

from cache.constraints.counters import Counts
from orchestrator.views.stacks import View


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheView(View):
    """The constraint cache of one client plugin, with the counters of all processes."""

    client: str
    #: ok, disabled, unreachable, wrong (its settings are invalid), or unknown (there is no such plugin).
    state: str
    backend: str = ""
    #: Its address, without a password.
    url: str = ""
    #: Which processes share it, or why its settings are invalid; a few words.
    detail: str = ""
    expiration_seconds: float | None = None
    max_entries: int | None = None
    #: The number of answers that it holds; None if unknown.
    entries: int | None = None
    #: When counting began, by the database's clock; None before the first count.
    since: float | None = None
    counters: Counts = field(default_factory=Counts)

    @property
    def hit_rate(self) -> float | None:
        """The share of look-ups answered from the cache, from 0 to 1; None before the first."""
        lookups = self.counters.hits + self.counters.misses
        return self.counters.hits / lookups if lookups else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, with the values computed from the fields."""
        # super() without arguments does not work in a dataclass with slots, which is a new class.
        return {
            **View.to_dict(self),
            "enabled": self.state != "disabled",
            "reachable": {"ok": True, "unreachable": False}.get(self.state),
            "hit_rate": self.hit_rate,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushView(View):
    """The result of a flush of one client plugin's cache."""

    client: str
    #: flushed, ordered (every process empties its own soon), disabled, unreachable or wrong.
    state: str
    #: A sentence about the state.
    detail: str
