"""``racks``: takes a place in a rack for every box before an operation begins, and gives back what nobody needs.

Both calls may come more than once for one operation, after a process died in between: a box that has a place keeps it,
and only the operation that took a place last gives it back.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from isotherm.hooks import (
    Annotations,
    FrozenStack,
    HookOptions,
    LifecycleContext,
    LifecyclePlugin,
    Refusal,
)
from racks.book import Book, Place, Places

BOX = "Racks::Box"
#: What may need other places than the stack has; whatever else is done to a stack, its boxes stay where they are.
PLACING = frozenset({"CREATE", "UPDATE", "ROLLBACK", "RESTORE", "ADOPT"})


class RacksOptions(HookOptions):
    """What the settings may say below ``[lifecycle.racks]``."""

    book: Path = Field(description="The file in which the places are kept.")
    racks: dict[str, Annotated[int, Field(ge=1)]] = Field(
        description="How many places each rack has.", min_length=1
    )
    warn_below: int = Field(default=1, ge=0, description="Warn when fewer places are free afterwards.")


class Racks(LifecyclePlugin):
    """Knows the places, and who has them."""

    description = "Takes a place in a rack for every box."
    Options = RacksOptions
    options: RacksOptions
    ordinal = 60
    #: Whoever asks nobody refuses first.
    after = ("limits", "policy")
    time_limit_seconds = 5.0

    def __init__(self, options: RacksOptions) -> None:
        """Keep the options; the book is opened when it is needed."""
        super().__init__(options)
        self._book = Book(options.book)

    def do_pre_op(
        self, context: LifecycleContext, stack: FrozenStack, current_stack: FrozenStack | None, action: str
    ) -> Annotations | None:
        """Take the places, and tell each box its rack.

        Raises:
            Refusal: there are not enough.
        """
        with self._book.changed() as places:
            # What the stack has is this operation's from now on, also what it is about to do away with.
            for (of_stack, box), place in list(places.items()):
                if of_stack == stack.id:
                    places[of_stack, box] = Place(place.rack, context.operation_id)
            return self._take(places, context, stack) if action in PLACING else None

    def do_preview(
        self, context: LifecycleContext, stack: FrozenStack, current_stack: FrozenStack | None, action: str
    ) -> Annotations:
        """Say which places would be taken; the book stays as it is.

        Raises:
            Refusal: there are not enough.
        """
        return self._take(self._book.read(), context, stack)

    def do_post_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,
        action: str,
        is_stack_failure: bool,
    ) -> None:
        """Give back the places of boxes that are not there, however the operation ended."""
        there = set() if current_stack is None else _there(current_stack)
        with self._book.changed() as places:
            for (of_stack, box), place in list(places.items()):
                if of_stack == stack.id and place.operation == context.operation_id and box not in there:
                    del places[of_stack, box]

    def _take(self, places: Places, context: LifecycleContext, stack: FrozenStack) -> Annotations:
        boxes = sorted(name for name, resource in stack.resources.items() if resource.type == BOX)
        free = _free(self.options.racks, places.values())
        for box in boxes:
            if (stack.id, box) in places:
                continue
            rack = next((rack for rack, count in free.items() if count > 0), None)
            if rack is None:
                raise Refusal(
                    f"there is no place left for box {box!r}: all {sum(self.options.racks.values())} are taken"
                )
            places[stack.id, box] = Place(rack, context.operation_id)
            free[rack] -= 1
        left = sum(free.values())
        warning = f"only {left} places are free afterwards" if left < self.options.warn_below else ""
        return Annotations(
            warnings=[warning] if warning and boxes else (),
            resources={box: {"rack": places[stack.id, box].rack} for box in boxes},
        )


def _free(racks: Mapping[str, int], taken: Iterable[Place]) -> dict[str, int]:
    counts = Counter(place.rack for place in taken)
    return {rack: size - counts[rack] for rack, size in racks.items()}


def _there(stack: FrozenStack) -> set[str]:
    """Return the boxes that are there, or may be soon: what was under way when a stack failed goes on to its end."""
    return {
        name
        for name, resource in stack.resources.items()
        if resource.physical_id is not None or resource.status == "IN_PROGRESS"
    }
