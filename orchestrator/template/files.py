"""The client's side of files: read a template, environments, and every file that they and their templates name."""

import posixpath
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from orchestrator.config.limits import Limits
from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.messages import EnvironmentSource
from orchestrator.template.contents import Contents, Unreadable
from orchestrator.template.document import Document, Path, dotted, read_document
from orchestrator.template.environment import Environment
from orchestrator.template.given import Given
from orchestrator.template.locations import (
    base_between,
    base_of_key,
    is_template,
    is_url,
    is_web,
    key_of,
    location_of,
    shown,
)

_CALL = "get_file"
#: The key of a resource's type in either format.
_TYPES = ("type", "Type")
#: So many times as often as there may be files, they may be named in other words; each is looked into.
_SPELLINGS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class StackFiles:
    """The texts that a stack is made of."""

    template: str
    #: In order. A relative path beside a template that has none is made an absolute one:
    #: nothing else would tell the engine how the one is reached from the other.
    environments: tuple[EnvironmentSource, ...] = ()
    #: What template and environments name, by key; see :func:`~.locations.key_of`.
    files: dict[str, str] = field(default_factory=dict)


def load_template(path: str | FilePath, *, limits: Limits | None = None) -> tuple[str, dict[str, str]]:
    """Return a template's text, and the content of each file that it and its templates name, by key.

    Raises:
        InvalidInput: the template or a file cannot be read; all such files.
    """
    loaded = load_stack(str(path), limits=limits)
    return loaded.template, loaded.files


def load_stack(
    template: str,
    environments: Iterable[str] = (),
    *,
    limits: Limits | None = None,
    fetch_urls: bool = False,
) -> StackFiles:
    """Return a template's and its environments' texts, and the files that are named: by get_file, as types, as targets.

    ``template`` and ``environments`` are paths, or URLs where ``fetch_urls`` allows to fetch them. Names are looked for
    in templates that are named too, and are relative to the file that uses them; names that only a call would tell
    are not looked for. What is wrong with a text otherwise is said by whoever parses it.

    Raises:
        InvalidInput: something named cannot be read, or it is too much; all such places.
    """
    loading = _Loading(Contents(limits or Limits(), fetch_urls=fetch_urls), limits or Limits())
    return loading.all(loading.template(template), environments, template)


