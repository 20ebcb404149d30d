"""Items keep the date that their article states beside the one of the list.

Revision 0002, after 0001.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("item") as item:
        item.add_column(sa.Column("page_date", sa.Date(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("item") as item:
        item.drop_column("page_date")
