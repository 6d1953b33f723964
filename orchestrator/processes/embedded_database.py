"""The database of embedded mode: made where it is not there yet, and brought up to date."""

from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.store.store import Store


def prepare_database(settings: Settings, store: Store) -> None:
    """Make the state directory and the database's schema, where they are not there or are older.

    Raises:
        Unavailable: they cannot be made.
    """
    # Alembic is slow to import, and only embedded mode needs it.
    from orchestrator.store import migrations

    url = settings.effective_database_url
    if not store.database.postgres:
        try:
            settings.state_directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Unavailable(
                f"cannot make the state directory {settings.state_directory}: {error}"
            ) from error
    if migrations.current(url) != migrations.head():
        migrations.upgrade(url)
