"""How much a run looks at: an ordinary one at a part, one with ``ISOTHERM_TEST_THOROUGH=1`` at everything.

So does ``--hypothesis-profile=thorough``, which asks for the same.
"""

import os
import random
from collections.abc import Sequence
from typing import Final

import hypothesis

#: Asks for a thorough run, of the processes that tests start themselves as well.
VARIABLE: Final = "ISOTHERM_TEST_THOROUGH"


def is_thorough() -> bool:
    """Return whether this run looks at everything."""
    return VARIABLE in os.environ or hypothesis.settings.get_current_profile_name() == "thorough"


def examples(ordinarily: int) -> int:
    """Return how many examples a property has: twenty-five times as many where the run looks at everything."""
    return 25 * ordinarily if is_thorough() else ordinarily


def some_of(instants: range, one_of: int = 5) -> Sequence[int]:
    """Return the instants at which a test interrupts: in an ordinary run every ``one_of``-th, from a random one."""
    if is_thorough():
        return instants
    first = random.randrange(one_of)
    print(f"one instant of {one_of}, beginning with {first}")  # Shown where a test failed.
    return instants[first::one_of]
