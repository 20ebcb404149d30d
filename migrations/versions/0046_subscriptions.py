"""Subscriptions of people to briefings by mail, and whose a delivery is.

Revision 0046.
"""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "subscription",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("person", sa.String(100), sa.ForeignKey("person.name", ondelete="CASCADE"), nullable=False),
        sa.Column("target", sa.String(40), nullable=False),
        sa.Column("address", sa.String(320), nullable=False),
        sa.Column("token", sa.String(64), nullable=False),
        sa.Column("conditions", sa.JSON(), nullable=False),
        sa.Column("formats", sa.JSON(), nullable=False),
        sa.Column("schedule", sa.String(200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("confirmed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_by", sa.String(100), nullable=True),
        sa.UniqueConstraint("token", name="uq_subscription_token"),
    )
    op.create_index("ix_subscription_person", "subscription", ["person"])
    op.create_index("ix_subscription_ended_at", "subscription", ["ended_at"])
    op.add_column("delivery", sa.Column("person", sa.String(100), nullable=True))


def downgrade() -> None:
    op.drop_column("delivery", "person")
    op.drop_table("subscription")
