"""Stacks: their templates and files, resources, snapshots, and the annotations of lifecycle plugins."""

import sqlalchemy as sa

from orchestrator.store.tables.schema import Words, metadata, partial_index

stack = sa.Table(
    "stack",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("project", sa.Text, nullable=False),
    sa.Column("parent_id", sa.Text),
    #: The id of the parent's row that this stack is.
    sa.Column("parent_resource", sa.Text),
    #: The outermost of the stacks that this one is in; its own id if it is in none.
    sa.Column("root_id", sa.Text, nullable=False, server_default=""),
    #: How many stacks it is in.
    sa.Column("depth", sa.Integer, nullable=False, server_default="0"),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False, server_default=""),
    #: The traversal in force.
    sa.Column("traversal_id", sa.Text, nullable=False),
    sa.Column("template_id", sa.Text, nullable=False),
    #: The last template that completed: where a rollback goes.
    sa.Column("completed_template_id", sa.Text),
    sa.Column("in_service", sa.Boolean, nullable=False, server_default=sa.false()),
    #: The last traversal that gave it a definition: its nodes know which rows are left over.
    sa.Column("defining_traversal_id", sa.Text),
    sa.Column("timeout_minutes", sa.Double, nullable=False),
    #: Words that people put on it, in their order.
    sa.Column("tags", Words, nullable=False, server_default="[]"),
    #: Whether the last definition that was given was to be rolled back if it failed.
    sa.Column("rollback", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
    sa.Column("deleted_at", sa.Double),
    # A name is free again once its stack is deleted; a child stack's name belongs to its parent.
    partial_index("ux_stack_name", "project", "name", unique=True, where="deleted_at IS NULL"),
    # Deleted ones are found by name too, and by when they were deleted.
    sa.Index("ix_stack_project_name_deleted_at", "project", "name", "deleted_at"),
    partial_index("ix_stack_deleted_at", "deleted_at", where="deleted_at IS NOT NULL"),
    sa.Index("ix_stack_parent_id", "parent_id"),
    sa.Index("ix_stack_traversal_id", "traversal_id"),
    sa.Index("ix_stack_root_id", "root_id"),
)

#: A file's content, under the SHA-256 of it.
file = sa.Table(
    "file",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
    #: When it was last saved: whoever saved it may be about to refer to it.
    sa.Column("saved_at", sa.Double, nullable=False, server_default="0"),
)

#: A template with its environment, parameters and files (by digest), under the SHA-256 of all of it.
template = sa.Table(
    "template",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
    #: As of a file.
    sa.Column("saved_at", sa.Double, nullable=False, server_default="0"),
)

resource = sa.Table(
    "resource",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("stack_id", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False, server_default="INIT"),
    sa.Column("status", sa.Text, nullable=False, server_default="COMPLETE"),
    sa.Column("reason", sa.Text, nullable=False, server_default=""),
    sa.Column("physical_id", sa.Text),
    #: The node that it is on; NULL for what is on none.
    sa.Column("on_node", sa.Text),
    #: What get_resource resolves to; packed, for it may be a secret (``OS::Heat::RandomString``).
    sa.Column("reference_id", sa.LargeBinary),
    #: The properties last applied, and the SHA-256 of the definition they came from.
    sa.Column("properties", sa.LargeBinary),
    sa.Column("definition_hash", sa.Text),
    #: Attributes that others or outputs ask for: [[path, value], ...].
    sa.Column("attributes", sa.LargeBinary),
    #: Ids of the rows this one depends on, as JSON: the order of the next deletion.
    sa.Column("requires", sa.Text, nullable=False, server_default="[]"),
    sa.Column("replaces", sa.Text),
    sa.Column("replaced_by", sa.Text),
    sa.Column("metadata", sa.LargeBinary),
    #: The SHA-256 of the metadata that the template gave last, whatever signals made of them since.
    sa.Column("metadata_hash", sa.Text),
    #: Raised by every signal and every step, so that no signal writes over what it has not seen.
    sa.Column("metadata_version", sa.Integer, nullable=False, server_default="0"),
    #: A plugin's private facts.
    sa.Column("data", sa.LargeBinary),
    #: What the action under way left behind for its next step.
    sa.Column("token", sa.LargeBinary),
    #: The template whose definition was last applied or is being applied.
    sa.Column("template_id", sa.Text, nullable=False),
    #: When the action under way was first claimed.
    sa.Column("started_at", sa.Double, nullable=False, server_default="0"),
    #: Somebody said so: the next update replaces it, whatever it looks like.
    sa.Column("unhealthy", sa.Boolean, nullable=False, server_default=sa.false()),
    #: The node with the definition that it is to have, or was to have before nobody wanted it any more.
    sa.Column("planned_traversal", sa.Text),
    sa.Column("planned_no", sa.Integer),
    #: The node with the definition that was last applied to its end.
    sa.Column("applied_traversal", sa.Text),
    sa.Column("applied_no", sa.Integer),
    sa.Column("lock_traversal", sa.Text),
    sa.Column("lock_no", sa.Integer),
    sa.Column("lock_attempt", sa.Integer),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
    sa.Index("ix_resource_stack_id_name", "stack_id", "name"),
    # Most resources are on none.
    partial_index("ix_resource_on_node", "on_node", where="on_node IS NOT NULL"),
)

snapshot = sa.Table(
    "snapshot",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("stack_id", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False, server_default=""),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False, server_default=""),
    #: The definition that the stack had.
    sa.Column("template_id", sa.Text, nullable=False),
    #: The traversal that makes it.
    sa.Column("traversal_id", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Index("ix_snapshot_stack_id", "stack_id"),
)

#: What a snapshot holds of each resource.
snapshot_resource = sa.Table(
    "snapshot_resource",
    metadata,
    sa.Column("snapshot_id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("type", sa.Text, nullable=False),
    #: What its type left behind, packed.
    sa.Column("entry", sa.LargeBinary, nullable=False),
)

#: What lifecycle plugins said last of a stack's resources, by the resource's name; of the stack itself under "".
annotation = sa.Table(
    "annotation",
    metadata,
    sa.Column("stack_id", sa.Text, primary_key=True),
    sa.Column("plugin", sa.Text, primary_key=True),
    sa.Column("resource", sa.Text, primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
    # Asked for by stack and resource, whatever the plugin.
    sa.Index("ix_annotation_stack_id_resource", "stack_id", "resource"),
)
