"""Tags: words on a stack, by which users find it and lifecycle plugins decide.

They belong to the stack and not to its definition: an update keeps them unless it has others, and so do a rollback and
a restore. Nested stacks have no tags; plugins see those of the outermost stack.
"""

from collections.abc import Collection, Sequence
from typing import Final, TypeGuard

from orchestrator.errors import InvalidInput, Problem

#: The limits of Heat. The characters that separate tags in lists and in URLs are not
#: allowed in one, nor is NUL, which PostgreSQL does not take.
LONGEST_TAG: Final = 80
MOST_TAGS: Final = 50
_REFUSED: Final = ",/\0"
#: The rule of :func:`is_tag`, in words.
TAG: Final = f"a text of 1 to {LONGEST_TAG} characters without comma, slash and NUL"
#: The rule of :func:`are_tags`, in words.
TAGS: Final = f"a list of at most {MOST_TAGS} tags, each {TAG}"


def is_tag(value: object) -> bool:
    """Return whether ``value`` is a valid tag: see :data:`TAG`."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= LONGEST_TAG
        and not any(mark in value for mark in _REFUSED)
    )


def are_tags(value: object) -> TypeGuard[Sequence[str]]:
    """Return whether ``value`` is a valid list of tags: see :data:`TAGS`."""
    return isinstance(value, (list, tuple)) and len(value) <= MOST_TAGS and all(map(is_tag, value))


def each_once(tags: Sequence[str]) -> tuple[str, ...]:
    """Return tags in their order, each once."""
    return tuple(dict.fromkeys(tags))


def check_tags(tags: object) -> None:
    """Check that a value is a valid list of tags, or None.

    Raises:
        InvalidInput: with a problem for each tag at fault.
    """
    if tags is None or are_tags(tags):
        return
    if not isinstance(tags, (list, tuple)) or len(tags) > MOST_TAGS:
        found = f"{len(tags)} of them" if isinstance(tags, (list, tuple)) else type(tags).__name__
        raise InvalidInput([Problem(path="tags", message=f"expected {TAGS}, found {found}")])
    raise InvalidInput(
        Problem(path=f"tags.{place}", message=f"expected {TAG}, found {_found(tag)}")
        for place, tag in enumerate(tags)
        if not is_tag(tag)
    )


def read_tags(text: str) -> tuple[str, ...]:
    """Return the tags in a text that a user wrote, separated by commas; none for an empty one.

    Raises:
        ValueError: a tag is not valid; the sentence says why.
    """
    tags = each_once([tag.strip() for tag in text.split(",")]) if text.strip() else ()
    wrong = next((tag for tag in tags if not is_tag(tag)), None)
    if wrong is not None:
        raise ValueError(f"expected {TAG}, found {_found(wrong)}")
    if len(tags) > MOST_TAGS:
        raise ValueError(f"expected at most {MOST_TAGS} tags, found {len(tags)}")
    return tags


def has_tags(tags: Collection[str], *, every: Collection[str] = (), some: Collection[str] = ()) -> bool:
    """Return whether ``tags`` contain all of ``every`` and, unless ``some`` is empty, at least one of ``some``."""
    return set(every) <= set(tags) and (not some or not set(some).isdisjoint(tags))


def _found(tag: object) -> str:
    if not isinstance(tag, str):
        return type(tag).__name__
    if not tag:
        return "an empty one"
    return f"one of {len(tag)} characters" if len(tag) > LONGEST_TAG else repr(tag)
