"""Alembic's environment: runs the migrations in the transaction that the caller opened."""

from alembic import context

from orchestrator.store.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
context.run_migrations()
