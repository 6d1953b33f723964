"""What resource types stand for: other types or template files; and what is said of single resources by name."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from operator import neg
from typing import Final

from orchestrator.template.given import Given
from orchestrator.template.locations import base_of_key, is_template, key_of

#: Where a resource can be told to wait.
HOOKS: Final = ("pre-create", "pre-update", "pre-delete", "post-create", "post-update", "post-delete")
#: A chain of more aliases ends before its end.
_LONGEST_CHAIN: Final = 100
#: A ``*`` that leads to a ``*`` makes no longer name: two of them may otherwise lead to each other for ever.
_LONGEST_NAME: Final = 1_000


@dataclass(frozen=True, slots=True)
class Target:
    """What a type, or many by a ``*``, stands for."""

    #: Another type, which may end in ``*`` too, or the key of a template file.
    name: str
    #: As written; for a template file, its name as seen from the environment file.
    given: Given = field(compare=False)


@dataclass(frozen=True, slots=True)
class Aliases:
    """What types stand for."""

    #: By a type's name, or by the beginning that many share, with a ``*`` at its end.
    targets: Mapping[str, Target] = field(default_factory=dict)
    #: How long the beginnings are, the longest first.
    _lengths: tuple[int, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        lengths = {len(name) - 1 for name in self.targets if name.endswith("*")}
        object.__setattr__(self, "_lengths", tuple(sorted(lengths, reverse=True)))

    def entry_for(self, type_name: str, left_out: Collection[str] = ()) -> str | None:
        """Return the entry that says what a type stands for: its own, else that of the longest beginning."""
        if type_name in self.targets and type_name not in left_out:
            return type_name
        for length in self._lengths[bisect_left(self._lengths, -len(type_name), key=neg) :]:
            entry = f"{type_name[:length]}*"
            target = self.targets.get(entry)
            if target and entry not in left_out and _covers(entry, target.name, type_name):
                return entry
        return None

    def merge(self, later: "Aliases", removed: Collection[str]) -> "Aliases":
        """Return both as one; what is ``removed`` goes, unless the later say it again."""
        if not later.targets and not removed:
            return self
        beginnings = {name[:-1] for name in removed if name.endswith("*")}
        # Not each name with each beginning: there may be very many of both.
        lengths = sorted({len(beginning) for beginning in beginnings})
        kept = {
            name: target
            for name, target in self.targets.items()
            if name not in removed
            and not any(name[:length] in beginnings for length in lengths[: bisect_right(lengths, len(name))])
        }
        return Aliases({**kept, **later.targets})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """What is said at one level: of all resources of a stack, or of those with one name."""

    types: Aliases = field(default_factory=Aliases)
    #: The types, of earlier files, that stand for themselves again; one that ends in ``*`` takes all that match.
    removed: frozenset[str] = frozenset()
    #: None where nothing is said.
    hooks: frozenset[str] | None = None
    restricted_actions: frozenset[str] | None = None
    #: What is said of single resources, or inside the nested stack of one, by name or pattern.
    resources: Mapping[str, "Entries"] = field(default_factory=dict)
    #: The resources of which nothing is said any more, whatever earlier files say.
    removed_resources: frozenset[str] = frozenset()
    #: The patterns among ``resources``.
    _patterns: tuple[str, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_patterns", tuple(sorted(name for name in self.resources if "*" in name)))

    def merge(self, later: "Entries") -> "Entries":
        """Return both as one; of what both say, the later counts."""
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
        """Return what is said of a resource: under patterns in their alphabetical order, then under its name."""
        for pattern in self._patterns:
            if pattern != resource and fnmatchcase(resource, pattern):
                yield self.resources[pattern]
        if resource in self.resources:
            yield self.resources[resource]

    def most_patterns(self) -> int:
        """Return how many patterns there are at the level that has the most."""
        return max((len(self._patterns), *(each.most_patterns() for each in self.resources.values())))

    def inside(self, resource: str) -> Mapping[str, "Entries"]:
        """Return what is said of the resources in the nested stack of ``resource``."""
        merged = Entries()
        for entries in self.matching(resource):
            merged = merged.merge(Entries(resources=entries.resources))
        return merged.resources

    def targets(self) -> Iterator[Target]:
        """Return every target, also those for single resources."""
        yield from self.types.targets.values()
        for entries in self.resources.values():
            yield from entries.targets()


@dataclass(frozen=True, slots=True)
class _Found:
    """What a type comes to, and the entry, of all resources, that said so last; None if none or one's own did."""

    name: str
    entry: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """The section ``resource_registry`` of all environments, as it is for one stack; immutable."""

    entries: Entries = Entries()
    #: The entries for all resources that do not count here: those that led to the templates around.
    left_out: frozenset[str] = frozenset()
    #: Where the names of template files start that the stack's template uses; see :func:`~.locations.key_of`.
    base: str = ""

    def merge(self, later: "Registry") -> "Registry":
        """Return both as one; of what both say, the later counts."""
        return replace(self, entries=self.entries.merge(later.entries))

    def actual(self, type_name: str, resource_path: tuple[str, ...] = ()) -> str:
        """Return what a type stands for, aliases of aliases followed: another type, or the key of a template file.

        What is said of the resource counts before what is said of all, and a type's own entry before that of the
        longest beginning. ``resource_path`` is the resource's name, for one in nested stacks preceded by those of the
        resources that they belong to. A circle ends where it closes.
        """
        return self._find(type_name, resource_path).name

    def most_patterns(self) -> int:
        """Return how many patterns for resources' names there are at the level that has the most."""
        return self.entries.most_patterns()

    def is_template(self, name: str) -> bool:
        """Whether a resource of this (actual) type is made from a template file."""
        return is_template(name)

    def hooks(self, resource_path: tuple[str, ...]) -> frozenset[str]:
        """Return where a resource waits to be let on: ``pre-create`` and others."""
        return _all_of(each.hooks for each in self._said_of(resource_path))

    def restricted_actions(self, resource_path: tuple[str, ...]) -> frozenset[str]:
        """Return what must not be done to a resource: ``update``, ``replace``."""
        return _all_of(each.restricted_actions for each in self._said_of(resource_path))

    def for_nested(self, resource_name: str, own_type: str) -> "Registry":
        """Return what applies in the nested stack of the resource, whose type is written ``own_type``.

        Of what is said of single resources, that is what is said inside of this one. If the type stands for a
        template, its entry is left out: in the template, which may use the same type, the type is what it would be
        without.
        """
        found = self._find(own_type, (resource_name,))
        left_out, base = self.left_out, self.base
        if is_template(found.name):
            base = base_of_key(found.name)
            if found.entry is not None:
                left_out |= {found.entry}
        entries = Entries(types=self.entries.types, resources=self.entries.inside(resource_name))
        return Registry(entries=entries, left_out=left_out, base=base)

    def template_targets(self) -> tuple[Target, ...]:
        """Return every target that is a template file."""
        return tuple(target for target in self.entries.targets() if is_template(target.name))

    def _find(self, name: str, resource_path: tuple[str, ...]) -> _Found:
        own = self._own(resource_path)
        seen, entry = {name}, None
        for _ in range(_LONGEST_CHAIN):
            if is_template(name):
                # One that an entry names is a key already.
                return _Found(name if len(seen) > 1 else key_of(name, self.base), entry)
            level, found = self._entry(name, own)
            if found is None:
                break
            target = _target(found, level.types.targets[found].name, name)
            if target in seen:
                break
            seen.add(target)
            name, entry = target, None if level is own else found
        return _Found(name, entry)

    def _entry(self, name: str, own: Entries) -> tuple[Entries, str | None]:
        entry = own.types.entry_for(name)
        if entry is not None:
            return own, entry
        return self.entries, self.entries.types.entry_for(name, self.left_out)

    def _own(self, resource_path: tuple[str, ...]) -> Entries:
        """Return what is said of the resource under its very name."""
        if not resource_path:
            return Entries()
        return self._level(resource_path).resources.get(resource_path[-1], Entries())

    def _said_of(self, resource_path: tuple[str, ...]) -> Iterable[Entries]:
        return self._level(resource_path).matching(resource_path[-1]) if resource_path else ()

    def _level(self, resource_path: tuple[str, ...]) -> Entries:
        """Return what is said of the resources in the stack that the last of the path belongs to."""
        level = self.entries
        for name in resource_path[:-1]:
            level = Entries(resources=level.inside(name))
        return level


def _covers(entry: str, target: str, type_name: str) -> bool:
    """Whether an entry that ends in ``*`` says what ``type_name`` stands for; it never does of what it leads to."""
    beginning = entry[:-1]
    if not type_name.startswith(beginning) or type_name == target:
        return False
    inward = target.endswith("*") and target.startswith(beginning)
    return not (inward and type_name.startswith(target[:-1]))


def _target(entry: str, target: str, type_name: str) -> str:
    """Return what ``entry`` makes of a type; where both end in ``*``, the rest of the name is kept."""
    if not (entry.endswith("*") and target.endswith("*")):
        return target
    made = target[:-1] + type_name[len(entry) - 1 :]
    return made if len(made) <= _LONGEST_NAME else type_name


def _all_of(sets: Iterable[frozenset[str] | None]) -> frozenset[str]:
    return frozenset().union(*(each for each in sets if each is not None))
