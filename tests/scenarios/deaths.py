"""Crash tests: one story, run with a death at its first instruction, at its second, and so on to its end."""

import functools
import inspect
from collections.abc import Callable
from itertools import count

from tests.scenarios.cloud import Cloud
from tests.scenarios.world import World


def die_everywhere(story: Callable[..., None]) -> Callable[..., None]:
    """Run a test with ``instruction`` 1, 2, 3 and so on, until nothing has died in it any more.

    The test lets a process die there, by ``cloud.crash_after(instruction)``; what it needs for that is made anew each
    time, so only fixtures that no run changes may be asked for. A failure names the instruction and the lines of the
    engine at which it was carried out. A test in which nothing ever dies fails: it has proved nothing.
    """

    @functools.wraps(story)
    def run(**fixtures: object) -> None:
        for instruction in count(1):
            Cloud.deaths.clear()
            before = [*World.open]
            try:
                story(**fixtures, instruction=instruction)
            except BaseException as error:
                error.add_note(f"instruction {instruction}: {'; '.join(Cloud.deaths) or 'nothing died'}")
                raise
            for world in [each for each in World.open if each not in before]:
                world.close()
            if not Cloud.deaths:
                break
        assert instruction > 1, "nothing ever died"

    wanted = inspect.signature(story)
    others = [each for each in wanted.parameters.values() if each.name != "instruction"]
    run.__signature__ = wanted.replace(parameters=others)  # type: ignore[attr-defined]  # where pytest looks
    return run
