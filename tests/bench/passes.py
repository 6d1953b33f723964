"""How the links of a chain are carried out: how many in each pass of a checker, until a message of another is due."""

from collections.abc import Sequence

from workers.check.checker import CARRY_ON, LINKS

#: As the settings ``batch_size`` and ``run_size``: how many checks are claimed, ended or sent together at most, and how
#: many links are carried out in a run.
BATCH_SIZE, RUN_SIZE = 32, 32


def passes(run_size: int) -> Sequence[int]:
    """Return how many links each pass of one message ends, as :meth:`workers.check.checker.Checker.check` does."""
    # The claim of the first counts as a pass.
    left, done = (CARRY_ON - 1) * LINKS - 1, []
    while left > 0:
        done.append(min(run_size, left))
        left -= done[-1]
    # What is claimed with the last of them is ended as well.
    return [*done, 1]
