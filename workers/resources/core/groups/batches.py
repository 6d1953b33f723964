"""Batches: the order in which a group's members are made, changed and removed, so that enough stay in service.

Pure: from the present and the wanted members to the members to change, make and remove next.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from hooks.values.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """How many members may be out of service at once."""

    #: The size of a batch; None: all members.
    max_size: int | None = None
    #: The minimum in service meanwhile; fewer, if there are or will be fewer.
    min_in_service: int = 0
    #: The pause between two batches.
    pause_seconds: float = 0.0


#: Everything in one batch.
AT_ONCE: Final = Batching()


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """An existing member."""

    name: str
    #: Whether it has the wanted definition.
    is_current: bool
    #: Whether it is in service: not if it failed, or is still being changed.
    is_serving: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The next step, done all at once."""

    #: The members that get the wanted definition.
    change: tuple[str, ...] = ()
    #: The members that are made, with the wanted definition.
    make: tuple[str, ...] = ()
    #: The members that are removed.
    drop: tuple[str, ...] = ()


def next_batch(
    present: Sequence[Present], wanted: Sequence[str], batching: Batching, spares: Iterable[str] = ()
) -> Batch | None:
    """Return the next batch; None when exactly the ``wanted`` members exist, with the wanted definition.

    ``present`` is in the order in which members are changed and removed. ``spares`` are names for members that
    serve only while others cannot; none of them is present or wanted.

    Members out of service come first, all of them at once.
    """
    difference = _Difference.of(present, wanted)
    if difference.is_right:
        return None
    if batching.max_size is None:
        return Batch(change=difference.outdated, make=difference.missing, drop=difference.surplus)
    idle = {each.name for each in present if not each.is_serving}
    if idle:
        wanted_names = frozenset(wanted)
        return Batch(
            change=tuple(each.name for each in present if each.name in idle & wanted_names),
            drop=tuple(each.name for each in present if each.name in idle - wanted_names),
        )
    return _batch(difference, len(present), len(wanted), batching, spares)


@dataclass(frozen=True, slots=True)
class _Difference:
    """The difference between the present and the wanted members."""

    #: Wanted, present, and of an old definition.
    outdated: tuple[str, ...]
    #: Wanted and missing.
    missing: tuple[str, ...]
    #: Present and not wanted; the outdated ones first.
    surplus: tuple[str, ...]
    #: The number of wanted and present members.
    kept: int

    @classmethod
    def of(cls, present: Sequence[Present], wanted: Sequence[str]) -> "_Difference":
        names = frozenset(wanted)
        surplus = sorted(
            (each for each in present if each.name not in names), key=lambda each: each.is_current
        )
        known = {each.name for each in present}
        return cls(
            outdated=tuple(
                each.name
                for each in present
                if each.name in names and not (each.is_current and each.is_serving)
            ),
            missing=tuple(name for name in wanted if name not in known),
            surplus=tuple(each.name for each in surplus),
            kept=len(present) - len(surplus),
        )

    @property
    def is_right(self) -> bool:
        return not (self.outdated or self.missing or self.surplus)


def _batch(
    difference: _Difference, size: int, target: int, batching: Batching, spares: Iterable[str]
) -> Batch:
    """Return the next batch where all present members serve."""
    to_do = len(difference.outdated) + len(difference.missing)
    in_service = min(batching.min_in_service, target, size)
    effective = to_do if batching.max_size is None else min(batching.max_size, to_do)
    next_size = effective + max(min(size, target - effective), in_service)
    # All that stay as they are serve meanwhile: next_size - effective, at least in_service.
    made = max(min(len(difference.missing), effective, next_size - difference.kept), next_size - size)
    make = (*difference.missing[:made], *islice(spares, max(0, made - len(difference.missing))))
    return Batch(
        change=difference.outdated[: effective - made],
        make=make,
        drop=difference.surplus[: size + made - next_size],
    )
