"""What the latest look at an item's page saw, and the revisions of items.

Revision 0005, after 0004.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "item_sight",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("looked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("page", sa.JSON(), nullable=False),
        sa.Column("standing", sa.String(length=32), nullable=False),
        sa.Column("doubt", sa.String(length=32), nullable=True),
        sa.Column("failure", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("item_id"),
    )
    op.create_table(
        "revision",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("edits", sa.JSON(), nullable=False),
        sa.Column("more_edits", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("before_text", sa.Text(), nullable=False),
        sa.Column("before_sha256", sa.String(), nullable=True),
        sa.Column("after_sha256", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_revision_item_id", "revision", ["item_id"])
    op.create_index("ix_revision_seen_at", "revision", ["seen_at"])


def downgrade() -> None:
    op.drop_table("revision")
    op.drop_table("item_sight")
