"""Researches on a schedule, and the editions that it began.

Revision 0036.
"""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("research") as table:
        table.add_column(sa.Column("edition_of", sa.String(64), nullable=True))
        table.create_foreign_key("fk_research_edition", "research", ["edition_of"], ["id"], ondelete="SET NULL")
        table.create_index("ix_research_edition_of", ["edition_of"])
    op.create_table(
        "research_schedule",
        sa.Column("task_id", sa.String(64), nullable=False),
        sa.Column("cron", sa.String(200), nullable=False),
        sa.Column("timezone", sa.String(64), nullable=False),
        sa.Column("dealt_until", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["research.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("task_id"),
    )


def downgrade() -> None:
    op.drop_table("research_schedule")
    with op.batch_alter_table("research") as table:
        table.drop_index("ix_research_edition_of")
        table.drop_constraint("fk_research_edition", type_="foreignkey")
        table.drop_column("edition_of")
