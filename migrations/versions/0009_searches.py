"""Searches: the ledger of requests to search services, and their answers for as long as they serve.

Revision 0009.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "search_call",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("backend", sa.String(length=20), nullable=False),
        sa.Column("route", sa.String(length=16), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("outcome", sa.String(length=32), nullable=False),
        sa.Column("detail_code", sa.String(length=32), nullable=True),
        sa.Column("results", sa.Integer(), nullable=False),
        sa.Column("latency_ms", sa.Integer(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_search_call_backend_at", "search_call", ["backend", "at"])
    op.create_table(
        "search_answer",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("findings", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_index("ix_search_answer_at", "search_answer", ["at"])


def downgrade() -> None:
    for table in ("search_answer", "search_call"):
        op.drop_table(table)
