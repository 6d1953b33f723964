"""Doctor checks that all processes on the broker fit together: database, version, settings, plugins and clients."""

from collections.abc import Iterator, Mapping, Sequence

from kombu.exceptions import OperationalError

from orchestrator.config.settings import Settings
from orchestrator.doctor.check import PATIENCE_SECONDS, Check
from orchestrator.errors import IsothermError
from orchestrator.queue.celery_app import make_app, read_installation
from orchestrator.queue.installation import setups_on
from orchestrator.queue.setups import MUST_AGREE_IN_AGENTS, Setup

#: The name of the doctor's own process in findings.
HERE = "this command"


def check_agreement(settings: Settings, *, has_database: bool) -> Iterator[Check]:
    """Ask all processes on the broker for their setups, and compare them; the broker must be reachable.

    Without ``has_database``, their databases are not compared with that of this process.
    """
    try:
        installation = read_installation(settings) if has_database else ""
    except IsothermError:
        # Another check reports the schema.
        installation = ""
    try:
        with make_app(settings) as app:
            found = setups_on(app, timeout_seconds=PATIENCE_SECONDS)
    except (OperationalError, OSError):
        return
    if found:
        yield from compare(Setup.of(settings, installation), found, configured=settings.given)


def compare(here: Setup, found: Mapping[str, Setup | None], *, configured: frozenset[str]) -> Iterator[Check]:
    """Yield a check of each subject in which processes must agree; ``configured`` are the settings given here."""
    known = {name: setup for name, setup in found.items() if setup is not None}
    engines = {name: setup for name, setup in known.items() if setup.installation}
    agents = {name: setup for name, setup in known.items() if not setup.installation}
    everywhere = {HERE: here, **engines}
    yield _check(
        "process databases",
        [
            f"{name} has the database of another installation, {setup.installation}"
            for name, setup in engines.items()
            if here.installation and setup.installation != here.installation
        ],
        found,
        hint="give all processes and commands on this broker the same ISOTHERM_DATABASE_URL",
    )
    strange = [f"{name} is of another version" for name, setup in found.items() if setup is None]
    yield _check(
        "process versions",
        [
            *strange,
            *(
                f"{name} has {setup.version}, {HERE} {here.version}"
                for name, setup in known.items()
                if setup.version != here.version
            ),
        ],
        found,
        hint="install the same version everywhere, and restart the processes",
    )
    yield _check(
        "process settings",
        [*_settings(here, engines, configured), *_agents_settings(here, agents, configured)],
        found,
        hint="give all processes the same values",
    )
    yield _check(
        "process plugins",
        _lacking("plugin", {name: setup.plugins for name, setup in everywhere.items()}),
        found,
        hint="install the same packages for all coordinators, workers and commands",
    )
    clients = {name: setup.clients for name, setup in everywhere.items()}
    yield _check(
        "process clients",
        _lacking("settings of the client", clients, tolerant=(HERE,)),
        found,
        hint="give all coordinators and workers the same settings.clients",
    )


def _check(name: str, faults: Sequence[str], found: Mapping[str, object], *, hint: str) -> Check:
    ok = f"{len(found)} processes agree" if len(found) > 1 else "one process, which agrees with this command"
    return Check(name=name, ok=not faults, detail="; ".join(faults) or ok, hint=hint)


def _settings(here: Setup, engines: Mapping[str, Setup], configured: frozenset[str]) -> Iterator[str]:
    """Yield the settings in which engines differ from the first of them, or from those that are given here."""
    if not engines:
        return
    first, reference = next(iter(engines.items()))
    for name, setup in engines.items():
        for setting, digest in setup.settings.items():
            if digest != reference.settings.get(setting, digest):
                yield f"{name} and {first} have different values of {setting}"
            elif setting in configured and digest != here.settings[setting]:
                yield f"{name} and {HERE} have different values of {setting}"


def _agents_settings(here: Setup, agents: Mapping[str, Setup], configured: frozenset[str]) -> Iterator[str]:
    for name, setup in agents.items():
        for setting in MUST_AGREE_IN_AGENTS:
            if setting in configured and setup.settings.get(setting) != here.settings[setting]:
                yield f"{name} and {HERE} have different values of {setting}"


def _lacking(
    what: str, of_each: Mapping[str, Mapping[str, str]], *, tolerant: Sequence[str] = ()
) -> list[str]:
    """Return what some processes lack that others have, or have otherwise; ``tolerant`` ones need not have it."""
    faults = []
    for each in sorted({each for owned in of_each.values() for each in owned}):
        owner, value = next((name, owned[each]) for name, owned in of_each.items() if each in owned)
        for name, owned in of_each.items():
            if each not in owned and name not in tolerant:
                faults.append(f"{name} lacks the {what} {each}, which {owner} has")
            elif owned.get(each, value) != value:
                faults.append(f"{name} and {owner} differ in the {what} {each}")
    return faults
