"""The second factor of passwords, and the limits of tokens.

Revision 0045.
"""

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "second_factor",
        sa.Column("person", sa.String(100), sa.ForeignKey("person.name", ondelete="CASCADE"), primary_key=True),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("recovery_codes", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.add_column("token", sa.Column("networks", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("token", sa.Column("daily_limit", sa.Integer(), nullable=True))
    op.add_column("token", sa.Column("used_on", sa.Date(), nullable=True))
    op.add_column("token", sa.Column("used", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    for name in ("used", "used_on", "daily_limit", "networks"):
        op.drop_column("token", name)
    op.drop_table("second_factor")
