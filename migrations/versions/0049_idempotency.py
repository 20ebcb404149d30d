"""Requests that came with an Idempotency-Key, and what was answered.

Revision 0049.
"""

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "idempotent_request",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
    )
    op.create_index("ix_idempotent_request_created_at", "idempotent_request", ["created_at"])


def downgrade() -> None:
    op.drop_table("idempotent_request")
