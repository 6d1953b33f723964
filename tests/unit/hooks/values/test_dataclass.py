"""Dataclasses that are compiled on demand are those of the standard library in everything but when."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any, ClassVar

import pytest

from hooks.values.dataclass import dataclass

OPTIONS: list[dict[str, bool]] = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "slots": True, "eq": False},
    {"frozen": True, "slots": True, "order": True},
    {"slots": True, "eq": False, "kw_only": True},
]


def classes(decorator: Callable[..., Any], options: dict[str, bool]) -> tuple[type[Any], ...]:
    """Return classes that differ from those of the other decorator in nothing but how they are compiled."""
    of = decorator(**options)

    @of
    class Plain:
        """A class."""

        kind: ClassVar[str] = "plain"
        name: str
        size: int = 3
        tags: list[str] = dataclasses.field(default_factory=list, compare=False)
        secret: str = dataclasses.field(default="s", repr=False)
        fixed: int = dataclasses.field(default=7, init=False)

        def __post_init__(self) -> None:
            if self.size < 0:
                raise ValueError(self.name)

    @of
    class Derived(Plain):
        """A class with a base."""

        more: int = 0

    @of
    class Own:  # noqa: PLW1641
        """A class with methods of its own."""

        name: str

        def __init__(self, name: str) -> None:
            object.__setattr__(self, "name", name.upper())

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self))

    @of
    class Hashed:
        """A class with a hash of its own."""

        name: str

        def __hash__(self) -> int:
            return 5

    class Plainer(Derived):
        """A subclass that is no dataclass."""

    return Plain, Derived, Own, Hashed, Plainer


def told(act: Callable[[], object]) -> object:
    """Return what came of a call, or its error."""
    try:
        return act()
    except (TypeError, ValueError, AttributeError) as error:
        return type(error), str(error)


def behaviour(kind: type[Any]) -> list[object]:
    """Return what is seen of a class and its instances."""
    seen: list[object] = [str(inspect.signature(kind)), kind.__doc__, getattr(kind, "__match_args__", None)]
    seen += [
        [field.name for field in dataclasses.fields(kind)],
        told(kind),
        told(lambda: kind(size=-1, name="n")),
    ]
    seen += [told(lambda: kind(unknown=1)), told(lambda: kind("a", "b", "c", "d", "e", "f"))]
    one, same, other = kind(name="a"), kind(name="a"), kind(name="b")
    seen += [repr(one), one == same, one == other, one != other, one == "a", told(lambda: one < other)]
    seen += [told(lambda: hash(one) == hash(same)), told(lambda: len({one, same, other}))]
    # Python 3.11 names the wrong fault where an unknown attribute of a frozen class with slots is set.
    for attribute in ("name",) if hasattr(kind, "__slots__") else ("name", "unknown"):
        seen += [told(partial(setattr, one, attribute, 1)), told(partial(delattr, other, attribute))]
    seen += [repr(copy.copy(same)), repr(copy.deepcopy(same)), dataclasses.asdict(same)]
    seen += [told(lambda: repr(dataclasses.replace(same, name="c"))), hasattr(same, "__dict__")]
    return seen


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_class_is_as_one_of_the_standard_library(options: dict[str, bool]) -> None:
    for kind, standard in zip(
        classes(dataclass, options), classes(dataclasses.dataclass, options), strict=True
    ):
        assert behaviour(kind) == behaviour(standard)


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("first", [dataclass, dataclasses.dataclass])
@pytest.mark.parametrize("second", [dataclass, dataclasses.dataclass])
def test_bases_of_both_kinds_mix_and_are_frozen_or_not_alike(
    first: Callable[..., Any], second: Callable[..., Any], frozen: bool
) -> None:
    @first(frozen=frozen)
    class Base:
        name: str

    @second(frozen=frozen)
    class Derived(Base):
        size: int

    kind: Any = Derived
    assert kind("a", 1) == kind(name="a", size=1)
    with pytest.raises(TypeError, match="cannot inherit"):

        @second(frozen=not frozen)
        class Wrong(Base):
            size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    name: str
    parts: tuple[int, ...] = ()


def test_a_frozen_class_with_slots_is_pickled() -> None:
    kept = Kept(name="a", parts=(1, 2))
    assert pickle.loads(pickle.dumps(kept)) == kept


def test_a_method_is_compiled_when_it_is_first_used() -> None:
    @dataclass(frozen=True, slots=True)
    class Value:
        name: str

    def compiled() -> set[str]:
        names = ("__init__", "__repr__", "__eq__", "__hash__")
        return {name for name in names if isinstance(vars(Value)[name], FunctionType)}

    assert compiled() == set()
    value = Value("a")
    assert value == Value("a")
    assert compiled() == {"__eq__"}
    assert hash(value) == hash(Value("a"))
    assert "Value(name='a')" in repr(value)
    assert compiled() == {"__repr__", "__eq__", "__hash__"}


def test_an_initializer_is_compiled_after_some_uses_and_does_the_same_before() -> None:
    made = []

    @dataclass(kw_only=True)
    class Value:
        name: str
        parts: list[int] = dataclasses.field(default_factory=list)

        def __post_init__(self) -> None:
            made.append(self.name)

    values = [Value(name="a") for _ in range(100)]
    assert isinstance(vars(Value)["__init__"], FunctionType)
    assert len(made) == 100
    assert all(value == values[-1] for value in values)
    assert len({id(value.parts) for value in values}) == 100
