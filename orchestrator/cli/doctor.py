"""``isotherm doctor``: checks of an installation, each with its finding and a remedy."""

from dataclasses import asdict
from typing import Final

import click

from orchestrator.cli.errors import BAD_INPUT, DONE, UNREACHABLE
from orchestrator.cli.formats import Table, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell

#: The width of the table in a pipe: its sentences are long.
_COLUMNS: Final = 120


@shell_command("isotherm doctor", "isotherm doctor -f json")
def doctor(shell: Shell, form: str) -> None:
    """Check the installation, and suggest remedies.

    Checks the settings and everything they point at: directories, keys, lifecycle plugins, event sinks and their
    backlogs, database, cache, broker, processes.
    Ends with 0 if all is well, 3 if a service cannot be reached, 2 if anything else is wrong.
    """
    from orchestrator.doctor.report import checks

    found = list(checks(shell.settings))
    rows = [
        (check.name, "ok" if check.ok else "wrong", check.detail, "" if check.ok else check.hint)
        for check in found
    ]
    show(
        form,
        [asdict(check) for check in found],
        Table(columns=("check", "state", "detail", "what to do"), rows=rows, folded_to=_COLUMNS),
    )
    wrong = [check for check in found if not check.ok]
    code = UNREACHABLE if any(check.is_service for check in wrong) else BAD_INPUT
    raise click.exceptions.Exit(code if wrong else DONE)
