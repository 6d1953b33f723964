"""The definition of a stack by one operation, for faces; hidden values are masked."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.template.hiding import HIDDEN
from orchestrator.views.stacks import View

if TYPE_CHECKING:
    from orchestrator.config.limits import Limits
    from orchestrator.store.history.past import TraversalRow
    from orchestrator.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionView(View):
    """A definition: the template's text, the parameters, and the names of environments and files."""

    traversal_id: str
    #: The template's name and text; defaults that are not shown are replaced by asterisks.
    file: str
    source: str
    #: The values by name; hidden ones are masked. None for each if no values are shown.
    parameters: Mapping[str, Any]
    #: The names of environments, and of files with their lengths in characters.
    environments: tuple[str, ...]
    files: tuple[tuple[str, int], ...]
    #: Whether values of parameters are shown, but for hidden ones.
    shows_values: bool = True


def definition_of(store: "Store", traversal: "TraversalRow", *, shows_values: bool) -> DefinitionView:
    """Return the definition that an operation gave a stack.

    With ``shows_values``, values of parameters are shown, their defaults in the template included; hidden ones never
    are.
    """
    from orchestrator.template.masking import shown_source

    stored = store.templates.load(traversal.template_id)
    context = store.traversals.context(traversal.id)
    shown = shown_parameters(context)
    return DefinitionView(
        traversal_id=traversal.id,
        file=stored.file,
        source=shown_source(stored.source, with_defaults=shows_values),
        parameters=shown if shows_values else dict.fromkeys(shown),
        environments=tuple(file for file, _ in stored.environments),
        files=tuple((name, len(store.templates.file(digest))) for name, digest in stored.files.items()),
        shows_values=shows_values,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentView(View):
    """An environment as it was given, without values that are hidden or not known to be open."""

    file: str
    content: Mapping[str, Any]


#: The sections of an environment that hold values by the names of parameters, and those that hold no values.
_BY_NAME: Final = ("parameters", "parameter_defaults")
_OPEN: Final = ("resource_registry", "parameter_merge_strategies", "encrypted_param_names", "observation")


def environments_of(
    store: "Store", traversal: "TraversalRow", limits: "Limits"
) -> tuple[EnvironmentView, ...]:
    """Return the environments that an operation gave a stack, in their order: later ones win.

    The value of a parameter is shown if the stack's own template declares it and does not hide it: a default may be for
    a hidden parameter of a nested stack. Other sections, such as those with options of event sinks, are masked.
    """
    from orchestrator.template.document import read_document

    context = store.traversals.context(traversal.id)
    known = context["parameters"].keys() - set(context.get("hidden", ()))
    found = []
    for file, source in store.templates.load(traversal.template_id).environments:
        document, _ = read_document(source, file=file, limits=limits)
        data = document.data if isinstance(document.data, Mapping) else {}
        found.append(EnvironmentView(file=file, content=_shown_environment(data, known)))
    return tuple(found)


def _shown_environment(data: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for section, value in data.items():
        if section in _BY_NAME and isinstance(value, Mapping):
            shown[section] = {name: each if name in known else HIDDEN for name, each in value.items()}
        else:
            shown[section] = value if section in _OPEN else HIDDEN
    return shown


def file_of(store: "Store", traversal: "TraversalRow", name: str) -> str:
    """Return the content of a file that an operation gave a stack.

    Raises:
        NotFound: it gave none of that name; the nearest name is given.
    """
    from hooks.values.nearest import did_you_mean
    from orchestrator.errors import NotFound

    files = store.templates.load(traversal.template_id).files
    if name not in files:
        raise NotFound(f"the definition has no file {name!r}{did_you_mean(name, files)}")
    return store.templates.file(files[name])


def shown_parameters(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a traversal's context without pseudo parameters; hidden values are masked."""
    hidden = set(context.get("hidden", ()))
    given = {name: value for name, value in context["parameters"].items() if not is_pseudo(name)}
    return {name: HIDDEN if name in hidden else value for name, value in given.items()}


def is_pseudo(name: str) -> bool:
    """Return whether a parameter is a pseudo parameter, such as ``OS::stack_name``."""
    return "::" in name
