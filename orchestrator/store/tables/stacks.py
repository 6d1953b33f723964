"""Stacks: their templates and files, resources, snapshots, and the annotations of lifecycle plugins."""

import sqlalchemy as sa

from orchestrator.store.tables.schema import PartialIndex, Sentence, Words, metadata

stack = sa.Table(
    "stack",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("project", sa.Text, nullable=False),
    sa.Column("parent_id", sa.Text),
    #: The id of the resource row in the parent stack that this stack belongs to.
    sa.Column("parent_resource", sa.Text),
    #: The outermost stack that this one is nested in; its own id if it is not nested.
    sa.Column("root_id", sa.Text, nullable=False, server_default=""),
    #: How many stacks it is nested in.
    sa.Column("depth", sa.Integer, nullable=False, server_default="0"),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", Sentence, nullable=False, server_default=""),
    #: The traversal in force.
    sa.Column("traversal_id", sa.Text, nullable=False),
    sa.Column("template_id", sa.Text, nullable=False),
    #: The last template that completed: the target of a rollback.
    sa.Column("completed_template_id", sa.Text),
    sa.Column("in_service", sa.Boolean, nullable=False, server_default=sa.false()),
    #: The last traversal that gave it a definition; its nodes tell which rows are left over.
    sa.Column("defining_traversal_id", sa.Text),
    #: The names of the resources that are not as its definition has them, after an update with targets.
    sa.Column("partial", Words, nullable=False, server_default="[]"),
    sa.Column("timeout_minutes", sa.Double, nullable=False),
    #: The user's tags, in their order.
    sa.Column("tags", Words, nullable=False, server_default="[]"),
    #: Whether the last definition was to be rolled back on failure.
    sa.Column("rollback", sa.Boolean, nullable=False, server_default=sa.false()),
    #: Whether an operator protects the stack itself against deletion.
    sa.Column("protected", sa.Boolean, nullable=False, server_default=sa.false()),
    #: How often the protection of it, of its resources, or of anything nested in it was changed: 0 if nothing ever was
    #: protected there. An operation that was planned by an older number does not begin.
    sa.Column("protections", sa.Integer, nullable=False, server_default="0"),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
    sa.Column("deleted_at", sa.Double),
    # A name is free again once its stack is deleted.
    PartialIndex("ux_stack_name", "project", "name", unique=True, where="deleted_at IS NULL"),
    # Deleted stacks are found by name too, and by the time of their deletion.
    sa.Index("ix_stack_project_name_deleted_at", "project", "name", "deleted_at"),
    PartialIndex("ix_stack_deleted_at", "deleted_at", where="deleted_at IS NOT NULL"),
    sa.Index("ix_stack_parent_id", "parent_id"),
    sa.Index("ix_stack_traversal_id", "traversal_id"),
    sa.Index("ix_stack_root_id", "root_id"),
)

#: Files, by the SHA-256 of their content.
file = sa.Table(
    "file",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
    #: When it was last saved. An operation that saved it may be about to refer to it, so a purge spares it for a while.
    sa.Column("saved_at", sa.Double, nullable=False, server_default="0"),
)

#: Templates with their environments, parameters and files (by digest), by the SHA-256 of all of these.
template = sa.Table(
    "template",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
    #: As of ``file``.
    sa.Column("saved_at", sa.Double, nullable=False, server_default="0"),
)

