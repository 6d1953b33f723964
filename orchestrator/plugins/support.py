"""Support status of resource types, properties and attributes: supported, deprecated, unsupported or hidden."""

from enum import StrEnum
from typing import Final

from hooks.values.dataclass import dataclass
from orchestrator.errors import PluginMistake


class Support(StrEnum):
    """The support status of a type, a property or an attribute."""

    #: It works.
    SUPPORTED = "supported"
    #: It works, with a warning: it will be removed.
    DEPRECATED = "deprecated"
    #: It is refused: it does not work, or no longer does.
    UNSUPPORTED = "unsupported"
    #: It works, for old templates, but is left out of lists and documents.
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportStatus:
    """A support status with its version, and the status before it.

    Raises:
        PluginMistake: a supported status has a substitute, or equals the previous one.
    """

    status: Support = Support.SUPPORTED
    #: Advice to users: ``use network``.
    message: str = ""
    #: The version of the package since which the status applies.
    version: str = ""
    #: The status before.
    previous: "SupportStatus | None" = None
    #: Of a type, the name of the type that replaces it and manages the same objects. A resource whose type changes to
    #: it, or back, is updated in place, so each of the two must be able to manage objects that the other created.
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
        """Whether templates that use it are refused."""
        return self.status is Support.UNSUPPORTED

    @property
    def is_offered(self) -> bool:
        """Whether suggestions may name it."""
        return self.status is Support.SUPPORTED

    @property
    def is_outdated(self) -> bool:
        """Whether its use gives a warning: it is deprecated, or was before it was hidden."""
        was_deprecated = self.previous is not None and self.previous.status is Support.DEPRECATED
        return self.status is Support.DEPRECATED or (self.is_hidden and was_deprecated)

    @property
    def advice(self) -> str:
        """Advice to users on what to use instead; may be empty."""
        instead = f"use {self.substitute}" if self.substitute else ""
        return self.message or instead

    def describe(self) -> str:
        """Return the status in words, such as ``deprecated since 5.0: use network``; empty while it is supported."""
        if self.status is Support.SUPPORTED:
            return ""
        # A hidden status is described by the one before: old templates still use what it applies to.
        shown = self.previous if self.is_hidden and self.is_outdated and self.previous else self
        since = f" since {shown.version}" if shown.version else ""
        advice = self.advice or shown.advice
        return f"{shown.status}{since}" + (f": {advice}" if advice else "")


#: The default status.
SUPPORTED: Final = SupportStatus()
