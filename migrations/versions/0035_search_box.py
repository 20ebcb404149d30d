"""What each person searched for last, and the questions that they asked the archive.

Revision 0035.
"""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "recent_query",
        sa.Column("person", sa.String(100), primary_key=True),
        sa.Column("text", sa.String(200), primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "archive_question",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("person", sa.String(100), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("language", sa.String(8), nullable=False),
        sa.Column("filters", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("answer", sa.JSON(), nullable=True),
    )
    op.create_index("ix_archive_question_person", "archive_question", ["person", "asked_at"])


def downgrade() -> None:
    op.drop_table("archive_question")
    op.drop_table("recent_query")
