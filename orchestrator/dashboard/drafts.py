"""Drafts of definitions that operators write in the browser: read from a request, checked, and turned into jobs.

A draft is complete in itself: what a template refers to is among its files, or is a problem. Nothing is ever read from
this machine's disk or fetched from an address because a draft names it.
"""

import re
import uuid
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.dashboard.bodies import comment_problems, kind_of, read_object, unknown, unstorable
from orchestrator.dashboard.fitness import Situation, unfit
from orchestrator.documentation.hot_constraint import hot_constraint
from orchestrator.errors import Conflict, InvalidInput, Position, Problem, cut
from orchestrator.model.messages import EnvironmentSource, ImportJob, StackJob
from orchestrator.model.tags import TAGS, are_tags
from orchestrator.planning.patch import upon_existing
from orchestrator.sandbox.budget import evaluation
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.template.hiding import HIDDEN
from orchestrator.template.masking import shown_source
from orchestrator.validation.report import examined_alone, view_of
from orchestrator.views.stacks import PropertyChange, ResourcePlan, ResourcePreview, StackPreview, UpdatePlan

#: The fields of every draft, beside the text of the template.
_OPTIONAL: Final = (
    *("name", "environment", "files", "parameters", "tags", "timeout_minutes", "rollback", "comment"),
)
#: Those of a draft for a stack that is there: as in an order, the stack and the operation that the page showed.
_OF_UPDATES: Final = ("stack_id", "traversal_id")
#: Of such a draft: what of the stack's present definition is not kept.
_DROPPED: Final = ("cleared", "removed_environments", "removed_files")
#: Of such a draft: whether the stack gets the default time-out again.
_RESET: Final = "default_timeout"
#: Of an import: the objects.
_OBJECTS: Final = "objects"
#: The names of a draft's texts in problems.
TEMPLATE_FILE: Final = "template"
ENVIRONMENT_FILE: Final = "environment"
#: A default that a page showed masked.
_MASKED: Final = re.compile(r"""\b[dD]efault["']?\s*:\s*["']?(?=\*{6})""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A definition as the browser sends it."""

    #: The name of the new stack, or of the one to update; may be empty in a draft that is only validated.
    name: str = ""
    template: str
    environment: str = ""
    #: What the template and the environment refer to, by the names that they use.
    files: Mapping[str, str] = field(default_factory=dict)
    #: The values of parameters that were given; of an update, those that change.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: Of an update: the parameters whose present value is not kept.
    cleared: tuple[str, ...] = ()
    #: Of an update: the names of present environments and files that are not kept.
    removed_environments: tuple[str, ...] = ()
    removed_files: tuple[str, ...] = ()
    #: These three: None for what the stack has, or for the default.
    tags: tuple[str, ...] | None = None
    timeout_minutes: float | None = None
    rollback: bool | None = None
    #: Of an update: whether the present time-out is not kept, so that the default holds.
    default_timeout: bool = False
    #: The stack and the operation that the page showed; empty for a new stack.
    stack_id: str = ""
    traversal_id: str = ""
    #: Why, in the operator's words; recorded with the operation.
    comment: str = ""
    #: Of an import: the objects, as :func:`objects_in` reads them.
    objects: str = ""


def read_draft(body: bytes, *, updates: bool, imports: bool = False) -> Draft:
    """Return the draft in a request's body, a JSON object; an import is an update with objects.

    Raises:
        InvalidInput: it is not a JSON object, or a field is missing, unknown or malformed.
    """
    sent = read_object(body)
    objects = (_OBJECTS,) if imports else ()
    names = ("template", *_OPTIONAL, *((*_OF_UPDATES, *_DROPPED, _RESET) if updates else ()), *objects)
    needed = ("template", *(_OF_UPDATES if updates else ()), *objects)
    problems = [
        *unknown(sent, names),
        *_two_timeouts(sent),
        *(Problem(path=name, message="is needed") for name in needed if not sent.get(name)),
        *(_wrong(name, value) for name, value in sent.items() if not _fits(name, value)),
        *unstorable(sent),
        *comment_problems(sent),
    ]
    if problems:
        raise InvalidInput(problems)
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in sent.items()
    }
    return Draft(**fields)


def _two_timeouts(sent: Mapping[str, object]) -> Iterator[Problem]:
    if sent.get(_RESET) is True and "timeout_minutes" in sent:
        yield Problem(path=_RESET, message="the draft has a time-out: leave timeout_minutes out")


