"""Views of installed plugins."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from orchestrator.documentation.hook_options import OptionView


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginView:
    """One entry point of a package."""

    #: The group of entry points, such as ``isotherm.lifecycle``.
    namespace: str
    name: str
    #: Empty, like the next two, for a plugin that the settings name but that is not installed.
    package: str
    version: str
    #: The module and the name in it, such as ``acme.mail:Sink``.
    target: str
    #: The position of an enabled lifecycle plugin in the order of calls, counted from 1.
    order: int | None = None
    #: None if unknown.
    enabled: bool | None = None
    #: Messages about what is wrong with it.
    errors: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return plain JSON types."""
        return asdict(self) | {"errors": list(self.errors)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginDetails:
    """A plugin with its description and options."""

    plugin: PluginView
    #: Empty, like the other fields, for a plugin that cannot be loaded.
    description: str = ""
    #: Of hooks: the ordinal, the time limit of a call, and so on.
    traits: Mapping[str, Any] = field(default_factory=dict)
    options: tuple[OptionView, ...] = ()
    #: Of hypervisors and storage: the options in templates, by the property that contains them.
    asked: Mapping[str, tuple[OptionView, ...]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {
            **self.plugin.to_dict(),
            "description": self.description,
            **self.traits,
            "options": list(map(asdict, self.options)),
            **{name.replace(" ", "_"): list(map(asdict, options)) for name, options in self.asked.items()},
        }
