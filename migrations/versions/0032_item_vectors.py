"""Vectors of items, for searches by meaning.

Revision 0032.
"""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "item_vector",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("item_id", sa.Integer(), sa.ForeignKey("item.id", ondelete="CASCADE"), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("signs", sa.LargeBinary(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_item_vector_item", "item_vector", ["item_id", "model"], unique=True)
    op.create_index("ix_item_vector_model", "item_vector", ["model", "id"])


def downgrade() -> None:
    op.drop_table("item_vector")
