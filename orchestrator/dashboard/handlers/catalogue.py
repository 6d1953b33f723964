"""Handlers of the pages about installed constraints, functions and hooks, beside those about resource types."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from tornado.web import url

from hooks.events import NAMESPACE as EVENT_SINKS
from hooks.lifecycle import NAMESPACE as LIFECYCLE
from orchestrator.config.settings import Settings
from orchestrator.dashboard.handlers.base import PageHandler
from orchestrator.documentation.catalogue import described_constraints
from orchestrator.documentation.hook_options import OptionView
from orchestrator.documentation.installed_plugins import described_hooks
from orchestrator.documentation.markup import html_block, html_name, html_prose
from orchestrator.documentation.plugin_views import PluginDetails
from orchestrator.documentation.schema import describe_properties
from orchestrator.documentation.words import flat, paragraphs
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.template.functions.description import FunctionDescription, Span, describe_functions
from orchestrator.template.versions import FORMATS, TemplateVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that is installed."""

    name: str
    #: Few words behind the name.
    aside: str = ""
    #: Paragraphs; code is in backquotes.
    sentences: tuple[str, ...] = ()
    #: Lines of a template or of settings; empty for none.
    example: str = ""
    #: (name, type, description) of its options.
    options: tuple[tuple[str, str, str], ...] = ()
    #: Resource types that use it, each with a property.
    users: tuple[tuple[str, str], ...] = ()

    def has(self, text: str) -> bool:
        """Return whether its name or a sentence about it has a text, in capitals or not."""
        return any(text.lower() in part.lower() for part in (self.name, *self.sentences))


def constraint_entries() -> list[tuple[str, list[Entry]]]:
    """Return the custom constraints, each with the properties that it is on.

    Raises:
        PluginMistake: a plugin cannot be loaded.
    """
    users: dict[str, list[tuple[str, str]]] = {}
    for kind, loaded in sorted(ResourceTypes.load().items()):
        if loaded.support_status.is_hidden:
            continue
        for path, schema, _ in flat(describe_properties(loaded.properties_schema)):
            for each in schema["constraints"]:
                if name := each.get("custom_constraint"):
                    users.setdefault(name, []).append((kind, path))
    entries = []
    for name, about in described_constraints().items():
        client, entity = about["client"], about["entity"]
        looks = f"looks up: {entity}, by the client {client}" if client else "asks another system"
        entries.append(
            Entry(
                name=name,
                aside=looks if client or about["asks_outside"] else "checks the value alone",
                sentences=tuple(paragraphs(str(about["description"]))),
                example=f"constraints:\n  - custom_constraint: {name}",
                users=tuple(users.get(name, ())),
            )
        )
    return [("Custom constraints", entries)]


def function_entries() -> list[tuple[str, list[Entry]]]:
    """Return the functions of all versions of the template language.

    Raises:
        PluginMistake: a function cannot be loaded.
    """
    return [("Functions", [_function(each) for each in describe_functions()])]


def _function(described: FunctionDescription) -> Entry:
    in_values, in_conditions = (
        "; ".join(_lifetimes(versions)) for versions in (described.versions, described.condition_versions)
    )
    only = f"in conditions: {in_conditions}" if in_conditions and not in_values else in_values
    return Entry(
        name=described.name,
        aside=only,
        sentences=(
            f"Gives {described.summary}",
            *described.details,
            *([f"Conditions can call it: {in_conditions}."] if in_conditions and in_values else []),
        ),
        example="\n".join(described.calls),
    )


def _lifetimes(versions: Sequence[TemplateVersion]) -> Iterator[str]:
    """Yield for each format of templates from which version on a function is there, and until which."""
    for key in FORMATS:
        if span := Span.of(versions, key):
            until = f" until {span.until.date}" if span.until else ""
            yield f"{key} from {span.since.date}{until}"


def hook_entries(settings: Settings) -> list[tuple[str, list[Entry]]]:
    """Return the lifecycle plugins and the event sinks; values of settings are not among it."""
    kinds = (("Lifecycle plugins", LIFECYCLE), ("Event sinks", EVENT_SINKS))
    return [(title, [_hook(each) for each in described_hooks(settings, kind)]) for title, kind in kinds]


def _hook(details: PluginDetails) -> Entry:
    view = details.plugin
    state = "cannot be loaded" if view.errors else "enabled" if view.enabled else "disabled"
    return Entry(
        name=view.name,
        aside=f"{state}; {view.package} {view.version}",
        sentences=(details.description,)
        if details.description
        else ("`isotherm plugin show` has what is wrong.",),
        options=tuple((each.name, _type(each), each.description) for each in details.options),
    )


def _type(option: OptionView) -> str:
    return f"{option.type}, {'required' if option.required else 'optional'}"


class _InstalledPage(PageHandler):
    """A page that lists what is installed of one kind; with ``?search=TEXT``, what has the text."""

    section = "types"
    title: ClassVar[str]

    @abstractmethod
    def entries(self) -> list[tuple[str, list[Entry]]]:
        """Return the entries below their headings."""

    async def get(self) -> None:
        """Show it."""
        search = self.text("search")
        groups = await self.fetch(self.entries)
        found = [(heading, [each for each in some if each.has(search.strip())]) for heading, some in groups]
        self.page(
            "installed.html",
            title=self.title,
            search=search,
            groups=found,
            prose=html_prose,
            named=html_name,
            block=html_block,
        )


class ConstraintsPage(_InstalledPage):
    """The custom constraints."""

    title = "Constraints"

    def entries(self) -> list[tuple[str, list[Entry]]]:
        """Return them."""
        return constraint_entries()


class FunctionsPage(_InstalledPage):
    """The functions of templates."""

    title = "Functions"

    def entries(self) -> list[tuple[str, list[Entry]]]:
        """Return them."""
        return function_entries()


class HooksPage(_InstalledPage):
    """The lifecycle plugins and event sinks."""

    title = "Hooks"

    def entries(self) -> list[tuple[str, list[Entry]]]:
        """Return them."""
        return hook_entries(self.application.stack_settings)


ROUTES: Final[list[Any]] = [
    url(r"/stacks/constraints", ConstraintsPage, name="stacks_constraints"),
    url(r"/stacks/functions", FunctionsPage, name="stacks_functions"),
    url(r"/stacks/hooks", HooksPage, name="stacks_hooks"),
]
