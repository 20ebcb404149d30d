"""What changes of items need: stale summaries, and deadlines that a revision added.

Revision 0024.
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

_IS_STALE = sa.text("is_summary_stale")


def upgrade() -> None:
    op.add_column("item", sa.Column("is_summary_stale", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_index("ix_item_stale", "item", ["source_id"], sqlite_where=_IS_STALE, postgresql_where=_IS_STALE)
    with op.batch_alter_table("deadline") as deadline:
        deadline.drop_constraint("uq_deadline_subject", type_="unique")
        deadline.create_index("ix_deadline_item_id", ["item_id"])
    with op.batch_alter_table("deadline_move") as move:
        move.alter_column("before", existing_type=sa.Date(), nullable=True)


def downgrade() -> None:
    op.execute("DELETE FROM deadline_move WHERE before IS NULL")
    # Of several days of one kind and subject, an earlier version keeps one.
    op.execute("DELETE FROM deadline WHERE id NOT IN (SELECT max(id) FROM deadline GROUP BY item_id, kind, subject)")
    with op.batch_alter_table("deadline_move") as move:
        move.alter_column("before", existing_type=sa.Date(), nullable=False)
    with op.batch_alter_table("deadline") as deadline:
        deadline.drop_index("ix_deadline_item_id")
        deadline.create_unique_constraint("uq_deadline_subject", ["item_id", "kind", "subject"])
    op.drop_index("ix_item_stale", "item")
    op.drop_column("item", "is_summary_stale")
