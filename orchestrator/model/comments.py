"""Comments on operations: why one was ordered, in the words of the operator, kept in the history and the audit log."""

from typing import Final, TypeGuard

#: The most characters of a comment.
MOST_CHARACTERS: Final = 500
#: The rule of :func:`is_comment`, in words.
COMMENT: Final = f"one line of at most {MOST_CHARACTERS} printable characters"


def is_comment(value: object) -> TypeGuard[str]:
    """Return whether ``value`` is a valid comment: see :data:`COMMENT`; an empty one is none, and valid."""
    return isinstance(value, str) and len(value) <= MOST_CHARACTERS and value.isprintable()
