"""Doctor checks that what a create writes can be written: the state directory, and the database."""

import os
import tempfile
from pathlib import Path

from orchestrator.config.settings import Settings
from orchestrator.doctor.check import Check
from orchestrator.errors import IsothermError
from orchestrator.store.probing import missing_session_settings, require_writable

#: How much is written for a trial; the file has no name, and is gone at once.
_TRIAL_BYTES = 64 * 1024


def why_not_writable(directory: Path) -> str:
    """Return why nothing can be written into a directory, or made where it is to be; empty if something can."""
    existing = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return f"{existing} is no directory this user can write in"
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(bytes(_TRIAL_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return f"nothing can be written in {existing}: {error.strerror or error}"
    return ""


def database_file(url: str) -> Path | None:
    """Return the file of an SQLite URL; None for another database."""
    scheme, separator, file = url.partition(":///")
    name = file.partition("?")[0]
    return Path(name) if separator and scheme.startswith("sqlite") and name not in ("", ":memory:") else None


def check_database_directory(settings: Settings) -> Check | None:
    """Check that a file with the database can be made or written where it is; None where there is nothing to say."""
    file = database_file(settings.effective_database_url)
    if file is None or not settings.database_url:
        # The default file is in the state directory.
        return None
    directory = file.absolute().parent
    # The state directory is made by the first command; others are not.
    is_made = directory == settings.state_directory.absolute()
    hint = "make the directory, or correct ISOTHERM_DATABASE_URL"
    if not directory.is_dir() and not is_made:
        detail = f"there is no directory {directory} for the database's file"
    else:
        detail = why_not_writable(directory)
        hint = "make room or make it writable, or correct ISOTHERM_DATABASE_URL"
    return Check(name="database", ok=False, detail=detail, hint=hint) if detail else None


def check_writes(settings: Settings) -> Check:
    """Check that the database accepts changes; none is made."""
    hint = "make the database writable for this user; a standby server takes no changes"
    try:
        require_writable(settings.effective_database_url)
    except IsothermError as error:
        return Check(name="database writes", ok=False, detail=str(error), hint=hint, is_service=True)
    return Check(name="database writes", ok=True, detail="changes are accepted")


def check_session(settings: Settings) -> Check | None:
    """Check that connections have the session settings that statements count on; None where nothing is missing."""
    hint = (
        "run what docs/operations.md lists under 'Connections to PostgreSQL', for each user of the database"
    )
    try:
        missing = missing_session_settings(settings.effective_database_url)
    except IsothermError as error:
        return Check(name="database session", ok=False, detail=str(error), hint=hint, is_service=True)
    pairs = ", ".join(f"{name} = {value}" for name, value in missing.items())
    return Check(name="database session", ok=False, detail=f"lacks {pairs}", hint=hint) if missing else None
