"""Dataclasses whose methods are compiled when they are first used, and initializers after some uses.

The standard decorator compiles up to six methods for each class, which takes half a millisecond. A command imports some
two hundred of these classes, and makes few instances of some eighty.
"""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

__all__ = ["dataclass"]

#: The options of the standard decorator that this one knows, with their defaults.
_OPTIONS: Final = {"eq": True, "frozen": False, "slots": False, "kw_only": False}


#: How many instances are made of a class before its initializer is compiled: that takes as long as so many more calls.
_FEW: Final = 32


class _Method:
    """A method that the standard decorator compiles at the first use; then it takes the place of this object."""

    def __init__(self, owner: type, name: str, options: dict[str, bool]) -> None:
        self._owner, self._name, self._options = owner, name, options
        self._uses_left = _FEW if name == "__init__" else 0
        self._fields: tuple[dataclasses.Field[Any], ...] | None = None

    def __get__(self, instance: object, owner: type) -> Any:
        if self._uses_left and instance is not None:
            self._uses_left -= 1
            return partial(self._initialize, instance)
        return self._compiled().__get__(instance, owner)

    def _compiled(self) -> Any:
        made = getattr(_compiled(self._owner, self._name, self._options), self._name)
        # Of two threads, each compiles one, and they do the same.
        setattr(self._owner, self._name, made)
        return made

    def _initialize(self, instance: Any, /, *args: Any, **given: Any) -> None:
        """Do what the compiled initializer does, more slowly."""
        if self._fields is None:
            self._fields = dataclasses.fields(self._owner)
        values = _values(self._fields, args, given)
        if values is None:
            # It raises the error, or knows more kinds of fields.
            self._compiled()(instance, *args, **given)
            return
        assign = object.__setattr__ if self._options["frozen"] else setattr
        for name, value in values.items():
            assign(instance, name, value)
        if hasattr(self._owner, "__post_init__"):
            instance.__post_init__()


def _values(
    fields: tuple[dataclasses.Field[Any], ...], args: tuple[Any, ...], given: dict[str, Any]
) -> dict[str, Any] | None:
    """Return the values of all fields by the arguments of an initializer; None if they do not fit."""
    if args:
        names = [field.name for field in fields if field.init and not field.kw_only]
        if len(args) > len(names) or not given.keys().isdisjoint(names[: len(args)]):
            return None
        given = given | dict(zip(names, args, strict=False))
    values, known = {}, 0
    for field in fields:
        name = field.name
        if not field.init:
            if field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING:
                return None
        elif name in given:
            values[name] = given[name]
            known += 1
        elif field.default is not dataclasses.MISSING:
            values[name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            values[name] = field.default_factory()
        else:
            return None
    return values if known == len(given) else None


def _compiled(owner: type, name: str, options: dict[str, bool]) -> type:
    """Return a class that has the fields of ``owner``, and the compiled method."""
    namespace: dict[str, Any] = {
        name: getattr(owner, name) for name in ("__module__", "__qualname__", "__doc__")
    }
    if hasattr(owner, "__post_init__"):
        namespace["__post_init__"] = None
    parts: dict[str, Any] = {"init": False, "repr": False, "eq": False}
    if name == "__init__":
        # Of a frozen class, it sets attributes in another way, and of one with slots, it knows the defaults.
        parts |= {"init": True, "frozen": options["frozen"], "slots": options["slots"]}
    elif name == "__repr__":
        parts["repr"] = True
    else:
        parts |= {"eq": True, "unsafe_hash": True}
    given = [(field.name, field.type, field) for field in dataclasses.fields(owner)]
    return dataclasses.make_dataclass(owner.__name__, given, namespace=namespace, **parts)


def _made(cls: type, options: dict[str, bool]) -> Any:
    frozen, eq = options["frozen"], options["eq"]
    bases = cls.__mro__[1:-1]
    # Among the bases, frozen or not must be the same: the standard decorator looks, and compiles what freezes.
    inherits = any(map(dataclasses.is_dataclass, bases))
    own = vars(cls)
    has_hash = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
    if cls.__doc__ is None:
        # The standard decorator would describe a signature, which takes as long as all the rest.
        cls.__doc__ = cls.__name__
    methods = [name for name in ("__init__", "__repr__", *(["__eq__"] if eq else [])) if name not in own]
    made: Any = dataclasses.dataclass(
        init=False,
        repr=False,
        eq=False,
        frozen=frozen and inherits,
        slots=options["slots"],
        kw_only=options["kw_only"],
    )(cls)
    for name in methods:
        setattr(made, name, _Method(made, name, options))
    if eq and not has_hash:
        made.__hash__ = _Method(made, "__hash__", options) if frozen else None
    if frozen and not inherits:
        _freeze(made, has_slots=options["slots"])
    # What inherits from it is told what it is.
    parameters = made.__dataclass_params__
    parameters.init, parameters.repr, parameters.eq, parameters.frozen = True, True, eq, frozen
    return made


def _freeze(made: Any, *, has_slots: bool) -> None:
    """Let no attribute be set or deleted, as the standard decorator does."""
    names = frozenset(field.name for field in dataclasses.fields(made))

    def set_attribute(self: object, name: str, value: object) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made, self).__setattr__(name, value)

    def delete_attribute(self: object, name: str) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(made, self).__delattr__(name)

    made.__setattr__, made.__delattr__ = set_attribute, delete_attribute
    if has_slots and "__getstate__" not in vars(made):
        made.__getstate__, made.__setstate__ = _state, _set_state


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> type | Callable[[type], type]:
        """Return a class as a dataclass, as ``dataclasses.dataclass`` does; that one's further options compile at once.

        Signatures, errors, equality, hashes and copies are those of the standard decorator.
        """
        if options.keys() - _OPTIONS:
            return dataclasses.dataclass(cls, **options)
        complete = _OPTIONS | options
        if cls is None:
            return lambda cls: _made(cls, complete)
        return _made(cls, complete)
