"""What each person has read and keeps for later, and their saved views of the items.

Revision 0031.
"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("person", sa.Column("read_until", sa.DateTime(timezone=True), nullable=True))
    op.execute("UPDATE person SET read_until = looked_at")
    for table, column in (("item_read", sa.Column("is_read", sa.Boolean(), nullable=False)), ("item_later", None)):
        op.create_table(
            table,
            sa.Column("person", sa.String(100), primary_key=True),
            sa.Column("item_id", sa.Integer(), sa.ForeignKey("item.id", ondelete="CASCADE"), primary_key=True),
            *([column] if column is not None else []),
            sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        )
        op.create_index(f"ix_{table}_item_id", table, ["item_id"])
    op.create_table(
        "saved_view",
        sa.Column("person", sa.String(100), primary_key=True),
        sa.Column("name", sa.String(60), primary_key=True),
        sa.Column("filters", sa.JSON(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    for table in ("saved_view", "item_later", "item_read"):
        op.drop_table(table)
    op.drop_column("person", "read_until")
