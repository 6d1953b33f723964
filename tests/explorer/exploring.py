"""Orders of statements: all of them up to a number of changes between operations, or some by chance.

After C. Flanagan, M. Musuvathi and S. Qadeer's way of testing threads (CHESS, OSDI 2008): a change from an operation
that could go on to another one is a *preemption*, and few of them find most faults.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from tests.explorer.driving import Act, Driver, Run


def orders(
    driver: Driver,
    acts: Sequence[tuple[str, Act]],
    *,
    preemptions: int,
    most: int,
    known: Mapping[tuple[int, ...], Run] = MappingProxyType({}),
) -> Iterator[Run]:
    """Run operations in every order with at most so many preemptions; in ``most`` of these if there are more.

    The caller restores the database before each run. Which are left out is always the same. ``known`` are runs that
    there have been, by the prefixes of choices that lead to them: they are neither run again nor yielded, but count.
    """
    waiting: list[tuple[int, ...]] = [() for _ in range(not known)]
    for prefix, run in known.items():
        waiting += [each for each in _others(run, len(prefix), preemptions) if each not in known]
    chance = random.Random(most)
    for _ in range(most - len(known)):
        if not waiting:
            return
        prefix = waiting.pop(chance.randrange(len(waiting)))
        run = driver.run(acts, lambda run, able, prefix=prefix: _follow(run, able, prefix))  # type: ignore[misc]
        waiting += _others(run, len(prefix), preemptions)
        yield run


def some_orders(
    driver: Driver, acts: Sequence[tuple[str, Act]], *, chance: random.Random, count: int
) -> Iterator[Run]:
    """Run operations in so many orders that chance decides."""
    for _ in range(count):
        yield driver.run(acts, lambda run, able: chance.choice(able))


def serially(driver: Driver, acts: Sequence[tuple[str, Act]], order: Sequence[int]) -> Run:
    """Run operations one after the other."""
    return driver.run(acts, lambda run, able: min(able, key=order.index))


def _follow(run: Run, able: Sequence[int], prefix: Sequence[int]) -> int:
    """Return the choice of the prefix; behind it, let the operation go on that went last."""
    at = len(run.steps)
    if at < len(prefix):
        # The same state leads to the same choices; where the server was faster this time, another is as good.
        return prefix[at] if prefix[at] in able else able[0]
    last = run.steps[-1].number if run.steps else able[0]
    return last if last in able else able[0]


def _others(run: Run, first: int, preemptions: int) -> Iterator[tuple[int, ...]]:
    """Return the prefixes that lead to other orders, by the decisions behind the first ones."""
    choices = run.choices
    spent = 0
    for at, step in enumerate(run.steps):
        last = choices[at - 1] if at else None
        if at >= first:
            for other in step.able:
                costs = spent + (last is not None and last in step.able and other != last)
                if other != step.number and costs <= preemptions:
                    yield (*choices[:at], other)
        spent += last is not None and last in step.able and step.number != last
