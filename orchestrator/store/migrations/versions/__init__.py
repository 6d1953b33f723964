"""The revisions of the schema, one file each."""
