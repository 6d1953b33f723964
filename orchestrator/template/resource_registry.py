"""Resource registry: aliases of resource types (other types or template files), and entries for single resources."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from fnmatch import fnmatchcase
from operator import neg
from typing import Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.template.given import Given
from orchestrator.template.locations import base_of_key, is_template, key_of

#: The breakpoints that an environment can set on a resource.
HOOKS: Final = ("pre-create", "pre-update", "pre-delete", "post-create", "post-update", "post-delete")
#: The most aliases of aliases that are followed.
_LONGEST_CHAIN: Final = 100
#: The longest name that an alias from ``*`` to ``*`` yields: two of them could otherwise alternate for ever.
_LONGEST_NAME: Final = 1_000
#: The most names that are tried for one type, if targets of wildcards do not exist.
_MOST_TRIES: Final = 1_000


@dataclass(frozen=True, slots=True)
class Target:
    """The target of an alias."""

    #: Another type, which may end in ``*`` too, or the key of a template file.
    name: str
    #: As written; for a template file, its name as seen from the environment file.
    given: Given = field(compare=False)


@dataclass(frozen=True, slots=True)
class Aliases:
    """Aliases of types."""

    #: By a type's name, or by a prefix with a ``*`` at its end.
    targets: Mapping[str, Target] = field(default_factory=dict)
    #: The lengths of the prefixes, the longest first.
    _lengths: tuple[int, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        lengths = {len(name) - 1 for name in self.targets if name.endswith("*")}
        object.__setattr__(self, "_lengths", tuple(sorted(lengths, reverse=True)))

    def entry_for(self, type_name: str, left_out: Collection[str] = ()) -> str | None:
        """Return the name of the entry for a type: its own, else that of the longest matching prefix."""
        return next(self.entries_for(type_name, left_out), None)

    def entries_for(self, type_name: str, left_out: Collection[str] = ()) -> Iterator[str]:
        """Yield the names of the entries for a type: its own, then those of matching prefixes, the longest first."""
        if type_name in self.targets and type_name not in left_out:
            yield type_name
        for length in self._lengths[bisect_left(self._lengths, -len(type_name), key=neg) :]:
            entry = f"{type_name[:length]}*"
            target = self.targets.get(entry)
            if (
                entry != type_name
                and target
                and entry not in left_out
                and _covers(entry, target.name, type_name)
            ):
                yield entry

    def merge(self, later: "Aliases", removed: Collection[str]) -> "Aliases":
        """Return both merged, the ``later`` over these; ``removed`` aliases are dropped from these."""
        if not later.targets and not removed:
            return self
        prefixes = {name[:-1] for name in removed if name.endswith("*")}
        # Looked up by length: comparing each name with each prefix would be slow where both are many.
        lengths = sorted({len(prefix) for prefix in prefixes})
        kept = {
            name: target
            for name, target in self.targets.items()
            if name not in removed
            and not any(name[:length] in prefixes for length in lengths[: bisect_right(lengths, len(name))])
        }
        return Aliases({**kept, **later.targets})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """The entries of one level: for all resources of a stack, or for those with one name."""

    types: Aliases = field(default_factory=Aliases)
    #: The aliases of earlier files that are removed; a name that ends in ``*`` removes all that match.
    removed: frozenset[str] = frozenset()
    #: None if not set.
    hooks: frozenset[str] | None = None
    restricted_actions: frozenset[str] | None = None
    #: Entries for single resources, or inside the nested stack of one, by name or pattern.
    resources: Mapping[str, "Entries"] = field(default_factory=dict)
    #: The resources whose entries in earlier files are removed.
    removed_resources: frozenset[str] = frozenset()
    #: The patterns among ``resources``.
    _patterns: tuple[str, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_patterns", tuple(sorted(name for name in self.resources if "*" in name)))

    def merge(self, later: "Entries") -> "Entries":
        """Return both merged; where both have an entry, the later counts."""
        resources = {
            name: entries for name, entries in self.resources.items() if name not in later.removed_resources
        }
        for name, entries in later.resources.items():
            resources[name] = resources[name].merge(entries) if name in resources else entries
        return Entries(
            types=self.types.merge(later.types, later.removed),
            removed=self.removed | later.removed,
            hooks=self.hooks if later.hooks is None else later.hooks,
            restricted_actions=(
                self.restricted_actions if later.restricted_actions is None else later.restricted_actions
            ),
            resources=resources,
            removed_resources=self.removed_resources | later.removed_resources,
        )

    def matching(self, resource: str) -> Iterator["Entries"]:
        """Yield the entries for a resource: under patterns in alphabetical order, then under its name."""
        for pattern in self._patterns:
            if pattern != resource and fnmatchcase(resource, pattern):
                yield self.resources[pattern]
        if resource in self.resources:
            yield self.resources[resource]

    def most_patterns(self) -> int:
        """Return the number of patterns at the level that has the most."""
        return max((len(self._patterns), *(each.most_patterns() for each in self.resources.values())))

    def inside(self, resource: str) -> Mapping[str, "Entries"]:
        """Return the entries for the resources in the nested stack of ``resource``."""
        merged = Entries()
        for entries in self.matching(resource):
            merged = merged.merge(Entries(resources=entries.resources))
        return merged.resources

    def to_plain(self, left_out: Collection[str] = ()) -> dict[str, Any]:
        """Return the entries for all resources, but for those ``left_out``, and under its name those for each."""
        words = {"hooks": self.hooks, "restricted_actions": self.restricted_actions}
        return {
            **{name: target.name for name, target in self.types.targets.items() if name not in left_out},
            **{name: sorted(given) for name, given in words.items() if given is not None},
            **{name: entries.to_plain() for name, entries in self.resources.items()},
        }

    def targets(self) -> Iterator[Target]:
        """Yield every target, including those for single resources."""
        yield from self.types.targets.values()
        for entries in self.resources.values():
            yield from entries.targets()


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """The section ``resource_registry`` of all environments, as it applies to one stack; immutable."""

    entries: Entries = Entries()
    #: The entries for all resources that do not apply: those that led to the enclosing templates.
    left_out: frozenset[str] = frozenset()
    #: The base of the names of template files in the stack's template; see :func:`~.locations.key_of`.
    base: str = ""
    #: The names of the installed types; None if every type counts as installed.
    installed: Collection[str] | None = field(default=None, compare=False)

    def merge(self, later: "Registry") -> "Registry":
        """Return both merged; where both have an entry, the later counts."""
        return replace(self, entries=self.entries.merge(later.entries))

    def actual(self, type_name: str, resource_path: tuple[str, ...] = ()) -> str:
        """Return the type or the key of a template file that a type is an alias of; aliases of aliases are followed.

        Entries for the resource take precedence over those for all, a type's own entry over those of prefixes, and a
        longer prefix over a shorter one. An entry of a prefix whose target does not exist is passed over; if no entry
        is left, the type stands for itself. A circle ends where it closes. ``resource_path`` is the resource's name, in
        nested stacks preceded by the names of the resources that these belong to.
        """
        return self._find(type_name, resource_path)[0]

    def most_patterns(self) -> int:
        """Return the number of patterns for resources' names at the level that has the most."""
        return self.entries.most_patterns()

    def hooks(self, resource_path: tuple[str, ...]) -> frozenset[str]:
        """Return the breakpoints of a resource: ``pre-create`` and others."""
        return _all_of(each.hooks for each in self._entries_for(resource_path))

    def restricted_actions(self, resource_path: tuple[str, ...]) -> frozenset[str]:
        """Return the forbidden actions of a resource: ``update``, ``replace``."""
        return _all_of(each.restricted_actions for each in self._entries_for(resource_path))

    def for_nested(self, resource_name: str, own_type: str) -> "Registry":
        """Return the registry for the nested stack of the resource, whose type is written ``own_type``.

        Of the entries for single resources, those inside this one apply. If the type is an alias of a template, that
        entry does not apply: the template may use the type that it replaces.
        """
        actual, entry = self._find(own_type, (resource_name,))
        left_out, base = self.left_out, self.base
        if is_template(actual):
            base = base_of_key(actual)
            if entry is not None:
                left_out |= {entry}
        entries = Entries(types=self.entries.types, resources=self.entries.inside(resource_name))
        return Registry(entries=entries, left_out=left_out, base=base, installed=self.installed)

    def to_plain(self) -> dict[str, Any]:
        """Return the registry in the form of the section ``resource_registry``."""
        types = replace(self.entries, resources={}).to_plain(self.left_out)
        resources = {name: entries.to_plain() for name, entries in self.entries.resources.items()}
        return {**types, **({"resources": resources} if resources else {})}

    def template_targets(self) -> tuple[Target, ...]:
        """Return every target that is a template file."""
        return tuple(target for target in self.entries.targets() if is_template(target.name))

    def _find(self, name: str, resource_path: tuple[str, ...]) -> tuple[str, str | None]:
        """Return the end of a chain of aliases, and the last entry used if it is one for all resources, else None."""
        if not (self.entries.types.targets or self.entries.resources or is_template(name)):
            # As with most resources of most stacks.
            return name, None
        own = self._own(resource_path)
        if self.installed is not None:
            found = _Search(self, own).end_of(name)
            if found is not None:
                return found
        return self._best(name, own)

    def _best(self, name: str, own: Entries) -> tuple[str, str | None]:
        """Return the same as :meth:`_find` for the best matches, whether their targets exist or not."""
        seen, entry = {name}, None
        for _ in range(_LONGEST_CHAIN):
            if is_template(name):
                # The target of an entry is a key already.
                return name if len(seen) > 1 else key_of(name, self.base), entry
            level, found = next(self.matches(name, own), (own, None))
            if found is None:
                break
            target = _target(found, level.types.targets[found].name, name)
            if target in seen:
                break
            seen.add(target)
            name, entry = target, None if level is own else found
        return name, entry

    def matches(self, name: str, own: Entries) -> Iterator[tuple[Entries, str]]:
        """Yield the entries for a type, the best first: those among ``own``, then those for all resources."""
        for entry in own.types.entries_for(name):
            yield own, entry
        for entry in self.entries.types.entries_for(name, self.left_out):
            yield self.entries, entry

    def _own(self, resource_path: tuple[str, ...]) -> Entries:
        """Return the entries under the resource's exact name."""
        if not resource_path:
            return Entries()
        return self._level(resource_path).resources.get(resource_path[-1], Entries())

    def _entries_for(self, resource_path: tuple[str, ...]) -> Iterable[Entries]:
        if not (resource_path and self.entries.resources):
            return ()
        return self._level(resource_path).matching(resource_path[-1])

    def _level(self, resource_path: tuple[str, ...]) -> Entries:
        """Return the entries for the stack that contains the last resource of the path."""
        level = self.entries
        for name in resource_path[:-1]:
            level = Entries(resources=level.inside(name))
        return level


