"""The placeholder of unknown values."""

from enum import Enum
from typing import Final


class Unknown(Enum):
    """The type of :data:`UNKNOWN`."""

    UNKNOWN = "unknown until the resource exists"


#: Stands for a value that is unknown until a resource exists.
UNKNOWN: Final = Unknown.UNKNOWN
