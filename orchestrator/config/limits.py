"""How much a template may ask for: what the settings allow, handed to whoever reads or evaluates one."""

from dataclasses import dataclass
from typing import Any, Final, Self

from orchestrator.config.settings import Settings

#: No document or value may be nested deeper than this, whatever the settings say: functions over data are recursive.
DEEPEST: Final = 200


def _default(setting: str) -> Any:
    return Settings.model_fields[setting].default


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of one reading; by default what the settings have by default."""

    max_bytes: int = _default("max_template_bytes")
    max_resources: int = _default("max_resources_per_stack")
    max_depth: int = _default("max_template_depth")
    max_nested_depth: int = _default("max_nested_stack_depth")
    max_files: int = _default("max_template_files")
    max_repeat_items: int = _default("max_repeat_items")
    evaluation_seconds: float = _default("evaluation_seconds")
    pattern_seconds: float = _default("pattern_seconds")
    yaql_seconds: float = _default("yaql_seconds")
    yaql_memory_mib: int = _default("yaql_memory_mib")
    #: No bound, but what the settings say too to whoever reads a template.
    availability_zones: tuple[str, ...] = _default("availability_zones")

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the limits that ``settings`` name."""
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
