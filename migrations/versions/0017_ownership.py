"""Who may read a research and a note: what was made before stays open to everybody.

Revision 0017.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("research", "item_note"):
        with op.batch_alter_table(table) as changed:
            changed.add_column(sa.Column("visibility", sa.String(length=32), nullable=False, server_default="open"))


def downgrade() -> None:
    for table in ("item_note", "research"):
        with op.batch_alter_table(table) as changed:
            changed.drop_column("visibility")
