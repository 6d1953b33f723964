"""Database of embedded mode: created and migrated at the start of a command."""

from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.store.store import Store


def prepare_database(settings: Settings, store: Store) -> None:
    """Create the state directory, and create or migrate the database's schema.

    Raises:
        Unavailable: the state directory or the database cannot be made.
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
