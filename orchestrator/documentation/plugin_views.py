"""What faces show of installed plugins."""

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
    #: Empty, as the two after it, of what is not installed, but spoken of in the settings.
    package: str
    version: str
    #: The module and the name in it, such as ``acme.mail:Sink``.
    target: str
    #: Of lifecycle plugins at work: when they are asked, counted from 1.
    order: int | None = None
    #: None if nobody can tell.
    enabled: bool | None = None
    #: What is wrong with it, in sentences.
    errors: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return asdict(self) | {"errors": list(self.errors)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginDetails:
    """A plugin, and what it says of itself."""

    plugin: PluginView
    #: Empty, as what follows, of one that cannot be loaded.
    description: str = ""
    #: Of hooks: its ordinal, the time limit of a call, and so on.
    traits: Mapping[str, Any] = field(default_factory=dict)
    options: tuple[OptionView, ...] = ()
    #: Of hypervisors and storage: what templates may ask, by the property that asks it.
    asked: Mapping[str, tuple[OptionView, ...]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {
            **self.plugin.to_dict(),
            "description": self.description,
            **self.traits,
            "options": [option.to_dict() for option in self.options],
            **{
                name.replace(" ", "_"): [option.to_dict() for option in options]
                for name, options in self.asked.items()
            },
        }
