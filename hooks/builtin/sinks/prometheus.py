"""The event sink ``prometheus``: counters for Prometheus, each event counted once."""

import copy
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import structlog
from pydantic import Field, field_validator

from hooks.builtin.sinks.totals import Totals
from hooks.events import Event, EventSink
from hooks.options import HookOptions

log = structlog.get_logger()


class PrometheusOptions(HookOptions):
    """The options of the sink ``prometheus``; at least one of the two."""

    listen: str = Field(
        default="",
        description="The address that Prometheus scrapes: `127.0.0.1:9464`, or `[::1]:9464`. Only the "
        "process that holds the sink listens there. Every client that reaches it may read, so use loopback "
        "or a private network.",
    )
    textfile: Path | None = Field(
        default=None,
        description="A file for the textfile collector of node_exporter, replaced atomically whenever a "
        "counter has changed. An absolute path that ends with `.prom`.",
    )

    @field_validator("listen")
    @classmethod
    def _address(cls, listen: str) -> str:
        if listen:
            parsed_address(listen)
        return listen

    @field_validator("textfile")
    @classmethod
    def _collected(cls, textfile: Path | None) -> Path | None:
        if textfile is not None and not (textfile.is_absolute() and textfile.suffix == ".prom"):
            raise ValueError("expected an absolute path that ends with .prom")
        return textfile


def parsed_address(listen: str) -> tuple[str, int]:
    """Return host and port.

    Raises:
        ValueError: the text is not both.
    """
    host, colon, port = listen.rpartition(":")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) <= 65535):
        raise ValueError("expected HOST:PORT, for example 127.0.0.1:9464")
    return host.removeprefix("[").removesuffix("]"), int(port)


class PrometheusSink(EventSink):
    """Counts events, and exposes the counts once they are on record."""

    description: ClassVar[str] = "Counts events for Prometheus, to be asked for or in a file."
    enabled_by_default: ClassVar[bool] = False
    Options: ClassVar[type[HookOptions]] = PrometheusOptions
    options: PrometheusOptions

    def __init__(self, options: PrometheusOptions) -> None:
        super().__init__(options)
        if not options.listen and options.textfile is None:
            raise ValueError("expected listen or textfile, or both: nobody could read what is counted")
        if importlib.util.find_spec("prometheus_client") is None:
            raise ValueError("prometheus-client is not installed: pip install 'isotherm[prometheus]'")
        self._totals = Totals()
        self._saved = Totals()
        self._exposed: _Exposed | None = None

    def restore(self, state: bytes) -> None:
        """Continue from the totals on record, and expose them.

        Raises:
            OSError: another process listens on the address, or the file cannot be written.
        """
        try:
            self._totals = Totals.from_bytes(state) if state else Totals()
        except ValueError as error:
            # Prometheus recognizes a counter that restarts.
            log.warning("counters begin again at zero", sink=self.name, error=str(error))
            self._totals = Totals()
        self._saved = copy.deepcopy(self._totals)
        try:
            self.kept()
        except OSError:
            # A sink that was not made is not closed: its socket would stay open.
            self.close()
            raise

    def consume(self, events: Sequence[Event]) -> None:
        """Count events that were not counted before.

        Raises:
            OSError: another process listens on the address.
        """
        self._open()
        self._totals.count(events)

    def save(self) -> bytes:
        """Return the totals."""
        self._saved = copy.deepcopy(self._totals)
        return self._totals.to_bytes()

    def kept(self) -> None:
        """Expose the saved totals: an exposed count never decreases, whatever process dies.

        Raises:
            OSError: the file cannot be written.
        """
        self._open().show(self._saved)

    def close(self) -> None:
        """Stop listening; a text file stays as it is."""
        exposed, self._exposed = self._exposed, None
        if exposed is not None:
            exposed.close()

    def _open(self) -> "_Exposed":
        if self._exposed is None:
            self._exposed = _Exposed(self.options)
        return self._exposed


class _Exposed:
    def __init__(self, options: PrometheusOptions) -> None:
        from prometheus_client import CollectorRegistry, start_http_server

        from hooks.builtin.sinks.exposition import TotalsCollector

        self._textfile = options.textfile
        self._collector = TotalsCollector()
        self._registry = CollectorRegistry()
        self._registry.register(self._collector)
        self._server: Any = None
        if options.listen:
            host, port = parsed_address(options.listen)
            self._server, self._thread = start_http_server(port, host, self._registry)

    def show(self, totals: Totals) -> None:
        self._collector.totals = totals
        if self._textfile is not None:
            from prometheus_client import write_to_textfile

            write_to_textfile(str(self._textfile), self._registry)

    def close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
