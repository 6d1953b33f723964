"""The resources that software configs and deployments belong to."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"

_TABLES = ("software_config", "software_deployment")


def upgrade() -> None:
    for table in _TABLES:
        op.add_column(table, sa.Column("resource_id", sa.Text()))
    op.create_index("ix_software_config_resource_id", "software_config", ["resource_id"])


def downgrade() -> None:
    op.drop_index("ix_software_config_resource_id", "software_config")
    for table in _TABLES:
        op.drop_column(table, "resource_id")