def load_environments(
    environments: Iterable[str],
    *,
    beside: str,
    limits: Limits | None = None,
    fetch_urls: bool = False,
) -> StackFiles:
    """Return environments' texts and the files that they name, for a template that is there: its text is left empty.

    ``beside`` is what the template is called; it is not read.

    Raises:
        InvalidInput: something named cannot be read, or it is too much; all such places.
    """
    loading = _Loading(Contents(limits or Limits(), fetch_urls=fetch_urls), limits or Limits())
    return loading.all("", environments, beside)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A place that names a file."""

    name: str
    key: str
    location: str
    #: Where the file is that names it.
    document: str
    #: Whether the file is a template, whose own names count as well.
    is_template: bool
    #: Makes a problem, of a message and a hint, with this place.
    problem: Callable[[str, str], Problem]


class _Loading:
    """Reads what is named, from one file to the next, and gathers what cannot be read."""

    def __init__(self, contents: Contents, limits: Limits) -> None:
        self._contents, self._limits = contents, limits
        self.problems: list[Problem] = []
        self._files: dict[str, str] = {}
        #: By key: where the file is; also of those that cannot be read.
        self._locations: dict[str, str] = {}
        self._walked: set[str] = set()
        self._mentions: deque[Mention] = deque()
        #: What has been noted: the key, the location, and whether it is a template.
        self._noted: set[tuple[str, str, bool]] = set()

    def all(self, text: str, environments: Iterable[str], template: str) -> StackFiles:
        """Return a template's text with its environments, and everything that was named.

        Raises:
            InvalidInput: something cannot be read; all such places.
        """
        sources = tuple(self.environment(_beside(file, template), template) for file in environments)
        files = self.files()
        if self.problems:
            raise InvalidInput(self.problems)
        return StackFiles(template=text, environments=sources, files=files)

    # -- what the order names ----------------------------------------------------------------------------------

    def template(self, file: str) -> str:
        """Return the root template's text, and note what it names."""
        text = self._ordered(file)
        document = self._document(text, file)
        if document:
            self._note(mentions(document, base="", location=file))
        return text

    def environment(self, file: str, template: str) -> EnvironmentSource:
        """Return an environment, and note the template files in its registry."""
        text = self._ordered(file)
        document = self._document(text, file)
        if document:
            # Its problems, and those of the environment, are told by whoever parses it.
            environment = Environment.of_document(document, [], base=base_between(file, template))
            self._note(targets(environment, file))
        return EnvironmentSource(file=file, source=text)

    def _ordered(self, file: str) -> str:
        """Return a text that the order itself names; an empty one, after taking down why, if it cannot be read."""
        try:
            return self._contents.text(file)
        except Unreadable as error:
            self.problems.append(error.problem(file))
            return ""

    def _note(self, mentions: Iterable[Mention]) -> None:
        """Keep what is named until it is looked into, unless it was named before."""
        for mention in mentions:
            named = mention.key, mention.location, mention.is_template
            if named not in self._noted:
                if len(self._noted) == _SPELLINGS * self._limits.max_files:
                    self._refuse_more(mention)
                    break
                self._noted.add(named)
                self._mentions.append(mention)

    # -- what they name ----------------------------------------------------------------------------------------

    def files(self) -> dict[str, str]:
        """Return what is named, by key, and what that names in turn, until nothing new is."""
        while self._mentions:
            mention = self._mentions.popleft()
            if mention.key not in self._locations:
                if len(self._locations) == self._limits.max_files:
                    self._refuse_more(mention)
                    break
                self._load(mention)
            elif not _is_same(self._locations[mention.key], mention.location):
                self._refuse_second(mention)
            if mention.is_template and mention.key in self._files and mention.key not in self._walked:
                self._walk(mention)
        return self._files

    def _load(self, mention: Mention) -> None:
        self._locations[mention.key] = mention.location
        try:
            if is_web(mention.document) and not is_web(mention.location):
                raise Unreadable("is named by a file from the network, which may name none of this machine")
            self._files[mention.key] = self._contents.text(mention.location, named_by_file=True)
        except Unreadable as error:
            name = shown(mention.name)
            self.problems.append(mention.problem(f"the file {name!r} {error}", error.hint(name)))

    def _refuse_more(self, mention: Mention) -> None:
        message = f"more than {self._limits.max_files} files are named"
        self.problems.append(mention.problem(message, "raise the setting max_template_files, or name fewer"))

    def _refuse_second(self, mention: Mention) -> None:
        other = shown(self._locations[mention.key])
        message = f"the files {shown(mention.location)!r} and {other!r} would both be called {mention.key!r}"
        hint = "give one of them another name"
        self.problems.append(mention.problem(message, hint))

    def _walk(self, mention: Mention) -> None:
        self._walked.add(mention.key)
        file = mention.location if is_url(mention.location) else posixpath.normpath(mention.location)
        document = self._document(self._files[mention.key], file)
        if document:
            base = base_of_key(mention.key)
            self._note(mentions(document, base=base, location=mention.location))

    def _document(self, text: str, file: str) -> Document | None:
        """Return a text as data, as far as it can be read; None if it cannot."""
        try:
            document, _ = read_document(text, file=file, limits=self._limits)
        except InvalidInput:
            return None
        return document


def _beside(environment: str, template: str) -> str:
    if is_url(environment) or not (is_url(template) or template.startswith("/")):
        return environment
    return str(FilePath(environment).absolute())


def _is_same(location: str, other: str) -> bool:
    """Whether two locations are of one file; paths may lead to it over links."""
    if location == other or is_url(location) or is_url(other):
        return location == other
    return FilePath(location).resolve() == FilePath(other).resolve()


def mentions(document: Document, *, base: str, location: str) -> Iterator[Mention]:
    """Yield the files that a template names; its names start at ``base``, it is itself at ``location``."""
    found: dict[tuple[str, bool], Path] = {}
    _collect(document.data, (), found)
    for (name, as_type), path in found.items():
        yield Mention(
            name=name,
            key=key_of(name, base),
            location=location_of(name, location),
            document=location,
            is_template=as_type,
            # Nothing of the document stays: many wait at once.
            problem=Given(name, dotted(path), document.positions.at(path)).problem,
        )


def targets(environment: Environment, file: str) -> Iterator[Mention]:
    """Yield the template files in the registry of an environment, which is at ``file``."""
    for target in environment.registry.template_targets():
        written = target.given
        yield Mention(
            name=written.value,
            key=target.name,
            location=location_of(written.value, file),
            document=file,
            is_template=True,
            problem=written.problem,
        )


def _collect(value: Any, path: Path, found: dict[tuple[str, bool], Path]) -> None:
    """Add each name of a file, in get_file or as a type, with whether it is a type, and its first place."""
    if isinstance(value, dict):
        if len(value) == 1 and isinstance(value.get(_CALL), str):
            found.setdefault((value[_CALL], False), (*path, _CALL))
        for key, item in value.items():
            if isinstance(item, (dict, list)):
                _collect(item, (*path, key), found)
            elif key in _TYPES and isinstance(item, str) and is_template(item):
                found.setdefault((item, True), (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _collect(item, (*path, index), found)
