"""The hosts that a stored secret is for; None for those of version 0.1.0, which are bound when they are first loaded.

Revision 0018.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("stored_setting") as setting:
        setting.add_column(sa.Column("hosts", sa.JSON(), nullable=True))
        setting.add_column(sa.Column("is_host_assumed", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    with op.batch_alter_table("stored_setting") as setting:
        setting.drop_column("is_host_assumed")
        setting.drop_column("hosts")
