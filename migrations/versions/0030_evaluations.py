"""Evaluations of models, what each model did in them, and which summaries people preferred.

Revision 0030.
"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def _instant(name: str, *, nullable: bool = True) -> sa.Column[sa.DateTime]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def upgrade() -> None:
    op.create_table(
        "evaluation",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("contenders", sa.JSON(), nullable=False),
        sa.Column("prompts", sa.JSON(), nullable=False),
        sa.Column("samples", sa.JSON(), nullable=False),
        sa.Column("max_items", sa.Integer(), nullable=False),
        sa.Column("budget", sa.Float(), nullable=True),
        sa.Column("lost_cost", sa.Float(), nullable=False),
        sa.Column("seed", sa.String(64), nullable=False),
        sa.Column("gaps", sa.JSON(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("is_stop_requested", sa.Boolean(), nullable=False),
        sa.Column("asked_by", sa.String(100), nullable=False),
        sa.Column("executor", sa.String(200), nullable=True),
        _instant("enqueued_at"),
        _instant("created_at", nullable=False),
        _instant("started_at"),
        _instant("ended_at"),
        sa.Column("reason", sa.Text(), nullable=True),
    )
    op.create_index("ix_evaluation_status", "evaluation", ["status"])
    op.create_index("ix_evaluation_fingerprint", "evaluation", ["fingerprint"])
    op.create_index("ix_evaluation_created_at", "evaluation", ["created_at"])
    op.create_table(
        "evaluation_piece",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("evaluation_id", sa.String(64), sa.ForeignKey("evaluation.id", ondelete="CASCADE"), nullable=False),
        sa.Column("contender", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("phase", sa.String(32), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("measured", sa.JSON(), nullable=True),
        sa.Column("reserved_cost", sa.Float(), nullable=False),
        _instant("at", nullable=False),
        sa.UniqueConstraint("evaluation_id", "contender", "run_id", "phase", "place", name="uq_evaluation_piece"),
    )
    op.create_index("ix_evaluation_piece_evaluation_id", "evaluation_piece", ["evaluation_id"])
    op.create_table(
        "pair_choice",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("evaluation_id", sa.String(64), sa.ForeignKey("evaluation.id", ondelete="CASCADE"), nullable=False),
        sa.Column("pair", sa.String(32), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("second", sa.Integer(), nullable=False),
        sa.Column("preferred", sa.Integer(), nullable=True),
        sa.Column("person", sa.String(100), nullable=False),
        _instant("at", nullable=False),
        sa.UniqueConstraint("evaluation_id", "pair", "person", name="uq_pair_choice"),
    )
    op.create_index("ix_pair_choice_evaluation_id", "pair_choice", ["evaluation_id"])


def downgrade() -> None:
    op.drop_table("pair_choice")
    op.drop_table("evaluation_piece")
    op.drop_table("evaluation")
