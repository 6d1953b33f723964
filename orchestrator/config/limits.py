"""Limits of templates, taken from the settings: size, depth, number of resources, evaluation time."""

from typing import Final, Self

from hooks.values.dataclass import dataclass
from orchestrator.config.settings import Settings

#: The depth limit of documents and values, whatever the settings: functions over data are recursive.
DEEPEST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one parse and evaluation; the defaults are those of the settings."""

    max_bytes: int = Settings.max_template_bytes
    max_resources: int = Settings.max_resources_per_stack
    max_depth: int = Settings.max_template_depth
    max_nested_depth: int = Settings.max_nested_stack_depth
    max_files: int = Settings.max_template_files
    max_repeat_items: int = Settings.max_repeat_items
    evaluation_seconds: float = Settings.evaluation_seconds
    pattern_seconds: float = Settings.pattern_seconds
    yaql_seconds: float = Settings.yaql_seconds
    yaql_memory_mib: int = Settings.yaql_memory_mib
    #: Not a limit, but a setting that evaluation needs too.
    availability_zones: tuple[str, ...] = Settings.availability_zones

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the limits of ``settings``."""
        return cls(
            max_bytes=settings.max_template_bytes,
            max_resources=settings.max_resources_per_stack,
            max_depth=settings.max_template_depth,
            max_nested_depth=settings.max_nested_stack_depth,
            max_files=settings.max_template_files,
            max_repeat_items=settings.max_repeat_items,
            evaluation_seconds=settings.evaluation_seconds,
            pattern_seconds=settings.pattern_seconds,
            yaql_seconds=settings.yaql_seconds,
            yaql_memory_mib=settings.yaql_memory_mib,
            availability_zones=settings.availability_zones,
        )