class _Search:
    """The search for the first type that exists, among all chains of aliases that begin with one type."""

    def __init__(self, registry: Registry, own: Entries) -> None:
        self._registry, self._own = registry, own
        self._installed = registry.installed or ()
        #: The names on the way, and those that lead to no type.
        self._tried: set[str] = set()

    def end_of(self, name: str, depth: int = 0) -> tuple[str, str | None] | None:
        """Return the end of the first chain to a type that exists, and its last entry; None if there is none."""
        if is_template(name):
            return (name if depth else key_of(name, self._registry.base)), None
        self._tried.add(name)
        for level, entry in self._registry.matches(name, self._own):
            target = _target(entry, level.types.targets[entry].name, name)
            if self._may_try(target, depth):
                end = self.end_of(target, depth + 1)
                if end is not None:
                    reached, last = end
                    direct = last is None and reached == target
                    return reached, (None if level is self._own else entry) if direct else last
                if entry == name:
                    # A type that stands for one other by its full name is meant to: the other is reported as missing.
                    return None
            elif entry == name:
                break
        return (name, None) if name in self._installed else None

    def _may_try(self, target: str, depth: int) -> bool:
        return target not in self._tried and depth < _LONGEST_CHAIN and len(self._tried) < _MOST_TRIES


def _covers(entry: str, target: str, type_name: str) -> bool:
    """Whether an entry that ends in ``*`` applies to ``type_name``; it never applies to its own targets."""
    prefix = entry[:-1]
    if not type_name.startswith(prefix) or type_name == target:
        return False
    inward = target.endswith("*") and target.startswith(prefix)
    return not (inward and type_name.startswith(target[:-1]))


def _target(entry: str, target: str, type_name: str) -> str:
    """Return the target of a type by ``entry``; where both end in ``*``, the rest of the name is kept."""
    if not (entry.endswith("*") and target.endswith("*")):
        return target
    made = target[:-1] + type_name[len(entry) - 1 :]
    return made if len(made) <= _LONGEST_NAME else type_name


def _all_of(sets: Iterable[frozenset[str] | None]) -> frozenset[str]:
    return frozenset().union(*(each for each in sets if each is not None))
