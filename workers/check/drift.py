"""The differences between the recorded and the observed properties of an object, part by part, and in words."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from hooks.values.texts import storable
from orchestrator.errors import cut
from orchestrator.model.drift import Finding
from orchestrator.template.document import Path
from orchestrator.template.hiding import HIDDEN

#: The most differences that are described; more are counted.
MOST_DESCRIBED: Final = 10
#: The most differences of one resource that are recorded.
MOST_RECORDED: Final = 100
#: The most characters of a value that are shown.
_LONGEST_VALUE: Final = 100


class _Nothing:
    def __repr__(self) -> str:
        return "nothing"


_NOTHING: Final = _Nothing()


def _nothing(_: Path) -> bool:
    return False


def drift_of(
    recorded: Mapping[str, Any],
    observed: Mapping[str, Any],
    is_open: Callable[[Path], bool],
    is_ignored: Callable[[Path], bool] = _nothing,
) -> str:
    """Return how observed properties differ from those on record; empty if they do not.

    Maps are compared by key. Values at paths for which ``is_open`` is false are masked. Paths for which ``is_ignored``
    is true are left out.
    """
    differences = [each for each in _all_differences(recorded, observed) if not is_ignored(each[0])]
    words = [_words(*difference, is_open) for difference in islice(differences, MOST_DESCRIBED)]
    if len(differences) > MOST_DESCRIBED:
        words.append(f"and {len(differences) - MOST_DESCRIBED} more")
    return "; ".join(words)


def findings_of(
    recorded: Mapping[str, Any],
    observed: Mapping[str, Any],
    is_open: Callable[[Path], bool],
    is_ignored: Callable[[Path], bool],
) -> list[Finding]:
    """Return how observed properties differ from those on record, at most :data:`MOST_RECORDED`.

    Maps are compared by key. Paths for which ``is_ignored`` is true are left out; the values at paths for which
    ``is_open`` is false are, too.
    """
    found = (each for each in _all_differences(recorded, observed) if not is_ignored(each[0]))
    return [_finding(*each, is_open) for each in islice(found, MOST_RECORDED)]


def _finding(path: Path, before: object, now: object, is_open: Callable[[Path], bool]) -> Finding:
    key = storable(".".join(map(str, path)))
    if not is_open(path):
        return Finding(key=key, hidden=True)
    was, found = (None if value is _NOTHING else value for value in (before, now))
    return Finding(key=key, recorded=was, observed=found)


def _all_differences(
    recorded: Mapping[str, Any], observed: Mapping[str, Any]
) -> list[tuple[Path, object, object]]:
    return [
        difference
        for name in sorted(observed)
        for difference in _differences((name,), recorded.get(name), observed[name])
    ]


def _differences(path: Path, before: object, now: object) -> Iterator[tuple[Path, object, object]]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in sorted({*before, *now}, key=str):
            yield from _differences((*path, key), before.get(key, _NOTHING), now.get(key, _NOTHING))
    elif before != now:
        yield path, before, now


def _words(path: Path, before: object, now: object, is_open: Callable[[Path], bool]) -> str:
    name = storable(".".join(map(str, path)))
    shown = is_open(path)
    was, found = (_shown(value, shown=shown) for value in (before, now))
    return f"{name}: recorded {was}, observed {found}"


def _shown(value: object, *, shown: bool) -> str:
    if value is None or value is _NOTHING:
        return repr(_NOTHING)
    return cut(repr(value), _LONGEST_VALUE) if shown else HIDDEN
