"""What health is judged by, alarms, and the cost of model calls.

Revision 0004, after 0003.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "alarm",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("source_id", sa.Integer(), nullable=False),
        sa.Column("section", sa.Text(), nullable=False),
        sa.Column("section_key", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("raised_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("cleared_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("notified_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_alarm_source_id", "alarm", ["source_id"])
    op.create_index("ix_alarm_run_id", "alarm", ["run_id"])
    with op.batch_alter_table("section") as section:
        section.add_column(sa.Column("head", sa.JSON(), nullable=False, server_default="[]"))
        section.add_column(sa.Column("arrivals", sa.JSON(), nullable=False, server_default="[]"))
    with op.batch_alter_table("run_section") as run_section:
        run_section.add_column(sa.Column("listed", sa.Integer(), nullable=True))
        run_section.add_column(sa.Column("listed_dated", sa.Integer(), nullable=False, server_default="0"))
        run_section.add_column(sa.Column("is_gap", sa.Boolean(), nullable=False, server_default=sa.false()))
        run_section.add_column(sa.Column("error", sa.Text(), nullable=False, server_default=""))
    with op.batch_alter_table("model_call") as model_call:
        model_call.add_column(sa.Column("cost", sa.Float(), nullable=True))
    op.create_index("ix_model_call_at", "model_call", ["at"])


def downgrade() -> None:
    op.drop_index("ix_model_call_at", "model_call")
    with op.batch_alter_table("model_call") as model_call:
        model_call.drop_column("cost")
    with op.batch_alter_table("run_section") as run_section:
        for column in ("error", "is_gap", "listed_dated", "listed"):
            run_section.drop_column(column)
    with op.batch_alter_table("section") as section:
        for column in ("arrivals", "head"):
            section.drop_column(column)
    op.drop_table("alarm")
