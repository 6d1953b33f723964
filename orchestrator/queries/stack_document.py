"""A stack as one document, which ``isotherm stack export`` writes and ``isotherm stack adopt`` reads.

It is Heat's abandon document, with the template and environments as maps. It includes secrets.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.model.tags import TAGS, are_tags, each_once
from orchestrator.planning.matching import standing
from orchestrator.template.document import parse_document
from orchestrator.template.functions.base import kind_of

if TYPE_CHECKING:
    from orchestrator.config.limits import Limits
    from orchestrator.store.stacks.stacks import ResourceRow, StackRow

#: The expected document, in words.
_WANTED: Final = "a map, as 'isotherm stack export' writes it"


def document_of(
    stack: "StackRow", definition: StackJob, rows: Mapping[str, Sequence["ResourceRow"]], limits: "Limits"
) -> dict[str, object]:
    """Return a stack, its definition and its resources as plain JSON types.

    ``rows`` are those of the stack and its nested stacks, by the stack's id. The id of a nested stack is that of its
    row in the parent stack, whose entry has the resources of the nested stack. Among several rows of one name, it is
    the one in force.
    """
    environments = [
        parse_document(each.source, file=each.file, limits=limits).data or {}
        for each in definition.environments
    ]
    return {
        "name": stack.name,
        "id": stack.id,
        "project": stack.project,
        "action": stack.action,
        "status": stack.status,
        "template": parse_document(definition.template, file=definition.template_file, limits=limits).data,
        "template_file": definition.template_file,
        "environment": environments if len(environments) > 1 else next(iter(environments), {}),
        "environment_files": [each.file for each in definition.environments],
        "files": dict(definition.files),
        "parameters": dict(definition.parameters),
        "tags": list(stack.tags),
        "resources": _entries_of(stack.id, rows),
    }


def _entries_of(stack_id: str, rows: Mapping[str, Sequence["ResourceRow"]]) -> dict[str, dict[str, object]]:
    present: dict[str, ResourceRow] = {}
    for row in rows.get(stack_id, ()):
        present[row.name] = max(present.get(row.name, row), row, key=standing)
    return {name: _entry_of(row, rows) for name, row in present.items()}


def _entry_of(row: "ResourceRow", rows: Mapping[str, Sequence["ResourceRow"]]) -> dict[str, object]:
    inside = {"resources": _entries_of(row.id, rows)} if row.id in rows else {}
    return {
        **inside,
        "name": row.name,
        "resource_id": row.physical_id,
        "type": row.type,
        "action": row.action,
        "status": row.status,
        "metadata": dict(row.metadata),
        "resource_data": dict(row.data),
    }


def read_stack_document(text: str, *, file: str, limits: "Limits") -> Mapping[str, Any]:
    """Return a document from its text, JSON or YAML.

    Raises:
        InvalidInput: it cannot be read, is no map, or has no resources.
    """
    try:
        # Most are JSON, which is parsed without the limits for texts that users write.
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = parse_document(text, file=file, limits=limits).data
    if not isinstance(document, dict):
        raise InvalidInput([Problem(path=file, message=f"expected {_WANTED}, found {kind_of(document)}")])
    if not isinstance(document.get("resources"), dict):
        found = kind_of(document["resources"]) if "resources" in document else "nothing"
        message = f"expected a map with an entry for each resource, found {found}"
        raise InvalidInput(
            [Problem(path="resources", message=message, hint=f"in {file}: expected {_WANTED}")]
        )
    return document


def definition_in(document: Mapping[str, object], name: str, *, file: str) -> StackJob:
    """Return the job that gives the stack ``name`` the definition of a document.

    Raises:
        InvalidInput: the document has no definition, or parts of it are invalid; with a problem for each.
    """
    reader = _Definition(document, file)
    job = StackJob(
        name=name,
        template=json.dumps(reader.part("template", dict, "a template, a map"), indent=2),
        template_file=reader.part("template_file", str, "a file's name", "template"),
        files=reader.texts("files"),
        environments=reader.environments(),
        parameters=reader.part("parameters", dict, "a map of values", {}),
    )
    if reader.problems:
        raise InvalidInput(reader.problems)
    return job


def tags_in(document: Mapping[str, object], *, file: str) -> tuple[str, ...]:
    """Return the tags of a document; none if it has none.

    Raises:
        InvalidInput: they are not valid tags.
    """
    tags = document.get("tags") or ()
    if not are_tags(tags):
        raise InvalidInput([Problem(path="tags", message=f"expected {TAGS} in {file}")])
    return each_once(tags)


class _Definition:
    def __init__(self, document: Mapping[str, object], file: str) -> None:
        self.problems: list[Problem] = []
        self._document, self._file = document, file

    def part(self, name: str, kind: type, words: str, otherwise: Any = None) -> Any:
        """Return a part; if it is missing, ``otherwise``, or a problem if that is None."""
        value = self._document.get(name)
        if value is None and otherwise is not None:
            return otherwise
        if not isinstance(value, kind):
            found = "nothing" if value is None else kind_of(value)
            hint = "give the template with -t" if name == "template" else ""
            self._fault(name, f"expected {words}, found {found}", hint)
        return value

    def texts(self, name: str) -> dict[str, str]:
        """Return a part that is a map of texts."""
        part: Any = self.part(name, dict, "a map of texts", {})
        if isinstance(part, dict):
            for key, value in part.items():
                if not isinstance(value, str):
                    self._fault(f"{name}.{key}", f"expected a text, found {kind_of(value)}")
        return part if isinstance(part, dict) else {}

    def environments(self) -> tuple[EnvironmentSource, ...]:
        """Return the environments: a list, or a single one that is not in a list, as in Heat."""
        given = self._document.get("environment")
        maps = given if isinstance(given, list) else [given] if given else []
        names = self.part("environment_files", list, "a list of names", [])
        names = names if isinstance(names, list) and len(names) == len(maps) else ["environment"] * len(maps)
        for index, each in enumerate(maps):
            if not isinstance(each, dict):
                path = f"environment.{index}" if isinstance(given, list) else "environment"
                self._fault(path, f"expected an environment, a map, found {kind_of(each)}")
        return tuple(
            EnvironmentSource(file=str(name), source=json.dumps(each, indent=2))
            for name, each in zip(names, maps, strict=True)
        )

    def _fault(self, path: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(path=path, message=f"{message} in {self._file}", hint=hint))
