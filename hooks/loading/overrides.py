"""Mistakes in how a class overrides its contract, found when the class is loaded.

A method whose name is nearly one of the contract's would never be called, and one with the wrong parameters
would fail at each call: both are reported before they do harm.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final

#: The similarity from which a name counts as a misspelling of one of the contract's.
_ALIKE: Final = 0.85
_SHIPPED: Final = frozenset({"cache", "hooks", "isotherm", "orchestrator", "workers"})


def override_mistakes(kind: type, contract: type) -> Iterator[str]:
    """Yield the mistakes in the names and the methods of a class, each as a sentence that begins with one."""
    for owner in _unchecked(kind, contract):
        for name, member in vars(owner).items():
            if hasattr(contract, name):
                yield from _call_mistakes(name, member, contract)
    # Comparing names takes longer than all else; those that ship are compared by a test.
    if kind.__module__.partition(".")[0] not in _SHIPPED:
        yield from misspelt_overrides(kind, contract)


def misspelt_overrides(kind: type, contract: type) -> Iterator[str]:
    """Yield the names in a class that are nearly one of the contract's, each as a sentence that begins with it."""
    from difflib import get_close_matches

    # A name of one word resembles many others: it may be a helper's.
    names = _names_of(contract)
    for owner in _unchecked(kind, contract):
        for name, member in vars(owner).items():
            is_known = hasattr(contract, name) or any(name in vars(base) for base in owner.__mro__[1:])
            if is_known or name.startswith("_"):
                continue
            near = [each for each in get_close_matches(name, names, 1, _ALIKE) if each not in vars(owner)]
            if near:
                yield f"{name}{place_of(member)} overrides nothing; did you mean {near[0]!r}?"


def _unchecked(kind: type, contract: type) -> Iterator[type]:
    """Yield a class and its other bases than those in between, which were checked when they were made."""
    for owner in kind.__mro__:
        if owner not in contract.__mro__ and (owner is kind or not issubclass(owner, contract)):
            yield owner


@functools.cache
def _names_of(contract: type) -> list[str]:
    return [name for name in dir(contract) if "_" in name.strip("_") and not name.startswith("_")]


def place_of(member: Any) -> str:
    """Return where a method is defined, such as `` (boxes.py:12)``; empty if it is no method."""
    code = getattr(inspect.unwrap(getattr(member, "__func__", member)), "__code__", None)
    return f" ({code.co_filename}:{code.co_firstlineno})" if code else ""


def _call_mistakes(name: str, member: object, contract: type) -> Iterator[str]:
    """Yield why a method cannot be called as the contract does."""
    promised = inspect.getattr_static(contract, name)
    if name.startswith("_") or not inspect.isroutine(getattr(contract, name)):
        return
    if isinstance(promised, classmethod) and inspect.isfunction(member):
        yield f"{name}{place_of(member)} must be a class method: write @classmethod above it"
        return
    if not inspect.isfunction(member) or not inspect.isfunction(promised):
        return
    if _is_taken_alike(member, promised):
        return
    handed = _positional(promised)
    try:
        inspect.signature(member).bind(*handed)
    except TypeError:
        taken = ", ".join(handed)
        yield f"{name}{place_of(member)} must take what it is called with: ({taken})"


def _is_taken_alike(member: Any, promised: Any) -> bool:
    """Return whether two functions plainly take the same positional arguments; signatures take long to make."""
    mine, other = member.__code__, promised.__code__
    return (
        mine.co_kwonlyargcount == 0
        and mine.co_argcount == other.co_argcount
        and len(member.__defaults__ or ()) >= len(promised.__defaults__ or ())
    )


@functools.cache
def _positional(function: Callable[..., Any]) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.kind in kinds and each.default is each.empty]
