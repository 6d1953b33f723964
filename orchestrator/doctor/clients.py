"""Doctor checks of configured clients: whether they can be built, and whether their systems answer.

All systems are probed concurrently, so that many that hang take no longer than one.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from typing import Final

from orchestrator.config.settings import Settings
from orchestrator.doctor.check import Check
from orchestrator.errors import InvalidInput, IsothermError, NotFound, PluginMistake, cut, message_of
from orchestrator.plugins.client_plugin import ClientMisconfigured, ClientPlugin
from orchestrator.plugins.clients import PROJECTS, ClientPlugins, Clients

#: The seconds within which all systems together have to answer.
PATIENCE_SECONDS: Final = 3.0
#: The length to which an error message of a client or a library is cut.
_LONGEST: Final = 300


def check_clients(
    settings: Settings,
    plugins: Mapping[str, type[ClientPlugin]] | None = None,
    *,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Iterator[Check]:
    """Check each configured client, for this project and for those that have settings of their own.

    All systems together have to answer within ``patience_seconds``.
    """
    try:
        installed = ClientPlugins.load() if plugins is None else ClientPlugins(plugins)
    except PluginMistake as error:
        hint = "install the package again (pip install isotherm), or remove the plugin that is named"
        yield Check(name="clients", ok=False, detail=str(error), hint=hint)
        return
    count = len(settings.clients)
    yield Check(name="clients", ok=True, detail=f"{len(installed)} plugins installed, {count} configured")
    for name, kind in installed.items():
        if name in settings.clients and kind.section() != name:
            yield Check(
                name=f"client {name}",
                ok=False,
                detail=f"its settings are those of {kind.section()}: settings.clients.{name} is never read",
                hint=f"move its settings to settings.clients.{kind.section()}",
            )
    clients = Clients(settings, installed)
    probes = [
        _Probe(clients, name, project, of_this=project == settings.project)
        for name in sorted(settings.clients)
        if name not in installed or installed[name].section() == name
        for project in _projects(settings, name)
    ]
    until = time.monotonic() + patience_seconds
    for probe in probes:
        probe.start()
    for probe in probes:
        yield probe.check(until - time.monotonic(), patience_seconds)


def _projects(settings: Settings, name: str) -> list[str]:
    own = settings.clients[name].get(PROJECTS, {})
    return (
        [settings.project, *sorted(set(own) - {settings.project})]
        if isinstance(own, Mapping)
        else [settings.project]
    )


class _Probe:
    """The probe of one client, on a daemon thread of its own, because a library that hangs cannot be stopped."""

    def __init__(self, clients: Clients, client: str, project: str, *, of_this: bool) -> None:
        self._clients, self._client, self._project = clients, client, project
        self._name = f"client {client}" if of_this else f"client {client} of project {project}"
        self._thread = threading.Thread(target=self._run, name=f"probe of {client}", daemon=True)
        self._found: Check | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def check(self, wait_seconds: float, patience_seconds: float) -> Check:
        """Return the finding, or a fault if there is none within ``wait_seconds``."""
        self._thread.join(max(0.0, wait_seconds))
        return self._found or Check(
            name=self._name,
            ok=False,
            detail=f"did not answer within {patience_seconds:g} s",
            hint=f"see whether the system is well, and whether settings.clients.{self._client} points at it",
            is_service=True,
        )

    def _run(self) -> None:
        hint = f"correct settings.clients.{self._client}"
        try:
            client = self._clients.of(self._project).get(self._client)
        except NotFound as error:
            hint = "correct the name in settings.clients, or install the package that brings it"
            self._found = self._wrong(str(error), hint)
        except InvalidInput as error:
            # The fault may also be in the settings of its cache.
            remedy = hint if isinstance(error, ClientMisconfigured) else "correct the setting"
            self._found = self._wrong("; ".join(map(str, error.problems)), remedy)
        except IsothermError as error:
            self._found = self._wrong(str(error), hint)
        except Exception as error:  # noqa: BLE001  # a third-party plugin: its fault must not hide the next
            self._found = self._wrong(
                f"the plugin failed: {_message(error)}", "report it to the plugin's authors"
            )
        else:
            self._found = self._answer(client, hint)

    def _answer(self, client: ClientPlugin, hint: str) -> Check:
        try:
            found = client.probe()
        except InvalidInput as error:
            return self._wrong(str(error), hint)
        except Exception as error:  # noqa: BLE001  # every library has errors of its own
            hint = f"see whether the system is well, and whether settings.clients.{self._client} points at it"
            return self._wrong(f"cannot be queried: {_message(error)}", hint, is_service=True)
        return Check(
            name=self._name, ok=True, detail=found or "can be built; it has no probe of whether it answers"
        )

    def _wrong(self, detail: str, hint: str, *, is_service: bool = False) -> Check:
        return Check(name=self._name, ok=False, detail=detail, hint=hint, is_service=is_service)


def _message(error: Exception) -> str:
    return cut(" ".join(message_of(error).split()), _LONGEST)
