"""Verdicts on statements: with each sentence of a summary, and counted with its item.

Revision 0014.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("claim") as claim:
        claim.add_column(sa.Column("verdict", sa.String(length=32), nullable=True))
        claim.add_column(sa.Column("judged_by", sa.String(length=32), nullable=True))
        claim.add_column(sa.Column("reasons", sa.JSON(), nullable=False, server_default="[]"))
    with op.batch_alter_table("item") as item:
        item.add_column(sa.Column("statements", sa.JSON(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("item") as item:
        item.drop_column("statements")
    with op.batch_alter_table("claim") as claim:
        claim.drop_column("reasons")
        claim.drop_column("judged_by")
        claim.drop_column("verdict")
