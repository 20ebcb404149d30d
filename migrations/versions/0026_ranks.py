"""Items say why they have their rank, and keep the label that a model gave them.

Revision 0026.
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("item") as item:
        item.add_column(sa.Column("rank_reason", sa.Text(), nullable=True))
        item.add_column(sa.Column("importance", sa.Integer(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("item") as item:
        item.drop_column("importance")
        item.drop_column("rank_reason")
