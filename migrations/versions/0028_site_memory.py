"""What a source's sites repeat on their pages, host by host.

Revision 0028.
"""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "site_memory",
        sa.Column("source_id", sa.Integer(), sa.ForeignKey("source.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("host", sa.Text(), primary_key=True),
        sa.Column("pages", sa.JSON(), nullable=False),
        sa.Column("repeats", sa.JSON(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("site_memory")
