"""Researches with their paragraphs, events and remarks; records belong to a run or to a research.

Revision 0012.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def instant(name: str, *, nullable: bool = False) -> sa.Column:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def of_research() -> list[sa.Column | sa.ForeignKeyConstraint]:
    return [
        sa.Column("task_id", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["research.id"], ondelete="CASCADE"),
    ]


def upgrade() -> None:
    op.create_table(
        "research",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("language", sa.String(length=8), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("outputs", sa.JSON(), nullable=False),
        sa.Column("state", sa.JSON(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("is_plan_approved", sa.Boolean(), nullable=False),
        sa.Column("is_cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("asked_by", sa.String(length=100), nullable=False),
        sa.Column("executor", sa.String(), nullable=True),
        instant("enqueued_at", nullable=True),
        instant("created_at"),
        instant("started_at", nullable=True),
        instant("ended_at", nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_research_status", "research", ["status"])
    op.create_index("ix_research_created_at", "research", ["created_at"])
    op.create_table(
        "research_paragraph",
        *of_research(),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("task_id", "ordinal"),
    )
    op.create_table(
        "research_event",
        sa.Column("id", sa.Integer(), nullable=False),
        *of_research(),
        instant("at"),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_research_event_task_id", "research_event", ["task_id", "id"])
    op.create_table(
        "research_remark",
        sa.Column("id", sa.Integer(), nullable=False),
        *of_research(),
        sa.Column("person", sa.String(length=100), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        instant("at"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_research_remark_task_id", "research_remark", ["task_id"])
    with op.batch_alter_table("record") as record:
        record.alter_column("run_id", existing_type=sa.String(length=64), nullable=True)
        record.add_column(sa.Column("research_id", sa.String(length=64), nullable=True))
        record.create_foreign_key("fk_record_research", "research", ["research_id"], ["id"], ondelete="CASCADE")
    op.create_index("ix_record_research_id", "record", ["research_id"])


def downgrade() -> None:
    op.execute("DELETE FROM record WHERE run_id IS NULL")
    op.drop_index("ix_record_research_id", "record")
    with op.batch_alter_table("record") as record:
        record.drop_constraint("fk_record_research", type_="foreignkey")
        record.drop_column("research_id")
        record.alter_column("run_id", existing_type=sa.String(length=64), nullable=False)
    for table in ("research_remark", "research_event", "research_paragraph", "research"):
        op.drop_table(table)
