"""What a stack may be called."""

import re

from orchestrator.errors import InvalidInput, Problem

#: Heat's rule: a letter first, then letters, digits and ``_ . -``; at most 255 characters.
_STACK_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,254}")


def check_stack_name(name: str) -> None:
    """Refuse a name that no stack may have.

    Raises:
        InvalidInput: it is none.
    """
    if not _STACK_NAME.fullmatch(name):
        problem = Problem(
            path="name",
            message=f"{name!r} is no stack name",
            hint="a letter first, then letters, digits, '_', '-' and '.', at most 255 in all",
        )
        raise InvalidInput([problem])
