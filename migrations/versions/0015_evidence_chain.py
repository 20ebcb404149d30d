"""The chain over records and audit, its signed heads, and what a scrub found.

Revision 0015.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("record", "audit_entry"):
        with op.batch_alter_table(table) as changed:
            changed.add_column(sa.Column("hash", sa.String(length=64), nullable=True))
    op.create_table(
        "chain_link",
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("row_id", sa.String(length=32), nullable=False),
        sa.Column("owner", sa.String(length=80), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("position"),
        sa.UniqueConstraint("kind", "row_id", name="uq_chain_link_row"),
    )
    op.create_table(
        "chain_head",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.Column("root", sa.String(length=64), nullable=False),
        sa.Column("previous", sa.String(length=64), nullable=False),
        sa.Column("records_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("audit_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("public_key", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("signature", sa.String(length=128), nullable=False),
        sa.Column("timestamp", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_table(
        "evidence_file",
        sa.Column("location", sa.String(length=200), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("file_sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("location"),
    )
    op.create_index("ix_evidence_file_checked_at", "evidence_file", ["checked_at"])
    op.create_table(
        "evidence_incident",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("way", sa.String(length=32), nullable=False),
        sa.Column("location", sa.String(length=200), nullable=True),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("research_id", sa.String(length=64), nullable=True),
        sa.Column("found_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("next_try_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("mended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("mended_by", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["research_id"], ["research.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_evidence_incident_location", "evidence_incident", ["location"])
    op.create_index("ix_evidence_incident_run_id", "evidence_incident", ["run_id"])
    op.create_index("ix_evidence_incident_research_id", "evidence_incident", ["research_id"])


def downgrade() -> None:
    for table in ("evidence_incident", "evidence_file", "chain_head", "chain_link"):
        op.drop_table(table)
    for table in ("audit_entry", "record"):
        with op.batch_alter_table(table) as changed:
            changed.drop_column("hash")
