"""The database of a distributed installation, which no process may take for granted."""

from typing import TYPE_CHECKING

from orchestrator.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from orchestrator.config.settings import Settings


def require_shared_database(settings: "Settings") -> None:
    """Refuse a broker without a database: the file that would be used instead is of this machine and user alone.

    Raises:
        InvalidInput: a broker is configured, and no database.
    """
    if settings.embedded or settings.database_url:
        return
    problem = Problem(
        path="settings.database_url",
        message="there is a broker, and no database: all processes on a broker share one, and the default, a file in "
        "the state directory, is not shared",
        hint="set ISOTHERM_DATABASE_URL, for example postgresql://isotherm@localhost:5432/isotherm",
    )
    raise InvalidInput([problem])
