"""Documents that readers give with a question.

Revision 0043.
"""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "research_document",
        sa.Column(
            "task_id",
            sa.String(64),
            sa.ForeignKey("research.id", ondelete="CASCADE", name="fk_research_document_research"),
            primary_key=True,
        ),
        sa.Column("number", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.Column("pages_without_text", sa.Integer(), nullable=False),
        sa.Column("is_cut", sa.Boolean(), nullable=False),
        sa.Column("uploaded_by", sa.String(100), nullable=False),
        sa.Column("uploaded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("record", sa.String(16), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
    )


def downgrade() -> None:
    op.drop_table("research_document")
