"""The index of the order of importance: by tier, then the newest first.

Revision 0044.
"""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_item_importance", "item", ["tier", sa.text("day DESC"), sa.text("id DESC")])


def downgrade() -> None:
    op.drop_index("ix_item_importance", "item")
