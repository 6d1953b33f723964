"""The stack definition: the stable, immutable view of a stack for template functions and resource plugins.

The same values serve validation, the coordinator and the workers. In a check only the resource's direct requirements
are present; access to another resource raises :class:`~orchestrator.errors.PluginMistake`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from typing import Any, Final, Self

from hooks.values.dataclass import dataclass
from hooks.values.nearest import did_you_mean
from hooks.values.unknown import UNKNOWN as UNKNOWN  # noqa: PLC0414  # functions and plugins find it here
from hooks.values.unknown import Unknown as Unknown  # noqa: PLC0414  # as above
from orchestrator.errors import NotFound, PluginMistake

#: An attribute with a path into it: ``("networks", "private", 0)``.
AttributePath = tuple[str | int, ...]


#: The types of plain values that hold no others.
SCALARS: Final = frozenset({str, int, float, bool, type(None)})


def is_unknown(value: object) -> bool:
    """Return whether ``value`` is, or contains anywhere, a value that is not known yet."""
    # For scalars, the instance checks below would take longer than all the rest.
    if value.__class__ in SCALARS:
        return False
    if isinstance(value, (dict, Mapping)):
        return any(map(is_unknown, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(is_unknown, value))
    return value is UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeData:
    """The data of one checked resource that its dependents need; never its properties."""

    #: The row's id, which is also the idempotency token of its creation.
    uuid: str
    name: str
    action: str
    status: str
    #: The physical id; None until there is one.
    physical_id: str | None = None
    #: The value of ``{get_resource: name}``; None until the resource exists.
    reference_id: str | None = None
    #: The attributes that other resources or outputs refer to, by path.
    attributes: Mapping[AttributePath, Any] = field(default_factory=dict)
    #: Why attributes that others refer to could not be read, by path.
    unread: Mapping[AttributePath, str] = field(default_factory=dict)
    #: The paths of those of the attributes that are secrets; the empty path: the reference id is one.
    secrets: Collection[AttributePath] = field(default=(), compare=False)

    def to_wire(self) -> list[Any]:
        """Return plain types, the inverse of :meth:`from_wire`: a list, to keep messages small."""
        unread = [[list(path), reason] for path, reason in self.unread.items()]
        secrets = [[list(path), True] for path in self.secrets]
        return [
            self.uuid,
            self.name,
            self.action,
            self.status,
            self.physical_id,
            self.reference_id,
            self.packed_attributes(),
            *([unread] if unread else []),
            *([secrets] if secrets else []),
        ]

    def packed_attributes(self) -> list[Any]:
        """Return the attributes as plain types."""
        return [[list(path), value] for path, value in self.attributes.items()]

    def recorded_attributes(self) -> list[Any]:
        """Return the attributes as plain types; those that could not be read have null and the reason."""
        return [*self.packed_attributes(), *([list(path), None, why] for path, why in self.unread.items())]

    def why_unread(self, path: AttributePath) -> str:
        """Return the sentence why an attribute could not be read."""
        asked = ".".join(map(str, path))
        return f"attribute {asked!r} of resource {self.name!r} could not be read: {self.unread[path]}"

    @classmethod
    def from_wire(cls, data: list[Any]) -> Self:
        """Rebuild from plain types.

        Raises:
            PluginMistake: the list has another shape (a sender of another version).
        """
        try:
            uuid, name, action, status, physical_id, reference_id, attributes, *more = data
            paths = {tuple(path): value for path, value in attributes}
            marks = {tuple(path): mark for entries in more for path, mark in entries}
        except (TypeError, ValueError) as error:
            raise PluginMistake(f"node data of an unknown shape: {error}") from error
        return cls(
            uuid=uuid,
            name=name,
            action=action,
            status=status,
            physical_id=physical_id,
            reference_id=reference_id,
            attributes=paths,
            unread={path: reason for path, reason in marks.items() if reason is not True},
            secrets=tuple(path for path, mark in marks.items() if mark is True),
        )

    def secret_values(self) -> Iterator[object]:
        """Yield the values that are secrets."""
        for path in self.secrets:
            yield self.attributes.get(path) if path else self.reference_id


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceProxy:
    """One resource as other resources see it; without data it is not made yet."""

    name: str
    type: str = ""
    data: NodeData | None = None

    @property
    def known(self) -> bool:
        """Whether the resource exists, so that its values are known."""
        return self.data is not None

    @property
    def uuid(self) -> str | None:
        """The row's id."""
        return self.data.uuid if self.data else None

    @property
    def id(self) -> str | None:
        """The physical id."""
        return self.data.physical_id if self.data else None

    @property
    def action(self) -> str:
        """The last action, ``INIT`` while there was none."""
        return self.data.action if self.data else "INIT"

    @property
    def status(self) -> str:
        """The status of the last action."""
        return self.data.status if self.data else "COMPLETE"

    def reference_id(self) -> Any:
        """Return the value of ``get_resource``; ``UNKNOWN`` while the resource is not made yet."""
        if self.data is None:
            return UNKNOWN
        return self.data.name if self.data.reference_id is None else self.data.reference_id

    def attribute(self, *path: str | int) -> Any:
        """Return the attribute ``path[0]`` with the rest of ``path`` applied; None if a step leads nowhere.

        It is ``UNKNOWN`` while the resource is not made yet.

        Raises:
            NotFound: the attribute could not be read.
            PluginMistake: the attribute was not collected for the dependents.
        """
        if self.data is None:
            return UNKNOWN
        for length in range(len(path), 0, -1):
            if path[:length] in self.data.attributes:
                return follow(self.data.attributes[path[:length]], path[length:])
            if path[:length] in self.data.unread:
                raise NotFound(self.data.why_unread(path[:length]))
        asked = ".".join(str(step) for step in path)
        raise PluginMistake(
            f"attribute {asked!r} of resource {self.name!r} is not known: it could not be read, or was not declared "
            "as required"
        )

    def attributes(self) -> dict[str, Any]:
        """Return all whole attributes that were collected, by name."""
        collected = self.data.attributes if self.data else {}
        return {str(path[0]): value for path, value in collected.items() if len(path) == 1}


