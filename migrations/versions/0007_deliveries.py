"""Deliveries: what went to which target, the briefings as they were composed, and when targets are due.

Revision 0007.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "delivery",
        sa.Column("id", sa.String(length=100), nullable=False),
        sa.Column("target", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("planned_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("day", sa.Date(), nullable=True),
        sa.Column("deadline_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("alarm_id", sa.Integer(), nullable=True),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("message_id", sa.String(length=300), nullable=False),
        sa.Column("accepted", sa.JSON(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("attempts_allowed", sa.Integer(), nullable=False),
        sa.Column("next_try_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["alarm_id"], ["alarm.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("key", name="uq_delivery_key"),
    )
    op.create_index("ix_delivery_target", "delivery", ["target"])
    op.create_index("ix_delivery_status", "delivery", ["status"])
    op.create_table(
        "briefing_record",
        sa.Column("delivery_id", sa.String(length=100), nullable=False),
        sa.Column("composed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("briefing", sa.JSON(), nullable=False),
        sa.Column("unfinished", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["delivery_id"], ["delivery.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("delivery_id"),
    )
    op.create_table(
        "delivery_plan",
        sa.Column("target", sa.String(length=40), nullable=False),
        sa.Column("cron", sa.String(length=200), nullable=False),
        sa.Column("timezone", sa.String(length=64), nullable=False),
        sa.Column("dealt_until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("target"),
    )


def downgrade() -> None:
    for table in ("delivery_plan", "briefing_record", "delivery"):
        op.drop_table(table)
