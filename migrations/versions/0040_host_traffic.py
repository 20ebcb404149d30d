"""How many requests each host got on each day, and how many were not made because the day's were used up.

Revision 0040.
"""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "host_traffic",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("host", sa.String(300), nullable=False),
        sa.Column("requests", sa.Integer(), nullable=False),
        sa.Column("refused", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("day", "host", name="pk_host_traffic"),
    )


def downgrade() -> None:
    op.drop_table("host_traffic")
