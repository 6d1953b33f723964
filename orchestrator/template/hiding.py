"""What people see in place of a secret."""

from typing import Final

HIDDEN: Final = "******"
