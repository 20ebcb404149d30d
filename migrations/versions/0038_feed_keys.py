"""Keys of the private addresses under which people's feeds are read.

Revision 0038.
"""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "feed_key",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("person", sa.String(100), sa.ForeignKey("person.name", ondelete="CASCADE"), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("label", sa.String(100), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.UniqueConstraint("token_hash", name="uq_feed_key_token_hash"),
    )
    op.create_index("ix_feed_key_person", "feed_key", ["person"])


def downgrade() -> None:
    op.drop_table("feed_key")
