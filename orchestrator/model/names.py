"""The rules for names of stacks, projects and jobs, and names that are made of others."""

import re
import uuid
from collections.abc import Sequence
from typing import Final, TypeGuard

from orchestrator.errors import InvalidInput, Problem

#: Heat's rule: a letter first, then letters, digits and ``_ . -``; at most 255 characters.
_STACK_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,254}")
#: The longest name.
_LONGEST = 255
#: The most words that a sentence lists.
_LISTED: Final = 5
#: The namespace of the ids of stacks.
_STACKS: Final = uuid.UUID("5a0c6a5e-2d0f-4c1b-9f2e-7d1f0b6f3c11")
#: How many characters of the resource's name, and of the outer stack's, are in a nested stack's.
_LONGEST_PART: Final = 60
_LONGEST_OUTER: Final = 150
#: Characters that a resource's name may have and a stack's may not.
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]")
#: The rule of :func:`is_name`, in words.
NAME = f"one line of 1 to {_LONGEST} printable characters, without a blank at either end"


def is_name(value: object) -> TypeGuard[str]:
    """Return whether ``value`` is a valid name: see :data:`NAME`."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST:
        return False
    return value.isprintable() and value == value.strip()


def listed(words: Sequence[str]) -> str:
    """Return the first five words, with the number of the others."""
    more = f" and {len(words) - _LISTED} more" if len(words) > _LISTED else ""
    return ", ".join(words[:_LISTED]) + more


def check_project(name: str) -> None:
    """Check that a name is valid for a project.

    Raises:
        InvalidInput: it is not.
    """
    if not is_name(name):
        raise InvalidInput([Problem(path="project", message=f"expected {NAME}", hint="set ISOTHERM_PROJECT")])


def check_stack_name(name: str) -> None:
    """Check that a name is valid for a stack.

    Raises:
        InvalidInput: it is not.
    """
    if not _STACK_NAME.fullmatch(name):
        problem = Problem(
            path="name",
            message=f"{name!r} is no stack name",
            hint="a letter first, then letters, digits, '_', '-' and '.', at most 255 in all",
        )
        raise InvalidInput([problem])


def id_of_new_stack(project: str, made_by: str) -> str:
    """Return the id of the stack that a job or a saved plan makes, by the id of that; always the same one."""
    return str(uuid.uuid5(_STACKS, f"{project}/{made_by}"))


def membership(stack_id: str, group: str) -> str:
    """Return the kind of the reservations, whose amount is 0, of members of a stack's placement group."""
    return f"group:{stack_id}:{group}"


def name_of_nested(outer: str, resource: str, stack_id: str) -> str:
    """Return the name of the nested stack that a resource is, in a stack called ``outer``."""
    part = _UNFIT.sub("-", resource)[:_LONGEST_PART]
    return f"{outer[:_LONGEST_OUTER]}-{part}-{stack_id[:12]}"
