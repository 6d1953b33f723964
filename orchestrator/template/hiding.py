"""The text that is shown in place of a secret."""

from typing import Final

HIDDEN: Final = "******"
