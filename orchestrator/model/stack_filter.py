"""The filter and the order of a list of stacks."""

from dataclasses import dataclass
from typing import Final

#: What a list of stacks can be sorted by.
SORT_KEYS: Final = ("name", "status", "created_at", "updated_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class StackFilter:
    """Conditions on stacks: of each field that is not empty, one of the values must match; all of the tags must."""

    ids: tuple[str, ...] = ()
    #: Of the projects that are listed, these.
    projects: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    #: Action and status together, such as ``("CREATE", "FAILED")``.
    states: tuple[tuple[str, str], ...] = ()
    #: The ids of the stacks that they are nested in.
    parents: tuple[str, ...] = ()
    #: Stacks that have all of these tags, or one; and those that have not all of these, or none.
    tags: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    not_tags: tuple[str, ...] = ()
    not_tags_any: tuple[str, ...] = ()
    #: Whether stacks in other stacks, and deleted ones, are included.
    nested: bool = False
    deleted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StackOrder:
    """The order of a list, of :data:`SORT_KEYS`, and the part of it that is wanted."""

    keys: tuple[str, ...] = ("created_at",)
    descending: bool = True
    #: The id of the last stack of the part before; empty for the first part.
    after: str = ""
    #: The most stacks; None for all.
    limit: int | None = None
