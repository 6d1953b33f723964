"""Outputs that other stacks read: who reads them, and which projects may."""

import sqlalchemy as sa

from orchestrator.store.tables.schema import PartialIndex, metadata

#: A resource that reads an output of another stack. It counts as long as the resource's row is not deleted.
output_reader = sa.Table(
    "output_reader",
    metadata,
    sa.Column("resource_id", sa.Text, primary_key=True),
    #: The stack of the resource, and the outermost one that this is nested in.
    sa.Column("stack_id", sa.Text, nullable=False),
    sa.Column("root_id", sa.Text, nullable=False),
    #: The stack whose output it reads; never a nested one.
    sa.Column("source_id", sa.Text, nullable=False),
    sa.Column("output", sa.Text, nullable=False),
    #: Whether the output has, or may have, another value than the resource has read.
    sa.Column("stale", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Index("ix_output_reader_source_id", "source_id"),
    sa.Index("ix_output_reader_root_id", "root_id"),
    PartialIndex("ix_output_reader_stale", "stack_id", where="stale"),
)

#: An output that the stacks of another project may read.
output_share = sa.Table(
    "output_share",
    metadata,
    sa.Column("stack_id", sa.Text, primary_key=True),
    sa.Column("output", sa.Text, primary_key=True),
    sa.Column("project", sa.Text, primary_key=True),
    sa.Column("created_at", sa.Double, nullable=False),
)
