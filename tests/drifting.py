"""Drift of one resource of any type: a change or a removal behind the engine's back is found, resolved and repaired.

It is made by the interface of the object's own system, never by the type: :class:`Tampering` says how.
"""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from isotherm.testing import Engine
from isotherm.testing.resources import NAME
from orchestrator.model.drift import Standing
from orchestrator.views.drift import DriftView
from tests.thoroughness import is_thorough

#: In an ordinary run, the process dies at one of so many instants of a repair.
_ONE_OF: Final = 6


class Thing:
    """The object of the resource, as the tests of its type see it."""

    def __init__(self, case: Any, engine: Engine) -> None:
        self.case, self.engine = case, engine

    @property
    def id(self) -> str:
        """The physical id."""
        return str(self.engine.resource("s", NAME).physical_id)

    @property
    def given(self) -> Mapping[str, Any]:
        """The properties with all values resolved, as of the last call of the type."""
        resource = self.engine.watch.last
        assert resource is not None
        return resource.properties


@dataclass(frozen=True, kw_only=True)
class Way:
    """How one property of an object is read and written behind the engine's back."""

    read: Callable[[Thing, str], Any]
    write: Callable[[Thing, str, Any], object]


@dataclass(frozen=True, kw_only=True)
class Tampering:
    """Changes and removals of objects of one type behind the engine's back."""

    #: How a property is changed where ``ways`` has none of its own.
    way: Way
    ways: Mapping[str, Way] = field(default_factory=dict)
    #: By property, another value as the object's system takes it, or a function that makes it of the present one.
    values: Mapping[str, Any] = field(default_factory=dict)
    #: How the object is taken away.
    take: Callable[[Thing], object] | None
    #: Why no value is changed, or nothing is taken away.
    because: str = ""
    #: Whether a changed value is repaired by another object, and not in place.
    replaces: bool = False

    def way_of(self, name: str) -> Way:
        """Return how a property is read and written."""
        return self.ways.get(name, self.way)


class Drifting:
    """A stack with one resource whose object is changed behind the engine's back."""

    def __init__(self, case: Any, engine: Engine, tampering: Tampering) -> None:
        self._case, self._engine, self._by = case, engine, tampering
        self._thing = Thing(case, engine)

    def live(self) -> None:
        """Do all of it; the stack is deleted, and nothing is left."""
        assert self._by.because or (self._by.values and self._by.take), "say why there is no such drift"
        before = self._case._there()
        made = self._engine.create("s", self._case._template(), **self._case.signals)
        self._case._is(made, "CREATE_COMPLETE")
        self._sound("as it was created")
        for name, value in self._by.values.items():
            self._changes(name, value)
        if self._by.take is not None:
            self._vanishes(self._by.take)
        self._case._is_gone(self._engine, before)

    def end(self) -> None:
        """Delete what is left of a life that failed."""
        self._engine.watch.disarm()
        with suppress(Exception):
            self._engine.delete("s")

    # -- a changed value ---------------------------------------------------------------------------------------

    def _changes(self, name: str, value: Any) -> None:
        way = self._by.way_of(name)
        before = way.read(self._thing, name)
        value = value(before) if callable(value) else value

        way.write(self._thing, name, value)
        self._found(name, value, self._engine.observe("s"))
        way.write(self._thing, name, before)
        self._sound(f"{name} was changed back by hand")

        for words in self._crashes():
            was = self._engine.resource("s", NAME)
            way.write(self._thing, name, value)
            self._repaired(words)
            now = way.read(self._thing, name)
            assert _alike(now, before), f"{words()}{name} is {now!r} after its repair: expected {before!r}"
            is_same = self._engine.resource("s", NAME).id == was.id
            assert is_same is not self._by.replaces, f"{words()}{name}: another object is in its place"

    def _found(self, name: str, value: Any, found: list[DriftView]) -> None:
        assert found, f"{name} was changed, and no drift is found"
        for each in found:
            assert each.resource == NAME, f"drift of {each.resource}: {each.key}"
            assert each.key.split(".")[0] == name, f"{name} was changed, and drift of {each.key!r} is found"
            # What another resource gives may be a secret, and is not shown.
            is_shown = "get_resource" not in json.dumps(self._case.properties.get(name))
            assert each.hidden is not is_shown, f"{each.key}: hidden={each.hidden}"
            assert each.hidden or each.recorded != each.observed, f"{each.key}: {each.recorded!r} is no drift"
            assert each.standing == Standing.REPORTED
        # What is shown of a list or a map is as the type spells it.
        if isinstance(value, (str, int)) and not found[0].hidden:
            assert [str(each.observed) for each in found] == [str(value)], f"{name} is {value!r}: {found}"

    # -- an object that is gone --------------------------------------------------------------------------------

    def _vanishes(self, take: Callable[[Thing], object]) -> None:
        there = len(self._case._there())
        take(self._thing)
        found = self._engine.observe("s")
        assert [(each.resource, each.key) for each in found] == [(NAME, "")], f"it is gone: found {found}"
        self._repaired(str)
        for words in self._crashes():
            take(self._thing)
            self._repaired(words)
            assert len(self._case._there()) == there, f"{words()}there are {sorted(self._case._there())}"

    # -- both --------------------------------------------------------------------------------------------------

    def _repaired(self, words: Callable[[], str]) -> None:
        left = self._engine.repair("s")
        assert left == [], f"{words()}the repair left {left}"
        shown = next(each for each in self._engine.queries.stacks() if each.name == "s")
        assert shown.status == "COMPLETE", f"{words()}{shown.state}: {shown.reason}"

    def _sound(self, words: str) -> None:
        found = self._engine.observe("s")
        assert found == [], f"{words}, and drift is found: {found}"

    def _crashes(self) -> Iterator[Callable[[], str]]:
        """Yield with a process that dies at another instant each time, and at last at none."""
        watch, step = self._engine.watch, 1 if is_thorough() else _ONE_OF
        at = random.randrange(step)
        while True:
            watch.crash_after(at)
            yield lambda: f"the process died {watch.crashed}: " if watch.crashed else ""
            crashed = watch.crashed
            watch.disarm()
            if not crashed:
                return
            at += step


def _alike(one: Any, other: Any) -> bool:
    """Whether two values are the same but for the order of lists."""
    return bool(_sorted(one) == _sorted(other))


def _sorted(value: Any) -> Any:
    if isinstance(value, list):
        return sorted((_sorted(each) for each in value), key=lambda each: json.dumps(each, sort_keys=True))
    if isinstance(value, dict):
        return {name: _sorted(each) for name, each in value.items()}
    return value
