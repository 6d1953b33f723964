"""Update policies of groups: their schemas, and their conversion to :class:`Batching`."""

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.plugins.constraints import Range
from workers.resources.core.groups.batches import AT_ONCE, Batching
from workers.resources.schemas import integer, number

_MIN_IN_SERVICE: Final = "min_in_service"
_MAX_BATCH_SIZE: Final = "max_batch_size"
_PAUSE_TIME: Final = "pause_time"

#: The schema of batches when members are made.
BATCH_CREATE_SCHEMA: Final = {
    _MAX_BATCH_SIZE: integer(
        "The largest number of members that are out of service at once.",
        default=1,
        constraints=(Range(min=1),),
    ),
    _PAUSE_TIME: number("Seconds between two batches.", default=0, constraints=(Range(min=0),)),
}
#: The schema of batches when members are changed.
ROLLING_UPDATE_SCHEMA: Final = {
    _MIN_IN_SERVICE: integer(
        "The smallest number of members in service; if necessary, additional members are made for a while.",
        default=0,
        constraints=(Range(min=0),),
    ),
    **BATCH_CREATE_SCHEMA,
}


def batching_of(policy: Mapping[str, Any] | None) -> Batching:
    """Return the batching of a policy, with defaults; without a policy, everything is done at once."""
    if not policy:
        return AT_ONCE
    return Batching(
        max_size=policy[_MAX_BATCH_SIZE],
        min_in_service=policy.get(_MIN_IN_SERVICE, 0),
        pause_seconds=policy[_PAUSE_TIME],
    )
