"""Indexes by which lists are read without the rows that they do not show.

Revision 0037.
"""

from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_research_listed", "research", ["parent_id", "created_at", "id", "visibility", "asked_by"])
    op.create_index("ix_topic_fit_match", "topic_fit", ["topic_id", "is_match", "item_id"])


def downgrade() -> None:
    op.drop_index("ix_topic_fit_match", "topic_fit")
    op.drop_index("ix_research_listed", "research")