def _fits(name: str, value: object) -> bool:
    if name in _DROPPED:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    if name == "tags":
        return are_tags(value)
    if name == "timeout_minutes":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if name in ("rollback", _RESET):
        return isinstance(value, bool)
    if name == "files":
        return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
    return isinstance(value, dict if name == "parameters" else str)


def _wrong(name: str, value: object) -> Problem:
    expected = {
        "files": "an object of texts",
        "parameters": "an object",
        "tags": TAGS,
        "timeout_minutes": "a number",
        **dict.fromkeys(("rollback", _RESET), "a truth value"),
        **dict.fromkeys(_DROPPED, "a list of names"),
    }
    message = f"expected is {expected.get(name, 'a text')}, and found is {kind_of(value)}"
    return Problem(path=name, message=message)


def check_draft(draft: Draft, stack: StackRow) -> None:
    """Check that a draft is for the stack and the operation that are there.

    Raises:
        InvalidInput: its name is not the stack's.
        Conflict: the stack or its operation is another by now, or it cannot be updated.
    """
    if draft.name != stack.name:
        message = f"expected is the stack's name, {stack.name!r}, and found is another"
        raise InvalidInput([Problem(path="name", message=message)])
    if draft.stack_id != stack.id:
        raise Conflict(f"another stack is called {stack.name!r} now: look at it again")
    if draft.traversal_id != stack.traversal_id:
        raise Conflict(f"stack {stack.name!r} has begun another operation meanwhile: look at it again")
    why = unfit("update", Situation(stack=stack))
    if why:
        raise Conflict(why)


def creation(draft: Draft, settings: Settings) -> StackJob:
    """Return the job that creates a draft's stack; without a name, it can only be validated."""
    return StackJob(
        name=draft.name,
        project=settings.project,
        template=draft.template,
        template_file=TEMPLATE_FILE,
        files=dict(draft.files),
        environments=_environments(draft),
        parameters=dict(draft.parameters),
        tags=draft.tags,
        timeout_minutes=draft.timeout_minutes,
        rollback=bool(draft.rollback),
        job_id=str(uuid.uuid4()),
    )


def update(draft: Draft, present: StackJob, settings: Settings) -> StackJob:
    """Return the job that gives a stack the draft's definition, completed from its ``present`` one.

    As ``isotherm stack update --existing`` does it: present values, environments and files stay unless the draft has
    others, or removes them. The name in the job is the stack's id, because its name may be another's by then.

    Raises:
        InvalidInput: a default that the page showed masked is still masked in a changed template, or something is to be
            removed that is not there.
    """
    environments = {each.file for each in present.environments}
    _check_there("removed_environments", draft.removed_environments, environments)
    _check_there("removed_files", draft.removed_files, present.files)
    left = replace(
        present,
        environments=tuple(
            each for each in present.environments if each.file not in draft.removed_environments
        ),
        files={name: text for name, text in present.files.items() if name not in draft.removed_files},
    )
    kept = {name: value for name, value in present.parameters.items() if name not in draft.cleared}
    given = replace(
        creation(draft, settings),
        name=draft.stack_id,
        template=_unmasked(draft.template, present.template, present.template_file),
        template_file=present.template_file,
        rollback=present.rollback if draft.rollback is None else draft.rollback,
    )
    job = upon_existing(given, replace(left, parameters=kept), Limits.of(settings))
    return replace(job, timeout_minutes=None) if draft.default_timeout else job


def importing(draft: Draft, present: StackJob, settings: Settings) -> ImportJob:
    """Return the job that takes the draft's objects into a stack, with its definition as of :func:`update`.

    Raises:
        InvalidInput: as :func:`update`, or the objects are malformed.
    """
    entries = {name: {"resource_id": each} for name, each in objects_in(draft.objects).items()}
    return ImportJob.of(update(draft, present, settings), resources=entries)


def objects_in(text: str) -> dict[str, str]:
    """Return the physical ids of objects by the resource's name, each on a line ``RESOURCE=ID``.

    Raises:
        InvalidInput: a line is something else, or names a resource again; all problems are listed.
    """
    found: dict[str, str] = {}
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        name, separator, physical_id = (part.strip() for part in line.partition("="))
        if not line.strip():
            continue
        if not (name and separator and physical_id):
            message = f"line {number}: expected RESOURCE=ID, found {cut(line.strip())!r}"
            problems.append(Problem(path=_OBJECTS, message=message))
        elif found.setdefault(name, physical_id) != physical_id:
            message = f"line {number}: the resource {name!r} has another object already"
            problems.append(Problem(path=_OBJECTS, message=message))
    if problems:
        raise InvalidInput(problems)
    return found


