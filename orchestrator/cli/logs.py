"""Set-up of logging: to stderr, readable or as JSON, once at start-up."""

import logging
import sys
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from orchestrator.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from orchestrator.config.settings import Settings

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


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
    _import_structlog()
    import structlog

    from orchestrator.config.log_context import merge_context
    from orchestrator.config.log_masking import MaskingFormatter

    number = logging.getLevelNamesMapping()[level_of(settings, quiet=quiet)]
    processors: list[Any] = [
        structlog.contextvars.merge_contextvars,
        merge_context,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderers = [*_renderers(settings.log_format), _without_secrets]
    logging.basicConfig(
        level=number, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s", force=True
    )
    if settings.log_format == "json":
        # The lines of Celery and of all other libraries are JSON, too.
        formatter = structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*processors, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
        )
        for handler in logging.getLogger().handlers:
            handler.setFormatter(formatter)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(MaskingFormatter(handler.formatter or logging.Formatter()))
    logging.getLogger().addHandler(_StepLogHandler(logging.WARNING))
    structlog.configure(
        processors=[*processors, _kept_with_its_step, *renderers],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        # Looked up for each line: live progress replaces sys.stderr while it runs.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )


def _import_structlog() -> None:
    """Import structlog without rich, which it would use for tracebacks: ours are plain.

    Together they take longer to import than many a command. rich can be imported afterwards, as by what draws.
    """
    if "structlog" in sys.modules or "rich" in sys.modules:
        return
    # To Python, that is a package that is not installed.
    sys.modules["rich"] = None  # type: ignore[assignment]  # as the documentation of sys.modules has it
    try:
        import structlog  # noqa: F401
    finally:
        del sys.modules["rich"]


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


def _renderers(log_format: str) -> list[Any]:
    import structlog

    if log_format == "json":
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    if log_format == "console":
        # The default formatter shows the local variables of every frame, secrets among them.
        plain = structlog.dev.plain_traceback
        return [
            _on_one_line,
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain),
            _encodable,
        ]
    problem = Problem(
        path="settings.log_format",
        message=f"expected console or json, got {log_format!r}",
        hint="set it in isotherm.toml or as ISOTHERM_LOG_FORMAT",
    )
    raise InvalidInput([problem])
