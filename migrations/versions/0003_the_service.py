"""What a service needs: who carries out runs, who has which duty, how far schedules were dealt with, tokens.

Revision 0003, after 0002.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "executor",
        sa.Column("id", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("host", sa.String(length=200), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(length=32), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "lease",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("holder", sa.String(length=240), nullable=False),
        sa.Column("renewed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "schedule",
        sa.Column("source_id", sa.Integer(), nullable=False),
        sa.Column("cron", sa.String(length=200), nullable=False),
        sa.Column("timezone", sa.String(length=64), nullable=False),
        sa.Column("dealt_until", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("source_id"),
    )
    op.create_table(
        "token",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_index("ix_token_hash", "token", ["hash"])
    with op.batch_alter_table("run") as run:
        run.add_column(sa.Column("executor", sa.String(), nullable=True))
        run.add_column(sa.Column("enqueued_at", sa.DateTime(timezone=True), nullable=True))
        run.add_column(sa.Column("retry_from", sa.String(length=32), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("run") as run:
        run.drop_column("retry_from")
        run.drop_column("enqueued_at")
        run.drop_column("executor")
    op.drop_table("token")
    op.drop_table("schedule")
    op.drop_table("lease")
    op.drop_table("executor")
