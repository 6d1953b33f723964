"""Sections of settings: classes whose attributes are declared with a type, a default, bounds and a description.

The types are what a TOML file or JSON can hold, paths, secrets, and sections in sections. Every command reads settings,
hence no library that takes longer to import than most commands to run.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self, dataclass_transform

from orchestrator.config.setting import Fault, Place, Setting
from orchestrator.errors import InvalidInput, Problem


def setting(
    *,
    default: Any = None,
    default_factory: Callable[[], Any] | None = None,
    description: str,
    gt: float | None = None,
    ge: float | None = None,
    le: float | None = None,
    repr: bool = True,  # noqa: A002  # as dataclasses name it
    check: Callable[[Any], object] | None = None,
) -> Any:
    """Declare a setting: its default, bounds, and whether its value may be shown.

    ``check`` raises ValueError for a value of the right type that is refused, with a sentence that does not show it.
    """
    bounds = {name: bound for name, bound in (("gt", gt), ("ge", ge), ("le", le)) if bound is not None}
    return Setting(
        default=default,
        default_factory=default_factory,
        description=description,
        bounds=bounds,
        is_shown=repr,
        check=check,
    )


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(setting,))
class Section:
    """Base of the classes that hold settings; instances do not change."""

    #: The declarations, by name.
    declared: ClassVar[Mapping[str, Setting]] = {}

    def __init_subclass__(cls) -> None:
        declared = {name: each for name, each in vars(cls).items() if isinstance(each, Setting)}
        for name, each in declared.items():
            each.kind = cls.__annotations__[name]
            # Of the class, an attribute is the default.
            setattr(cls, name, each.default)
        cls.declared = declared

    def __init__(self, **given: Any) -> None:
        """Read the values that are given.

        Raises:
            InvalidInput: an unknown name, or a value of the wrong type or out of bounds; each problem names its place.
        """
        faults: list[Fault] = []
        self.__dict__.update(self._read(self._sources(given, faults), (), faults))
        if faults:
            raise InvalidInput(map(self._problem, faults))

    @classmethod
    def read(cls, given: Mapping[str, Any], place: Place, faults: list[Fault]) -> Self:
        """Return a section with the values given at a place of the settings; what is wrong is added to ``faults``."""
        made = cls.__new__(cls)
        made.__dict__.update(cls._read(given, place, faults))
        return made

    @classmethod
    def _read(cls, given: Mapping[str, Any], place: Place, faults: list[Fault]) -> dict[str, Any]:
        values = {
            name: each.read(given[name], (*place, name), faults) if name in given else each.without_value()
            for name, each in cls.declared.items()
        }
        faults += [
            Fault((*place, name), "there is no such setting", tuple(cls.declared))
            for name in given
            if name not in cls.declared
        ]
        return {**values, "_given": frozenset(given)}

    @classmethod
    def _sources(cls, given: Mapping[str, Any], faults: list[Fault]) -> Mapping[str, Any]:  # noqa: ARG003  # of others
        """Return the values of all sources, of which those given to the constructor are one."""
        return given

    @classmethod
    def _problem(cls, fault: Fault) -> Problem:
        """Return what is wrong as a problem."""
        return Problem(message=fault.message, path=".".join(map(str, fault.place)), hint=fault.hint)

    @property
    def given(self) -> frozenset[str]:
        """The names of the settings that were given."""
        names: frozenset[str] = self.__dict__["_given"]
        return names

    def with_values(self, **changes: Any) -> Self:
        """Return a copy with other values, which are of the right types."""
        changed = self.__class__.__new__(self.__class__)
        changed.__dict__.update(self.__dict__, **changes, _given=self.given | changes.keys())
        return changed

    def items(self) -> Iterator[tuple[str, Any]]:
        """Yield the names and values."""
        for name in self.declared:
            yield name, getattr(self, name)

    def to_dict(self) -> dict[str, Any]:
        """Return the values by name, those of sections in sections as well."""
        return {name: _plain(value) for name, value in self.items()}

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot assign to {name!r}: settings do not change")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete {name!r}: settings do not change")

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in self.items() if self.declared[name].is_shown)
        return f"{type(self).__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and dict(self.items()) == dict(other.items())

    # Maps among the values have no hash.
    __hash__ = None  # type: ignore[assignment]


def _plain(value: Any) -> Any:
    if isinstance(value, Section):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return value
