"""Indexes by which lists are read without the rows that they do not show.

Revision 0038.
"""

from alembic import op

revision = "0038"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_research_listed", "research", ["parent_id", "created_at", "id", "visibility", "asked_by"])


def downgrade() -> None:
    op.drop_index("ix_research_listed", "research")
