"""Client-side loading of a template, its environments, and every file that they and their templates refer to."""

import posixpath
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from pathlib import Path as FilePath

from hooks.values.dataclass import dataclass
from orchestrator.config.limits import Limits
from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.messages import EnvironmentSource
from orchestrator.template.contents import Contents, Unreadable
from orchestrator.template.document import Document, Path, dotted, read_document
from orchestrator.template.environment import Environment
from orchestrator.template.environment_reader import EnvironmentReader
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
#: The limit of distinct references, as a multiple of the limit of files: one file may be referred to by several names.
_SPELLINGS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class StackFiles:
    """The texts of a stack's definition."""

    template: str
    #: In order. A relative path becomes absolute if the template's is absolute or a URL: otherwise the engine could not
    #: determine one from the other.
    environments: tuple[EnvironmentSource, ...] = ()
    #: The files that template and environments refer to, by key; see :func:`~.locations.key_of`.
    files: dict[str, str] = field(default_factory=dict)


def load_stack(
    template: str,
    environments: Iterable[str] = (),
    *,
    limits: Limits | None = None,
    fetch_urls: bool = False,
) -> StackFiles:
    """Return a template's and its environments' texts, and the files that get_file, types and the registry refer to.

    ``template`` and ``environments`` are paths, or URLs where ``fetch_urls`` allows them. References in nested
    templates are followed, too; they are relative to the file that contains them. References that are calls are
    ignored. Other mistakes in the texts are left to the parser.

    Raises:
        InvalidInput: a file cannot be read, or a limit is exceeded; with a problem for each.
    """
    loading = _Loading(limits or Limits(), fetch_urls=fetch_urls)
    return loading.all(loading.template(template), environments, template)


def load_environments(
    environments: Iterable[str],
    *,
    beside: str,
    limits: Limits | None = None,
    fetch_urls: bool = False,
) -> StackFiles:
    """Return environments' texts and the files that they refer to, for an existing template; its text is left empty.

    ``beside`` is the name of the template, which is not read.

    Raises:
        InvalidInput: a file cannot be read, or a limit is exceeded; with a problem for each.
    """
    return _Loading(limits or Limits(), fetch_urls=fetch_urls).all("", environments, beside)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReference:
    """A reference to a file in a template or an environment."""

    name: str
    key: str
    location: str
    #: The location of the file that contains the reference.
    document: str
    #: Whether the file is a template, whose own references are followed.
    is_template: bool
    #: Returns a problem at this place, with a message and a hint.
    problem: Callable[[str, str], Problem]


