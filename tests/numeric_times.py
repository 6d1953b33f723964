"""Times that were forgotten as numbers: JSON has them as ISO 8601."""

from collections.abc import Iterator
from typing import Any, Final

from orchestrator.views.times import is_time

#: From 2001 to 2065, as seconds since the epoch.
_EPOCHS: Final = (1e9, 3e9)


def numeric_times(data: Any, path: str = "") -> Iterator[str]:
    """Yield the path of each number that has the name of a time, or that is as large as one."""
    if isinstance(data, dict):
        for key, value in data.items():
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if is_number and is_time(str(key)):
                yield f"{path}.{key}"
            else:
                yield from numeric_times(value, f"{path}.{key}")
    elif isinstance(data, list):
        for index, item in enumerate(data):
            yield from numeric_times(item, f"{path}[{index}]")
    elif isinstance(data, (int, float)) and _EPOCHS[0] < data < _EPOCHS[1]:
        yield path
