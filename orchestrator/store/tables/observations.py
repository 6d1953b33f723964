"""Observations of stacks: policies, the turns of observations, and the drift that they found."""

import sqlalchemy as sa

from orchestrator.store.tables.schema import PartialIndex, Sentence, metadata

#: The observation of a stack that is not nested in another: its policy, its turns, its repairs.
observation = sa.Table(
    "observation",
    metadata,
    sa.Column("stack_id", sa.Text, primary_key=True),
    #: The fields of the policy, as JSON.
    sa.Column("policy", sa.Text, nullable=False, server_default="{}"),
    #: When an observation is begun next, or begun again should its worker be lost; NULL: never.
    sa.Column("due_at", sa.Double),
    #: The attempt that was begun last, the fence of its end; and the one that ended last.
    sa.Column("attempt", sa.Integer, nullable=False, server_default="0"),
    sa.Column("ended_attempt", sa.Integer, nullable=False, server_default="0"),
    #: When the stack was last observed as a whole.
    sa.Column("observed_at", sa.Double),
    #: Why the last attempt observed nothing, or not all; empty if it observed all.
    sa.Column("trouble", Sentence, nullable=False, server_default=""),
    #: The repairs of the last day, as JSON: [[the resource's path, when], ...].
    sa.Column("repairs", sa.Text, nullable=False, server_default="[]"),
    #: The traversal in force when a repair was decided; an update in its place is due. NULL: none is.
    sa.Column("repair_traversal", sa.Text),
    PartialIndex("ix_observation_due_at", "due_at", where="due_at IS NOT NULL"),
    PartialIndex("ix_observation_repair_traversal", "stack_id", where="repair_traversal IS NOT NULL"),
)

#: The differences between resources and their objects, each as long as it lasts.
drift = sa.Table(
    "drift",
    metadata,
    sa.Column("resource_id", sa.Text, primary_key=True),
    #: The path of the property; empty: the object is gone.
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("stack_id", sa.Text, nullable=False),
    #: The outermost stack.
    sa.Column("root_id", sa.Text, nullable=False),
    #: The name of the resource, with those of the resources that it is nested in before it, separated by slashes.
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    #: Both values, packed, because they may be anything that a property may be.
    sa.Column("finding", sa.LargeBinary, nullable=False),
    sa.Column("since", sa.Double, nullable=False),
    sa.Column("seen_at", sa.Double, nullable=False),
    #: How many observations found it.
    sa.Column("times", sa.Integer, nullable=False, server_default="1"),
    #: What is done about it, and why.
    sa.Column("standing", sa.Text, nullable=False),
    sa.Column("why", Sentence, nullable=False, server_default=""),
    sa.Index("ix_drift_root_id", "root_id"),
    sa.Index("ix_drift_stack_id", "stack_id"),
)
