"""Briefings that are kept of what people look at, and to whom and how whole a delivery goes.

Revision 0023.
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "kept_briefing",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("query", sa.JSON(), nullable=False),
        sa.Column("stage", sa.String(length=32), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("briefing", sa.JSON(), nullable=True),
        sa.Column("composed_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_index("ix_kept_briefing_updated_at", "kept_briefing", ["updated_at"])
    op.add_column("delivery", sa.Column("test_to", sa.String(length=320), nullable=True))


def downgrade() -> None:
    op.drop_column("delivery", "test_to")
    op.drop_index("ix_kept_briefing_updated_at", "kept_briefing")
    op.drop_table("kept_briefing")
