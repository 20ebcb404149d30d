"""The index of the items of teams, of which there are few beside those of all.

Revision 0050.
"""

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None

_HAS_TEAM = sa.text("team_id IS NOT NULL")


def upgrade() -> None:
    op.create_index("ix_item_of_team", "item", ["team_id"], sqlite_where=_HAS_TEAM, postgresql_where=_HAS_TEAM)


def downgrade() -> None:
    op.drop_index("ix_item_of_team", "item")
