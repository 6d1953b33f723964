"""In what parts the members of a group are made, changed and taken away, so that enough of them serve all the time.

Pure: who is there and who is wanted, in; who is to be changed, made and taken away next, out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """How many members may be out of service at once."""

    #: How many are made or changed at once; None: all of them.
    max_size: int | None = None
    #: How many serve meanwhile, at least; fewer, if there are not or will not be so many.
    min_in_service: int = 0
    #: How long to wait between two batches.
    pause_seconds: float = 0.0


#: Everything in one batch.
AT_ONCE: Final = Batching()


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """A member that is there."""

    name: str
    #: Whether its definition is the one that is wanted.
    is_current: bool
    #: Whether it does what it is there for: one that failed, or is still being changed, does not.
    is_serving: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What is done next, all at once."""

    #: The members that are given the wanted definition.
    change: tuple[str, ...] = ()
    #: The members that are made, with the wanted definition.
    make: tuple[str, ...] = ()
    #: The members that are taken away.
    drop: tuple[str, ...] = ()


def next_batch(
    present: Sequence[Present], wanted: Sequence[str], batching: Batching, spares: Iterable[str] = ()
) -> Batch | None:
    """Return what is to be done next; None when exactly those ``wanted`` are there, with the wanted definition.

    ``present`` is in the order in which members are changed and taken away. ``spares`` are names for members that
    serve only as long as others cannot; none of them is present or wanted.

    Members that do not serve come first, all of them at once: nobody misses them.
    """
    there = _There.of(present, wanted)
    if there.is_right:
        return None
    if batching.max_size is None:
        return Batch(change=there.outdated, make=there.missing, drop=there.surplus)
    idle = {each.name for each in present if not each.is_serving}
    if idle:
        wanted_names = frozenset(wanted)
        return Batch(
            change=tuple(each.name for each in present if each.name in idle & wanted_names),
            drop=tuple(each.name for each in present if each.name in idle - wanted_names),
        )
    return _batch(there, len(present), len(wanted), batching, spares)


@dataclass(frozen=True, slots=True)
class _There:
    """How those that are there differ from those that are wanted."""

    #: Wanted, there, and of an old definition.
    outdated: tuple[str, ...]
    #: Wanted and not there.
    missing: tuple[str, ...]
    #: There and not wanted; the outdated ones first.
    surplus: tuple[str, ...]
    #: How many are wanted and there.
    kept: int

    @classmethod
    def of(cls, present: Sequence[Present], wanted: Sequence[str]) -> "_There":
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


def _batch(there: _There, size: int, target: int, batching: Batching, spares: Iterable[str]) -> Batch:
    """Return the next batch where all that are there serve."""
    to_do = len(there.outdated) + len(there.missing)
    in_service = min(batching.min_in_service, target, size)
    effective = to_do if batching.max_size is None else min(batching.max_size, to_do)
    next_size = effective + max(min(size, target - effective), in_service)
    # All that are kept as they are serve meanwhile: next_size - effective, at least in_service.
    made = max(min(len(there.missing), effective, next_size - there.kept), next_size - size)
    make = (*there.missing[:made], *islice(spares, max(0, made - len(there.missing))))
    return Batch(
        change=there.outdated[: effective - made],
        make=make,
        drop=there.surplus[: size + made - next_size],
    )
