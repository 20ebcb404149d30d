"""Scheduled exports, their batches, and the versions of items that were written.

Revision 0048.
"""

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "scheduled_export",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("team_id", sa.Integer(), sa.ForeignKey("team.id", name="fk_scheduled_export_team"), nullable=True),
        sa.Column("bucket", sa.String(40), nullable=True),
        sa.Column("format", sa.String(32), nullable=False),
        sa.Column("schedule", sa.String(100), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_success_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failing_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.UniqueConstraint("name", name="uq_scheduled_export_name"),
    )
    _create_batches()
    _create_exported_versions()


def _create_batches() -> None:
    export = sa.ForeignKey("scheduled_export.id", name="fk_export_batch_export", ondelete="CASCADE")
    op.create_table(
        "export_batch",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("export_id", sa.Integer(), export, nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("items", sa.Integer(), nullable=False),
        sa.Column("files", sa.Integer(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("item_ids", sa.JSON(), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_export_batch_export", "export_batch", ["export_id", "id"])


def _create_exported_versions() -> None:
    export = sa.ForeignKey("scheduled_export.id", name="fk_exported_version_export", ondelete="CASCADE")
    item = sa.ForeignKey("item.id", name="fk_exported_version_item", ondelete="CASCADE")
    op.create_table(
        "exported_version",
        sa.Column("export_id", sa.Integer(), export, primary_key=True),
        sa.Column("item_id", sa.Integer(), item, primary_key=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(32), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
    )
    op.create_index("ix_exported_version_item_id", "exported_version", ["item_id"])


def downgrade() -> None:
    for table in ("exported_version", "export_batch", "scheduled_export"):
        op.drop_table(table)