def follow(value: Any, path: tuple[str | int, ...]) -> Any:
    """Return the value at ``path`` in maps (by key) and lists (by index); None if a step leads nowhere."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class StackSource:
    """What a stack was made from; hidden values are asterisks everywhere in it."""

    template: str = ""
    template_version: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)
    #: Reads the source of the parent stack; None if there is no parent.
    parent: Callable[[], "StackSource"] | None = None


def _parent_of(source: Callable[[], StackSource]) -> StackSource:
    parent = source().parent
    return StackSource() if parent is None else parent()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentResourceProxy:
    """The resource in the parent stack to which a nested stack belongs, for ``resource_facade``."""

    name: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    deletion_policy: str = "Delete"
    update_policy: Mapping[str, Any] = field(default_factory=dict)
    #: Reads the source of the parent stack, when it is first used.
    source: Callable[[], StackSource] = field(default=StackSource, compare=False, repr=False)

    @property
    def template(self) -> str:
        """The text of the parent stack's template, with asterisks for the defaults of hidden parameters."""
        return self.source().template

    @property
    def template_version(self) -> str:
        """The version of the parent stack's template by its date, such as ``2021-04-16``."""
        return self.source().template_version

    def to_wire(self) -> list[Any]:
        """Return plain types, the inverse of :meth:`from_wire`."""
        return [self.name, dict(self.metadata), self.deletion_policy, dict(self.update_policy)]

    @classmethod
    def from_wire(cls, data: list[Any]) -> Self:
        """Rebuild from plain types."""
        name, metadata, deletion_policy, update_policy = data
        return cls(name=name, metadata=metadata, deletion_policy=deletion_policy, update_policy=update_policy)


class LazyFiles(Mapping[str, str]):
    """The stack's files, each fetched when it is read.

    ``digests`` maps a file's key to the digest of its content, the argument of ``fetch``.
    """

    def __init__(self, digests: Mapping[str, str], fetch: Callable[[str], str]) -> None:
        self._digests = digests
        self._fetch = fetch

    def __getitem__(self, key: str) -> str:
        return self._fetch(self._digests[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._digests)

    def __len__(self) -> int:
        return len(self._digests)


@dataclass(frozen=True, slots=True, kw_only=True)
class StackDefinition:
    """A stack as functions and plugins see it: its name, parameters, and the resources they may access."""

    name: str
    id: str
    project: str = "default"
    #: Typed values, pseudo parameters (``OS::stack_name`` ...) among them.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    resources: Mapping[str, ResourceProxy] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    parent: ParentResourceProxy | None = None
    #: The resource in whose check this view was made; None if the whole stack is present.
    asker: str | None = None
    #: Reads the template and the environment, when one of them is first used.
    source: Callable[[], StackSource] = field(default=StackSource, compare=False, repr=False)
    #: The id of the delegated credential by which its resources act in another system; empty for none.
    credential: str = ""

    @property
    def environment(self) -> Mapping[str, Any]:
        """The merged environments: ``parameters``, ``parameter_defaults`` and ``resource_registry``.

        The first two have the converted values of declared parameters, hidden ones as asterisks.
        """
        return self.source().environment

    @property
    def template(self) -> str:
        """The template's text, with asterisks for the defaults of hidden parameters."""
        return self.source().template

    @property
    def template_version(self) -> str:
        """The template's version by its date, such as ``2021-04-16``."""
        return self.source().template_version

    @classmethod
    def of_context(
        cls, context: Mapping[str, Any], *, source: Callable[[], StackSource] = StackSource, **others: Any
    ) -> Self:
        """Return the stack of a traversal's context, with other fields."""
        given = {name: context[name] for name in ("name", "id", "project", "parameters")}
        given["credential"] = context.get("credential", "")
        parent = ParentResourceProxy.from_wire(context["parent"]) if "parent" in context else None
        if parent is not None:
            parent = replace(parent, source=partial(_parent_of, source))
        return cls(**{**given, "parent": parent, "source": source, **others})

    def __contains__(self, name: object) -> bool:
        return name in self.resources

    def resource(self, name: str) -> ResourceProxy:
        """Return the resource called ``name``.

        Raises:
            PluginMistake: in a check, ``name`` is no direct requirement of the resource.
            NotFound: the stack has no such resource.
        """
        try:
            return self.resources[name]
        except KeyError:
            if self.asker is not None:
                raise PluginMistake(
                    f"resource {self.asker!r} asked for {name!r}, which is not one of its direct requirements"
                ) from None
            hint = did_you_mean(name, self.resources)
            raise NotFound(f"stack {self.name!r} has no resource {name!r}{hint}") from None
