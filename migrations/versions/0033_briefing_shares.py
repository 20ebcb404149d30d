"""Links by which a saved briefing is read without an account.

Revision 0033.
"""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "briefing_share",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("briefing_id", sa.Integer(), sa.ForeignKey("saved_briefing.id", ondelete="CASCADE"), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("label", sa.String(100), nullable=False),
        sa.Column("created_by", sa.String(100), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.UniqueConstraint("token_hash", name="uq_briefing_share_token_hash"),
    )
    op.create_index("ix_briefing_share_briefing_id", "briefing_share", ["briefing_id"])


def downgrade() -> None:
    op.drop_table("briefing_share")