def _check_there(path: str, names: Collection[str], present: Collection[str]) -> None:
    missing = sorted(set(names) - set(present))
    if missing:
        raise InvalidInput([Problem(path=path, message=f"the stack has no {name!r}") for name in missing])


def _environments(draft: Draft) -> tuple[EnvironmentSource, ...]:
    if not draft.environment.strip():
        return ()
    return (EnvironmentSource(file=ENVIRONMENT_FILE, source=draft.environment),)


def _unmasked(sent: str, present: str, file: str) -> str:
    """Return the template that a page means which showed ``present`` with its hidden defaults masked."""
    shown = shown_source(present, with_defaults=True)
    # Browsers write every line break in the same way.
    if sent in (shown, "\n".join(shown.splitlines()), re.sub(r"\r\n?", "\n", shown)):
        return present
    if HIDDEN in shown:
        message = "the default of a hidden parameter is not shown here: write it anew, or remove it"
        problems = [
            Problem(message=message, position=Position(file=file, line=number, column=found.end() + 1))
            for number, line in enumerate(sent.splitlines(), 1)
            for found in _MASKED.finditer(line)
        ]
        if problems:
            raise InvalidInput(problems)
    return sent


def judged(job: StackJob, settings: Settings) -> dict[str, Any]:
    """Return a template's declarations as JSON for a form: those of ``isotherm template validate``.

    The constraints of a parameter are rules as HOT writes them, beside the sentences about them.

    Raises:
        InvalidInput: the template is invalid; with every problem found.
    """
    with evaluation(Limits.of(settings)):
        examined = examined_alone(job, settings)
        found = view_of(examined)
    view = found.to_dict()
    schemas = examined.template.parameters
    rules = {name: list(map(hot_constraint, each.constraints)) for name, each in schemas.items()}
    return {
        "description": view["description"],
        "parameters": [
            # Not the value: a template that hides a parameter no more would show what a stack keeps.
            {key: part for key, part in each.items() if key != "value"}
            | {"rules": [rule for rule in rules[each["name"]] if rule]}
            for each in view["parameters"]
        ],
        "groups": list(view["parameter_groups"]),
        "warnings": problems_shown(found.warnings),
    }


def problems_shown(problems: tuple[Problem, ...] | list[Problem]) -> list[dict[str, Any]]:
    """Return problems as JSON: message, path, position (file, line, column; or null) and hint."""
    return [each.to_wire() for each in problems]


def plan_of(preview: StackPreview | UpdatePlan) -> dict[str, Any]:
    """Return a dry run as JSON: the number of resources by action, a row for each, parameters and warnings."""
    rows = _plan_rows(preview)
    return {
        "counts": dict(Counter(row["action"] for row in rows)),
        "rows": rows,
        "parameters": dict(preview.parameters),
        "warnings": problems_shown(preview.warnings),
        "has_changes": preview.has_changes if isinstance(preview, UpdatePlan) else True,
    }


def _plan_rows(preview: StackPreview | UpdatePlan) -> list[dict[str, Any]]:
    if isinstance(preview, StackPreview):
        return [row for each in preview.resources for row in _made(each, "")]
    return [plan_row(each) for each in preview.resources]


def plan_row(resource: ResourcePlan) -> dict[str, Any]:
    """Return what is done to a resource as JSON, with a row for each part of a property that changes."""
    return {
        "name": resource.name,
        "type": resource.type,
        "action": resource.action,
        "why": resource.reason,
        "changes": [row for change in resource.changes for row in _changed(change)],
    }


def _made(resource: ResourcePreview, outer: str) -> list[dict[str, Any]]:
    """Return the row of a resource that would be made, and those of the resources nested in it."""
    name = f"{outer}{resource.name}"
    given = [
        {"path": key, "before": None, "after": value, "meaning": resource.action, "is_certain": True}
        for key, value in resource.properties.items()
        if value is not None
    ]
    row = {"name": name, "type": resource.type, "action": resource.action, "why": "", "changes": given}
    return [row, *(inner for each in resource.resources for inner in _made(each, f"{name}/"))]


def _changed(change: PropertyChange) -> list[dict[str, Any]]:
    """Return a row for a property, or for each of its parts that changes."""
    meaning = {"meaning": change.meaning, "is_certain": change.is_certain}
    if not change.parts:
        return [{"path": change.name or "(all)", "before": change.before, "after": change.after, **meaning}]
    return [
        {
            "path": f"{change.name}{'' if part.path.startswith('[') else '.'}{part.path}",
            "before": part.before,
            "after": part.after,
            **meaning,
        }
        for part in change.parts
    ]