class _Loading:
    def __init__(self, limits: Limits, *, fetch_urls: bool) -> None:
        self._contents, self._limits = Contents(limits, fetch_urls=fetch_urls), limits
        self.problems: list[Problem] = []
        self._files: dict[str, str] = {}
        #: The locations of files by key, including those that cannot be read.
        self._locations: dict[str, str] = {}
        self._walked: set[str] = set()
        self._references: deque[FileReference] = deque()
        #: The references seen: key, location, and whether the file is a template.
        self._noted: set[tuple[str, str, bool]] = set()

    def all(self, text: str, environments: Iterable[str], template: str) -> StackFiles:
        """Return a template's text with its environments, and all files that are referred to.

        Raises:
            InvalidInput: a file cannot be read; with a problem for each.
        """
        sources = tuple(self.environment(_beside(file, template), template) for file in environments)
        files = self.files()
        if self.problems:
            raise InvalidInput(self.problems)
        return StackFiles(template=text, environments=sources, files=files)

    def template(self, file: str) -> str:
        """Return the root template's text, and note its references."""
        text = self._argument(file)
        document = self._document(text, file)
        if document:
            self._note(file_references(document, base="", location=file))
        return text

    def environment(self, file: str, template: str) -> EnvironmentSource:
        """Return an environment, and note the template files in its registry."""
        text = self._argument(file)
        document = self._document(text, file)
        if document:
            # Problems with the document and the environment are left to the parser.
            environment = EnvironmentReader(document, [], base_between(file, template)).read()
            self._note(registry_references(environment, file))
        return EnvironmentSource(file=file, source=text)

    def _argument(self, file: str) -> str:
        """Return the text of a file that the user gave; empty, after recording a problem, if it cannot be read."""
        try:
            return self._contents.text(file)
        except Unreadable as error:
            self.problems.append(error.problem(file))
            return ""

    def _note(self, file_references: Iterable[FileReference]) -> None:
        for reference in file_references:
            named = reference.key, reference.location, reference.is_template
            if named not in self._noted:
                if len(self._noted) == _SPELLINGS * self._limits.max_files:
                    self._refuse_more(reference)
                    break
                self._noted.add(named)
                self._references.append(reference)

    def files(self) -> dict[str, str]:
        """Return the files that are referred to, directly or through other files, by key."""
        while self._references:
            reference = self._references.popleft()
            if reference.key not in self._locations:
                if len(self._locations) == self._limits.max_files:
                    self._refuse_more(reference)
                    break
                self._load(reference)
            elif not _is_same(self._locations[reference.key], reference.location):
                self._refuse_second(reference)
            if reference.is_template and reference.key in self._files and reference.key not in self._walked:
                self._walk(reference)
        return self._files

    def _load(self, reference: FileReference) -> None:
        self._locations[reference.key] = reference.location
        try:
            if is_web(reference.document) and not is_web(reference.location):
                raise Unreadable("is named by a file from the network, which may name none of this machine")
            self._files[reference.key] = self._contents.text(reference.location, named_by_file=True)
        except Unreadable as error:
            name = shown(reference.name)
            self.problems.append(reference.problem(f"the file {name!r} {error}", error.hint(name)))

    def _refuse_more(self, reference: FileReference) -> None:
        message = f"more than {self._limits.max_files} files are named"
        self.problems.append(
            reference.problem(message, "raise the setting max_template_files, or name fewer")
        )

    def _refuse_second(self, reference: FileReference) -> None:
        other = shown(self._locations[reference.key])
        message = (
            f"the files {shown(reference.location)!r} and {other!r} would both be called {reference.key!r}"
        )
        hint = "give one of them another name"
        self.problems.append(reference.problem(message, hint))

    def _walk(self, reference: FileReference) -> None:
        self._walked.add(reference.key)
        file = reference.location if is_url(reference.location) else posixpath.normpath(reference.location)
        document = self._document(self._files[reference.key], file)
        if document:
            base = base_of_key(reference.key)
            self._note(file_references(document, base=base, location=reference.location))

    def _document(self, text: str, file: str) -> Document | None:
        """Return a text as data, as far as it can be parsed; None if it cannot be."""
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
    """Whether two locations are the same file; paths may lead to it through links."""
    if location == other or is_url(location) or is_url(other):
        return location == other
    return FilePath(location).resolve() == FilePath(other).resolve()


def file_references(document: Document, *, base: str, location: str) -> Iterator[FileReference]:
    """Yield the references of the template at ``location`` to files; its names are relative to ``base``."""
    found: dict[tuple[str, bool], Path] = {}
    _collect(document.data, (), found)
    for (name, as_type), path in found.items():
        yield FileReference(
            name=name,
            key=key_of(name, base),
            location=location_of(name, location),
            document=location,
            is_template=as_type,
            # Keeps no reference to the document: many may be queued at once.
            problem=Given(name, dotted(path), document.positions.at(path)).problem,
        )


def registry_references(environment: Environment, file: str) -> Iterator[FileReference]:
    """Yield the references to template files in the registry of the environment at ``file``."""
    for target in environment.registry.template_targets():
        written = target.given
        yield FileReference(
            name=written.value,
            key=target.name,
            location=location_of(written.value, file),
            document=file,
            is_template=True,
            problem=written.problem,
        )


def _collect(value: object, path: Path, found: dict[tuple[str, bool], Path]) -> None:
    """Add each reference, in get_file or as a type: its name, whether it is a type, and its first path."""
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
