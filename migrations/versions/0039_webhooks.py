"""Endpoints of webhooks, their events, deliveries and attempts.

Revision 0039.
"""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _create_endpoints()
    _create_events()
    _create_deliveries()


def _create_endpoints() -> None:
    op.create_table(
        "webhook_endpoint",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("label", sa.String(100), nullable=False),
        sa.Column("types", sa.JSON(), nullable=False),
        sa.Column("topics", sa.JSON(), nullable=False),
        sa.Column("format", sa.String(32), nullable=False),
        sa.Column("language", sa.String(2), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("previous_secret", sa.Text(), nullable=True),
        sa.Column("previous_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_success_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failing_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("paused_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("disabled_reason", sa.Text(), nullable=True),
    )


def _create_events() -> None:
    op.create_table(
        "webhook_event",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("key", sa.String(40), nullable=False),
        sa.Column("type", sa.String(32), nullable=False),
        sa.Column("subject", sa.String(120), nullable=False),
        sa.Column("ref", sa.Integer(), nullable=True),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("prepared_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("topics", sa.JSON(), nullable=False),
        sa.Column("data", sa.JSON(none_as_null=True), nullable=True),
        sa.UniqueConstraint("key", name="uq_webhook_event_key"),
    )
    op.create_index("ix_webhook_event_subject", "webhook_event", ["subject", "id"])
    op.create_index("ix_webhook_event_occurred_at", "webhook_event", ["occurred_at"])
    op.create_index("ix_webhook_event_prepared_at", "webhook_event", ["prepared_at"])


def _create_deliveries() -> None:
    op.create_table(
        "webhook_delivery",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column(
            "endpoint_id",
            sa.Integer(),
            sa.ForeignKey("webhook_endpoint.id", ondelete="CASCADE", name="fk_webhook_delivery_endpoint"),
            nullable=False,
        ),
        sa.Column(
            "event_id",
            sa.Integer(),
            sa.ForeignKey("webhook_event.id", ondelete="CASCADE", name="fk_webhook_delivery_event"),
            nullable=False,
        ),
        sa.Column("subject", sa.String(120), nullable=False),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("tried_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_try_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.UniqueConstraint("endpoint_id", "event_id", name="uq_webhook_delivery_event"),
    )
    op.create_index("ix_webhook_delivery_event_id", "webhook_delivery", ["event_id"])
    columns = ["endpoint_id", "status", "subject", "event_id"]
    op.create_index("ix_webhook_delivery_pending", "webhook_delivery", columns)
    op.create_table(
        "webhook_attempt",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column(
            "delivery_id",
            sa.Integer(),
            sa.ForeignKey("webhook_delivery.id", ondelete="CASCADE", name="fk_webhook_attempt_delivery"),
            nullable=False,
        ),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
    )
    op.create_index("ix_webhook_attempt_delivery_id", "webhook_attempt", ["delivery_id"])


def downgrade() -> None:
    for table in ("webhook_attempt", "webhook_delivery", "webhook_event", "webhook_endpoint"):
        op.drop_table(table)
