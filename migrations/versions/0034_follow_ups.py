"""Follow-up questions about a finished research.

Revision 0034.
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("research") as table:
        table.add_column(sa.Column("parent_id", sa.String(64), nullable=True))
        table.create_foreign_key("fk_research_parent", "research", ["parent_id"], ["id"], ondelete="CASCADE")
        table.create_index("ix_research_parent_id", ["parent_id"])


def downgrade() -> None:
    with op.batch_alter_table("research") as table:
        table.drop_index("ix_research_parent_id")
        table.drop_constraint("fk_research_parent", type_="foreignkey")
        table.drop_column("parent_id")
