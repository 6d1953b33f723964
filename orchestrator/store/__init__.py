"""The state of record, on SQLAlchemy Core: the only SQL of the engine. Nothing here knows a queue or a plugin."""
