"""Mistakes in how a class overrides its contract, found when the class is loaded.

A method whose name is nearly one of the contract's would never be called, and one with the wrong parameters
would fail at each call: both are reported before they do harm.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any, Final

#: The similarity from which a name counts as a misspelling of one of the contract's.
_ALIKE: Final = 0.85


def override_mistakes(kind: type, contract: type) -> Iterator[str]:
    """Yield the mistakes in the names and the methods of a class, each as a sentence that begins with one."""
    # A name of one word resembles many others: it may be a helper's.
    names = _names_of(contract)
    for owner in kind.__mro__:
        if owner in contract.__mro__ or (owner is not kind and issubclass(owner, contract)):
            # Classes in between were checked when they were made.
            continue
        for name, member in vars(owner).items():
            if hasattr(contract, name):
                yield from _call_mistakes(name, member, contract)
            elif not name.startswith("_") and not any(name in vars(base) for base in owner.__mro__[1:]):
                near = [each for each in get_close_matches(name, names, 1, _ALIKE) if each not in vars(owner)]
                if near:
                    yield f"{name}{place_of(member)} overrides nothing; did you mean {near[0]!r}?"


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
    handed = _positional(promised)
    try:
        inspect.signature(member).bind(*handed)
    except TypeError:
        taken = ", ".join(handed)
        yield f"{name}{place_of(member)} must take what it is called with: ({taken})"


@functools.cache
def _positional(function: Callable[..., Any]) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.kind in kinds and each.default is each.empty]
