"""Result of one check of the doctor."""

from dataclasses import dataclass

#: The seconds within which a broker, a cache or a worker has to answer.
PATIENCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The finding of a check, and a remedy."""

    name: str
    ok: bool
    #: The finding.
    detail: str
    #: The remedy if it is not ok.
    hint: str = ""
    #: Whether the fault is a service that cannot be reached, rather than a setting or an installation.
    is_service: bool = False
