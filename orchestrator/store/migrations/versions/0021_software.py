"""Software configs and deployments."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.create_table(
        "software_config",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("definition", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_software_config")),
    )
    op.create_index("ix_software_config_project_created_at", "software_config", ["project", "created_at"])
    op.create_table(
        "software_deployment",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("config_id", sa.Text(), nullable=False),
        sa.Column("server_id", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), server_default="", nullable=False),
        sa.Column("status", sa.Text(), server_default="", nullable=False),
        sa.Column("status_reason", sa.Text(), server_default="", nullable=False),
        sa.Column("input_values", sa.LargeBinary(), nullable=False),
        sa.Column("output_values", sa.LargeBinary(), nullable=False),
        sa.Column("stack_user_project_id", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_software_deployment")),
    )
    op.create_index(
        "ix_software_deployment_project_server_id", "software_deployment", ["project", "server_id"]
    )
    op.create_index("ix_software_deployment_config_id", "software_deployment", ["config_id"])


def downgrade() -> None:
    op.drop_table("software_deployment")
    op.drop_table("software_config")
