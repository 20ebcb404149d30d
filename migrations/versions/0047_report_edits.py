"""Texts of reports by an editor's hand.

Revision 0047.
"""

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "report_edit",
        sa.Column(
            "task_id",
            sa.String(64),
            sa.ForeignKey("research.id", ondelete="CASCADE", name="fk_report_edit_research"),
            primary_key=True,
        ),
        sa.Column("version", sa.Integer(), primary_key=True),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("own", sa.JSON(), nullable=False),
        sa.Column("edited_by", sa.String(100), nullable=False),
        sa.Column("edited_at", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("report_edit")
