"""The comparison of what a service shows with what a template gives: only what is given counts."""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_MAC: Final = re.compile(r"[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}", re.IGNORECASE)


def as_given(given: Any, found: Any) -> Any:
    """Return what was found, without the parts that are not given, in the order of what is given.

    A service fills in what a template leaves to it: keys of maps that are not given, or given as null, are left out.
    Items of lists of maps are matched with those given that they agree with; others keep their order at the end.
    """
    if isinstance(given, Mapping) and isinstance(found, Mapping):
        return {
            name: None if value is None else as_given(value, found.get(name)) for name, value in given.items()
        }
    if isinstance(given, (list, tuple)) and isinstance(found, (list, tuple)):
        return _items_as_given(list(given), list(found))
    return found


def _items_as_given(given: list[Any], found: list[Any]) -> list[Any]:
    rest = list(found)
    matched: list[Any] = []
    for each in given:
        place = next((number for number, other in enumerate(rest) if as_given(each, other) == each), None)
        if place is not None:
            rest.pop(place)
            matched.append(each)
    return [*matched, *rest]


def spelled_as_given(given: Any, found: Any) -> Any:
    """Return what was found, with each address or network that is also given as it is spelled there.

    Services write addresses of IPv6 and of hardware in their own way, and a network by its first address.
    """
    spelled = {address: text for text in _texts(given) if (address := _address(text))}
    return _spelled(found, spelled) if spelled else found


def _spelled(found: Any, spelled: Mapping[object, str]) -> Any:
    if isinstance(found, Mapping):
        return {name: _spelled(value, spelled) for name, value in found.items()}
    if isinstance(found, (list, tuple)):
        return [_spelled(value, spelled) for value in found]
    return spelled.get(_address(found), found) if isinstance(found, str) else found


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list, tuple)):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def _address(text: str) -> object:
    """Return what equals the same of another spelling of an address; None if the text is none."""
    if _MAC.fullmatch(text):
        return text.lower().replace("-", ":")
    try:
        return ipaddress.ip_network(text, strict=False) if "/" in text else ipaddress.ip_address(text)
    except ValueError:
        return None


def as_texts(given: Mapping[str, Any] | None) -> dict[str, str]:
    """Return a map of texts, which is what services keep as metadata."""
    return {name: value if isinstance(value, str) else str(value) for name, value in (given or {}).items()}


def texts_as_given(given: Mapping[str, Any], found: Mapping[str, str]) -> dict[str, Any]:
    """Return metadata as it was found, with the values as they are given where their texts are the same."""
    wanted = as_texts(given)
    return {name: given[name] if wanted.get(name) == text else text for name, text in found.items()}