resource = sa.Table(
    "resource",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("stack_id", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    #: The names that it had before it was moved, oldest first; the first is the one that its object was made by.
    sa.Column("former_names", Words, nullable=False, server_default="[]"),
    #: Where it was moved since its stack was complete: its name at that time, to which a rollback returns.
    sa.Column("complete_name", sa.Text),
    #: The stack that its object was made in, with its name, if it was moved out of it.
    sa.Column("made_stack_id", sa.Text),
    sa.Column("made_stack_name", sa.Text),
    #: Where it was moved between stacks: a definition of the outermost one that was complete, and the path of the
    #: resource by it, to which a rollback to that definition returns.
    sa.Column("complete_template_id", sa.Text),
    sa.Column("complete_path", sa.Text),
    #: When it was moved between stacks last.
    sa.Column("transferred_at", sa.Double),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False, server_default="INIT"),
    sa.Column("status", sa.Text, nullable=False, server_default="COMPLETE"),
    sa.Column("reason", Sentence, nullable=False, server_default=""),
    sa.Column("physical_id", sa.Text),
    #: The machine that it is on; NULL if it is on none.
    sa.Column("on_node", sa.Text),
    #: The value of ``get_resource``; packed, because it may be a secret (``OS::Heat::RandomString``).
    sa.Column("reference_id", sa.LargeBinary),
    #: The properties last applied, and the SHA-256 of the definition they came from.
    sa.Column("properties", sa.LargeBinary),
    sa.Column("definition_hash", sa.Text),
    #: The attributes that other resources or outputs refer to: [[path, value], ...].
    sa.Column("attributes", sa.LargeBinary),
    #: Ids of the rows that this one requires, as JSON; they order the next deletion.
    sa.Column("requires", sa.Text, nullable=False, server_default="[]"),
    sa.Column("replaces", sa.Text),
    sa.Column("replaced_by", sa.Text),
    sa.Column("metadata", sa.LargeBinary),
    #: The SHA-256 of the metadata that the template gave last, before signals changed them.
    sa.Column("metadata_hash", sa.Text),
    #: Incremented by every signal and every step, so that no signal overwrites metadata that it has not read.
    sa.Column("metadata_version", sa.Integer, nullable=False, server_default="0"),
    #: The resource plugin's private data.
    sa.Column("data", sa.LargeBinary),
    #: The state that the action under way keeps for its next step.
    sa.Column("token", sa.LargeBinary),
    #: The template whose definition was last applied or is being applied.
    sa.Column("template_id", sa.Text, nullable=False),
    #: When the action under way was first claimed.
    sa.Column("started_at", sa.Double, nullable=False, server_default="0"),
    #: Marked unhealthy by an operator: the next update replaces it, whatever its status.
    sa.Column("unhealthy", sa.Boolean, nullable=False, server_default=sa.false()),
    #: Protected by an operator: no operation deletes or replaces it without permission.
    sa.Column("protected", sa.Boolean, nullable=False, server_default=sa.false()),
    #: The node with the definition that was planned for it last.
    sa.Column("planned_traversal", sa.Text),
    sa.Column("planned_no", sa.Integer),
    #: The node with the definition that was last applied completely.
    sa.Column("applied_traversal", sa.Text),
    sa.Column("applied_no", sa.Integer),
    sa.Column("lock_traversal", sa.Text),
    sa.Column("lock_no", sa.Integer),
    sa.Column("lock_attempt", sa.Integer),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
    sa.Index("ix_resource_stack_id_name", "stack_id", "name"),
    # Most resources are on no machine.
    PartialIndex("ix_resource_on_node", "on_node", where="on_node IS NOT NULL"),
    # Nor was moved between stacks.
    PartialIndex("ix_resource_transferred_at", "transferred_at", where="transferred_at IS NOT NULL"),
)


def is_partial() -> sa.ColumnElement[bool]:
    """Return the condition that an update with targets has left something of a stack."""
    return stack.c.partial != sa.literal("[]", sa.Text)


def is_gone() -> sa.ColumnElement[bool]:
    """Return the condition that a resource is deleted."""
    return (resource.c.action == "DELETE") & (resource.c.status == "COMPLETE")


snapshot = sa.Table(
    "snapshot",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("stack_id", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False, server_default=""),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", Sentence, nullable=False, server_default=""),
    #: The definition that the stack had when it was taken.
    sa.Column("template_id", sa.Text, nullable=False),
    #: The traversal that takes it.
    sa.Column("traversal_id", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Index("ix_snapshot_stack_id", "stack_id"),
)

#: The resources of snapshots.
snapshot_resource = sa.Table(
    "snapshot_resource",
    metadata,
    sa.Column("snapshot_id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("type", sa.Text, nullable=False),
    #: The data that its resource type returned, packed.
    sa.Column("entry", sa.LargeBinary, nullable=False),
)

#: The last annotations of lifecycle plugins, by the resource's name; those of the stack itself have the name "".
annotation = sa.Table(
    "annotation",
    metadata,
    sa.Column("stack_id", sa.Text, primary_key=True),
    sa.Column("plugin", sa.Text, primary_key=True),
    sa.Column("resource", sa.Text, primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
    # Read by stack and resource, of all plugins.
    sa.Index("ix_annotation_stack_id_resource", "stack_id", "resource"),
)
