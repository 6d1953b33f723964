"""Set-up of logging: to stderr, readable or as JSON, once at start-up."""

import logging
import sys
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from orchestrator.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from orchestrator.config.settings import Settings

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_FORMATS = ("console", "json")


def level_of(settings: "Settings", *, quiet: bool) -> str:
    """Return the level to log at; with ``quiet`` WARNING, unless the settings name a level.

    Raises:
        InvalidInput: the level is not one of :data:`LEVELS`.
    """
    if quiet and "log_level" not in settings.given:
        return "WARNING"
    level = settings.log_level.upper()
    if level not in LEVELS:
        problem = Problem(
            path="settings.log_level",
            message=f"expected one of {', '.join(LEVELS)}, got {settings.log_level!r}",
            hint="set it in isotherm.toml or as ISOTHERM_LOG_LEVEL",
        )
        raise InvalidInput([problem])
    return level


def configure_logs(settings: "Settings", *, quiet: bool = False) -> None:
    """Send structlog and the standard library's logging to stderr.

    ``quiet`` is for commands that show progress themselves.

    Raises:
        InvalidInput: the settings name an unknown level or format.
    """
    from orchestrator.config.log_masking import MaskingFormatter
    from orchestrator.config.logger import configure_structlog

    if settings.log_format not in _FORMATS:
        problem = Problem(
            path="settings.log_format",
            message=f"expected console or json, got {settings.log_format!r}",
            hint="set it in isotherm.toml or as ISOTHERM_LOG_FORMAT",
        )
        raise InvalidInput([problem])
    number = logging.getLevelNamesMapping()[level_of(settings, quiet=quiet)]
    logging.basicConfig(
        level=number, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s", force=True
    )
    # Looked at now: live progress replaces sys.stderr while it runs.
    colors = sys.stderr.isatty()
    configure_structlog(lambda: _configure(settings.log_format, number, colors=colors), level=number)
    root = logging.getLogger()
    for handler in root.handlers:
        # The lines of Celery and of all other libraries are JSON, too.
        json = _json_formatter() if settings.log_format == "json" else None
        handler.setFormatter(MaskingFormatter(json or handler.formatter or logging.Formatter()))
    root.addHandler(_StepLogHandler(logging.WARNING))


def _configure(log_format: str, level: int, *, colors: bool) -> None:
    import structlog

    structlog.configure(
        processors=[*_processors(), _kept_with_its_step, *_renderers(log_format, colors=colors)],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        # Looked up for each line: live progress replaces sys.stderr while it runs.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )


def _processors() -> list[Any]:
    import structlog

    from orchestrator.config.log_context import merge_context

    return [
        structlog.contextvars.merge_contextvars,
        merge_context,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _json_formatter() -> logging.Formatter:
    import structlog

    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*_processors(), structlog.stdlib.add_logger_name],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            *_renderers("json", colors=False),
        ],
    )


def _on_one_line(
    _logger: object, _method: str, fields: MutableMapping[str, object]
) -> MutableMapping[str, object]:
    """Rename the field ``stack`` of a log line to ``stack_name``.

    The renderer takes ``stack`` for a stack trace, and would write it unescaped below the line: a stack name with line
    breaks could forge log lines.
    """
    if "stack" in fields:
        fields["stack_name"] = fields.pop("stack")
    return fields


# What most commands never need is imported with the first line.
def _kept_with_its_step(
    logger: object, method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    from orchestrator.config.step_log import keep_line

    return keep_line(logger, method, event)


class _StepLogHandler(logging.Handler):
    """Keeps the lines of the standard library's logging with the step that writes them."""

    def emit(self, record: logging.LogRecord) -> None:
        from orchestrator.config.step_log import keep_record

        keep_record(record)


def _without_secrets(_logger: object, _method: str, line: str) -> str:
    from orchestrator.config.log_masking import masked_line

    return masked_line(line)


def _encodable(_logger: object, _method: str, line: str) -> str:
    """Escape halves of surrogate pairs, such as in a plugin's message: a log call raises nothing."""
    return line.encode(errors="backslashreplace").decode()


def _renderers(log_format: str, *, colors: bool) -> list[Any]:
    import structlog

    if log_format == "json":
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(), _without_secrets]
    # The default formatter shows the local variables of every frame, secrets among them.
    plain = structlog.dev.plain_traceback
    return [
        _on_one_line,
        structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain),
        _encodable,
        _without_secrets,
    ]
