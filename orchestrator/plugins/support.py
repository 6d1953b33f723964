"""How far a type, a property or an attribute can be relied on, and what to use instead."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from orchestrator.errors import PluginMistake


class Support(StrEnum):
    """What becomes of whoever uses something."""

    #: Nothing.
    SUPPORTED = "supported"
    #: It works, with a warning: it will go.
    DEPRECATED = "deprecated"
    #: It is refused: it does not work here, or does not any more.
    UNSUPPORTED = "unsupported"
    #: It works, so that old templates do, but is left out of lists and documents.
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportStatus:
    """How far something can be relied on, since when, and what it was before.

    Raises:
        PluginMistake: what is supported has a substitute, or was that already before.
    """

    status: Support = Support.SUPPORTED
    #: What to do instead, for people: ``use network``.
    message: str = ""
    #: The version of its package since which that is so.
    version: str = ""
    #: What it was before that.
    previous: "SupportStatus | None" = None
    #: Of a type, the name of the one that takes its place: the same objects under another name. A resource whose type
    #: changes to it, or back, is changed in place, so each of the two must be able to work on what the other made.
    substitute: str = ""

    def __post_init__(self) -> None:
        if self.status is Support.SUPPORTED and self.substitute:
            raise PluginMistake(f"what is supported has no substitute, but this has {self.substitute!r}")
        if self.previous is not None and self.previous.status is self.status:
            raise PluginMistake(f"it cannot be {self.status} as it was before")

    @property
    def is_hidden(self) -> bool:
        """Whether it is left out of lists and documents."""
        return self.status is Support.HIDDEN

    @property
    def is_refused(self) -> bool:
        """Whether nobody may use it."""
        return self.status is Support.UNSUPPORTED

    @property
    def is_offered(self) -> bool:
        """Whether people who look for something like it are told of it."""
        return self.status is Support.SUPPORTED

    @property
    def is_outdated(self) -> bool:
        """Whether whoever uses it is warned: it is deprecated, or was when it was hidden."""
        was_deprecated = self.previous is not None and self.previous.status is Support.DEPRECATED
        return self.status is Support.DEPRECATED or (self.is_hidden and was_deprecated)

    @property
    def advice(self) -> str:
        """What to do instead, for people; empty if nothing is known."""
        instead = f"use {self.substitute}" if self.substitute else ""
        return self.message or instead

    def describe(self) -> str:
        """Return the status in words, such as ``deprecated since 5.0: use network``; empty while it is supported."""
        if self.status is Support.SUPPORTED:
            return ""
        # What is hidden was something else for those who use it all the same.
        told = self.previous if self.is_hidden and self.is_outdated and self.previous else self
        since = f" since {told.version}" if told.version else ""
        advice = self.advice or told.advice
        return f"{told.status}{since}" + (f": {advice}" if advice else "")


#: Of what can be relied on.
SUPPORTED: Final = SupportStatus()
