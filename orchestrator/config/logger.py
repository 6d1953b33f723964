"""The logger of the engine: structlog's, which is imported with the first line that is written.

structlog imports asyncio and much else, and most commands write no line.
"""

import logging
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Final

_STRUCTLOG: Final = "structlog"
_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "exception": logging.ERROR,
    "critical": logging.CRITICAL,
}

#: Lines below it are not written. Replaced as a whole by what configures the log.
_threshold = logging.NOTSET


class _Logger:
    """structlog's logger, as it is configured when a line is logged."""

    def __getattr__(self, method: str) -> Any:
        if _STRUCTLOG not in sys.modules and _LEVELS.get(method, logging.CRITICAL) < _threshold:
            return _write_nothing
        import structlog

        return getattr(structlog.get_logger(), method)


def _write_nothing(*_: object, **__: object) -> None:
    pass


def get_logger() -> Any:
    """Return the logger: what ``structlog.get_logger()`` returns, but nothing is imported until a line is written."""
    return _Logger()


def configure_structlog(configure: Callable[[], None], *, level: int) -> None:
    """Configure structlog by a function: now, or when it is imported, by whatever module that is.

    Until then, lines below ``level`` are dropped; after that, the function's configuration decides.
    """
    global _threshold  # noqa: PLW0603  # one for the process
    _threshold = level
    sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, _Finder)]
    if _STRUCTLOG in sys.modules:
        configure()
    else:
        sys.meta_path.insert(0, _Finder(configure))


def is_configured() -> bool:
    """Return whether structlog is configured, or will be when it is imported."""
    if _STRUCTLOG not in sys.modules:
        return any(isinstance(each, _Finder) for each in sys.meta_path)
    import structlog

    return structlog.is_configured()


class _Finder:
    """Finds structlog on the import path, and has it configured after its import."""

    def __init__(self, configure: Callable[[], None]) -> None:
        self._configure = configure

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _STRUCTLOG:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            loader: Any = _Loader(spec.loader, self._configure)
            spec.loader = loader
        return spec


class _Loader:
    """A module's own loader, but for what follows the execution of its code."""

    def __init__(self, inner: Any, configure: Callable[[], None]) -> None:
        self._inner, self._configure = inner, configure

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def exec_module(self, module: ModuleType) -> None:
        self._execute(module)
        self._configure()

    def _execute(self, module: ModuleType) -> None:
        """Import structlog without rich, which it would use for tracebacks: ours are plain.

        Together they take longer to import than many a command. rich can be imported afterwards, as by what draws.
        """
        if "rich" in sys.modules:
            self._inner.exec_module(module)
            return
        # To Python, that is a package that is not installed.
        sys.modules["rich"] = None  # type: ignore[assignment]  # as the documentation of sys.modules has it
        try:
            self._inner.exec_module(module)
        finally:
            del sys.modules["rich"]
