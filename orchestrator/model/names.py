"""What a stack, a project and a job may be called."""

import re
from typing import TypeGuard

from orchestrator.errors import InvalidInput, Problem

#: Heat's rule: a letter first, then letters, digits and ``_ . -``; at most 255 characters.
_STACK_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,254}")
#: How long any name may be.
_LONGEST = 255
#: What :func:`is_name` wants, in words.
NAME = f"one line of 1 to {_LONGEST} printable characters, without a blank at either end"


def is_name(value: object) -> TypeGuard[str]:
    """Whether ``value`` can be a name of anything: see :data:`NAME`."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST:
        return False
    return value.isprintable() and value == value.strip()


def check_project(name: str) -> None:
    """Refuse a name that no project may have.

    Raises:
        InvalidInput: it is none.
    """
    if not is_name(name):
        raise InvalidInput([Problem(path="project", message=f"expected {NAME}", hint="set ISOTHERM_PROJECT")])


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
