"""Growth of a template while it is read: the size of all values that are inserted in place of calls."""


class Growth:
    """Counts inserted values; one instance serves one reading of a template.

    A short call can insert a long list, and there can be thousands of calls.
    """

    def __init__(self) -> None:
        self._size = 0

    def add(self, value: object, most: int) -> bool:
        """Count plain data; return False once the total exceeds ``most`` characters and parts."""
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
