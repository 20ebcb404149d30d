"""Sources keep how their sections are read and what is done to log in; sections say since when a recipe fails.

Revision 0027.
"""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("source") as source:
        source.add_column(sa.Column("recipes", sa.JSON(), nullable=False, server_default="[]"))
        source.add_column(sa.Column("steps", sa.JSON(), nullable=False, server_default="[]"))
    with op.batch_alter_table("section") as section:
        section.add_column(sa.Column("drifted_on", sa.Date(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("section") as section:
        section.drop_column("drifted_on")
    with op.batch_alter_table("source") as source:
        source.drop_column("steps")
        source.drop_column("recipes")
