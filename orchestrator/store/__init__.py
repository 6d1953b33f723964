"""The state of record, on SQLAlchemy Core. Nobody else builds SQL, and nothing in here knows a queue or a plugin."""
