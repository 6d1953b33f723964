"""Reader of the section ``resource_registry`` of one environment."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final

from hooks.values.nearest import Nearest
from orchestrator.errors import Problem, cut
from orchestrator.template.document import Path, Positions, dotted
from orchestrator.template.functions.base import kind_of
from orchestrator.template.given import Given
from orchestrator.template.locations import TEMPLATE_ENDINGS, is_template, is_url, key_of
from orchestrator.template.resource_registry import HOOKS, Aliases, Entries, Target

#: The actions that the registry can forbid for a resource.
RESTRICTED_ACTIONS: Final = ("update", "replace")

_SECTION: Final = "resource_registry"
_WORDS: Final = {"hooks": HOOKS, "restricted_actions": RESTRICTED_ACTIONS}
#: The limit of patterns: each resource is compared with each of them.
MOST_PATTERNS: Final = 100
#: The longest name of a resource; longer patterns would be slow to match.
_LONGEST_PATTERN: Final = 255


class RegistryReader:
    """Reads the entries of a registry; an invalid entry gives a problem and is left out."""

    def __init__(self, positions: Positions, problems: list[Problem], nearest: Nearest, base: str) -> None:
        """Record problems in ``problems``; names of files in the environment are relative to ``base``."""
        self._positions, self._problems, self._nearest, self._base = positions, problems, nearest, base

    def read(self, raw: dict[str, object]) -> Entries:
        """Return the entries of the section."""
        path = (_SECTION,)
        directory = self._directory(raw, path, "")
        entries = {}
        for name, value in _without(raw, ("resources", "base_url")).items():
            here = (*path, name)
            if name in _WORDS:
                self._fault(
                    here, f"{name!r} can be set for single resources only", "put it under 'resources'"
                )
            elif isinstance(value, dict):
                hint = self._nearest.hint(name, ("resources",), "single resources stand under 'resources'")
                self._fault(here, f"expected {_TARGET}, found a map", hint)
            else:
                entries[name] = value
        types, removed = self._types(entries, path, directory)
        resources = self._resources(raw.get("resources"), (*path, "resources"), directory)
        return replace(resources, types=types, removed=removed)

    def _types(self, raw: dict[str, object], path: Path, directory: str) -> tuple[Aliases, frozenset[str]]:
        """Return the aliases of types, and the names of types whose earlier aliases are removed."""
        types, removed = {}, set()
        for name, value in raw.items():
            here = (*path, name)
            if not name or "*" in name[:-1]:
                message = "expected the name of a type, or its beginning with a '*' at the end"
                self._fault(here, message)
            elif is_template(name):
                self._fault(here, "a template file stands for itself, and for nothing else")
            elif value is None:
                removed.add(name)
            elif (target := self._target(name, value, here, directory)) is not None:
                types[name] = target
        return Aliases(types), frozenset(removed)

    def _target(self, name: str, value: object, path: Path, directory: str) -> Target | None:
        if not isinstance(value, str) or not value:
            found = "empty text" if value == "" else kind_of(value)
            self._fault(path, f"expected {_TARGET}, found {found}")
        elif is_template(value):
            written = key_of(value, directory)
            return Target(key_of(written, self._base), self._given(written, path))
        elif is_url(value) or value.endswith(".yml"):
            self._fault(path, f"expected {_TARGET}", f"template files end in {' or '.join(TEMPLATE_ENDINGS)}")
        elif "*" in value[:-1]:
            self._fault(path, "a '*' can stand only at the end of a type's name")
        elif value.endswith("*") and not name.endswith("*"):
            self._fault(path, "one type cannot stand for many", f"did you mean {name + '*'!r} for its name?")
        else:
            return Target(value, self._given(value, path))
        return None

    def _directory(self, raw: dict[str, object], path: Path, outer: str) -> str:
        """Return the directory that names of files are relative to, as seen from the environment file."""
        value = raw.get("base_url")
        if value is None:
            return outer
        if not isinstance(value, str):
            self._fault(
                (*path, "base_url"), f"expected a directory or the URL of one, found {kind_of(value)}"
            )
            return outer
        directory = key_of(value, outer)
        return f"{directory.rstrip('/')}/" if is_url(directory) else directory

    def _resources(self, raw: object, path: Path, directory: str) -> Entries:
        if raw is None:
            return Entries()
        if not isinstance(raw, dict):
            self._fault(path, f"expected a map of resources by their names, found {kind_of(raw)}")
            return Entries()
        directory = self._directory(raw, path, directory)
        resources: dict[str, Entries] = {}
        removed: set[str] = set()
        for name, value in raw.items():
            here = (*path, name)
            if name == "base_url":
                continue
            if value is None:
                removed.add(name)
            elif isinstance(value, dict):
                resources[name] = self._resource(value, here, directory, pattern="*" in name)
            else:
                message = f"expected a map for the resource {cut(name)!r}, found {kind_of(value)}"
                self._fault(here, message)
        self._count_patterns(resources, path)
        return Entries(resources=resources, removed_resources=frozenset(removed))

    def _resource(self, raw: dict[str, object], path: Path, directory: str, *, pattern: bool) -> Entries:
        """Return the entries for one resource, or for all that match a pattern."""
        directory = self._directory(raw, path, directory)
        entries, nested = {}, {}
        for name, value in _without(raw, (*_WORDS, "base_url")).items():
            # A null may remove a type's alias or a nested resource: it does both.
            if isinstance(value, dict) or value is None:
                nested[name] = value
            if pattern and value is not None and not isinstance(value, dict):
                hint = "put it under the name of each resource"
                message = "a type can stand for another in one resource, not in all that match"
                self._fault((*path, name), message, hint)
            elif not isinstance(value, dict):
                entries[name] = value
        types, removed = self._types(entries, path, directory)
        return replace(
            self._resources(nested, path, directory),
            types=types,
            removed=removed,
            hooks=self._words(raw, "hooks", path),
            restricted_actions=self._words(raw, "restricted_actions", path),
        )

    def _words(self, raw: dict[str, object], key: str, path: Path) -> frozenset[str] | None:
        """Return the words under ``key``, an empty set for null; None if the key is missing or invalid."""
        if key not in raw:
            return None
        value, known, here = raw[key], _WORDS[key], (*path, key)
        if value is None:
            return frozenset()
        if not isinstance(value, (str, list)):
            self._fault(here, f"expected {_one_of(known)}, or a list of these, found {kind_of(value)}")
            return None
        listed: list[tuple[Path, Any]]
        listed = [((), value)] if isinstance(value, str) else [((i,), each) for i, each in enumerate(value)]
        for step, word in listed:
            if word not in known:
                found = repr(word[:80]) if isinstance(word, str) else kind_of(word)
                hint = self._nearest.hint(str(word), known)
                self._fault((*here, *step), f"expected {_one_of(known)}, found {found}", hint)
        return frozenset(word for _, word in listed if word in known)

    def _count_patterns(self, resources: Collection[str], path: Path) -> None:
        patterns = sum("*" in name for name in resources)
        if patterns > MOST_PATTERNS:
            message = f"{patterns} names of resources with a '*', where {MOST_PATTERNS} are the most"
            self._fault(path, message, "one pattern can match many resources")
        for name in resources:
            if "*" in name and len(name) > _LONGEST_PATTERN:
                message = f"a name with a '*' has at most {_LONGEST_PATTERN} characters, this one {len(name)}"
                self._fault((*path, name), message)

    def _given(self, value: str, path: Path) -> Given:
        return Given(value, dotted(path), self._positions.at(path))

    def _fault(self, path: Path, message: str, hint: str = "") -> None:
        self._problems.append(self._positions.problem(path, message, hint))


_TARGET: Final = "the name of a resource type or of a template file"


def _without(raw: dict[str, object], names: Collection[str]) -> dict[str, object]:
    return {name: value for name, value in raw.items() if name not in names}


def _one_of(words: Collection[str]) -> str:
    return f"one of {', '.join(words)}"
