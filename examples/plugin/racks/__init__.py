"""A package that joins in: a lifecycle plugin, an event sink, and a resource type that reads what the plugin said."""
