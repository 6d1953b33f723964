"""How much larger a template becomes by what is put into it as it is read."""

from typing import Any


class Growth:
    """Counts what is put in; one serves one reading of a template.

    A short call can put in a long list, and there can be thousands of calls.
    """

    def __init__(self) -> None:
        self._size = 0

    def add(self, value: Any, most: int) -> bool:
        """Count plain data; False once all of it has more than ``most`` characters and parts."""
        left = [value]
        while left and self._size <= most:
            item = left.pop()
            self._size += len(item) + 1 if isinstance(item, str) else 1
            if isinstance(item, dict):
                left += item.keys()
                left += item.values()
            elif isinstance(item, list):
                left += item
        return self._size <= most
