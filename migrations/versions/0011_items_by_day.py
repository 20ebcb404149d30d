"""Items have the day by which lists are ordered, the indexes that lists and filters read them by, and marks of their
day and source in the full-text index, which also has the Latin words that follow each other.

Revision 0011.
"""

import sqlalchemy as sa
from alembic import op

from monitor.db.fulltext_index import append_marks, build_terms_line
from monitor.db.fulltext_index import create_index, drop_index

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_BY_DAY = ("source", "section", "type", "language", "late")
_SET_DAY = {
    "sqlite": "UPDATE item SET day = coalesce(date, date(first_seen))",
    "postgresql": "UPDATE item SET day = coalesce(date, CAST(timezone('UTC', first_seen) AS date))",
}
_NO_SOURCE = sa.text("source_id IS NULL")
_BATCH = 500


def upgrade() -> None:
    with op.batch_alter_table("item") as item:
        item.add_column(sa.Column("day", sa.Date(), nullable=True))
    op.execute(_SET_DAY[op.get_bind().dialect.name])
    op.drop_index("ix_item_date", "item")
    with op.batch_alter_table("item") as item:
        item.alter_column("day", existing_type=sa.Date(), nullable=False)
    op.create_index("ix_item_day", "item", ["day", "id"])
    for column in _BY_DAY:
        op.create_index(f"ix_item_{column}_day", "item", [column, "day", "id"])
    op.create_index("ix_item_document_number", "item", ["document_number"])
    op.create_index("ix_item_first_seen", "item", ["first_seen"])
    op.create_index("ix_item_of_no_source", "item", ["source"], sqlite_where=_NO_SOURCE, postgresql_where=_NO_SOURCE)
    op.create_index("ix_run_planned_at", "run", ["planned_at"])
    connection = op.get_bind()
    drop_index(connection)
    _write_lines(connection)
    create_index(connection)


def downgrade() -> None:
    op.drop_index("ix_run_planned_at", "run")
    op.drop_index("ix_item_of_no_source", "item")
    op.drop_index("ix_item_first_seen", "item")
    op.drop_index("ix_item_document_number", "item")
    for column in _BY_DAY:
        op.drop_index(f"ix_item_{column}_day", "item")
    op.drop_index("ix_item_day", "item")
    with op.batch_alter_table("item") as item:
        item.drop_column("day")
    op.create_index("ix_item_date", "item", ["date"])


def _write_lines(connection: sa.Connection) -> None:
    item = sa.table("item", *map(sa.column, ("id", "title", "summary", "source_id")), sa.column("day", sa.Date()))
    text = sa.table("item_text", sa.column("item_id"), sa.column("text"))
    terms = sa.table("item_terms", sa.column("item_id"), sa.column("terms"))
    query = sa.select(item, text.c.text).select_from(item.outerjoin(text, text.c.item_id == item.c.id))
    last = 0
    while rows := connection.execute(query.where(item.c.id > last).order_by(item.c.id).limit(_BATCH)).all():
        last = rows[-1].id
        lines = [
            {
                "item_id": row.id,
                "terms": append_marks(build_terms_line(row.title, row.summary, row.text or ""), row.day, row.source_id),
            }
            for row in rows
        ]
        connection.execute(sa.delete(terms).where(terms.c.item_id.in_([row.id for row in rows])))
        connection.execute(sa.insert(terms), lines)
