"""What stands for a value that nobody can tell yet."""

from enum import Enum
from typing import Final


class Unknown(Enum):
    """The type of :data:`UNKNOWN`."""

    UNKNOWN = "unknown until the resource exists"


#: Stands for a value that only a resource still to be made can tell.
UNKNOWN: Final = Unknown.UNKNOWN
