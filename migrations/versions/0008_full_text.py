"""The full-text index of items, built for those that are there.

SQLite: an FTS5 table over `item_terms`, kept by triggers. PostgreSQL: a GIN index over its terms as an array.
Revision 0008.
"""

import sqlalchemy as sa
from alembic import op

from monitor.db.fulltext_index import build_terms_line

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_BATCH = 500
_FTS5 = """
CREATE VIRTUAL TABLE item_terms_index USING fts5(
    terms, content='item_terms', content_rowid='item_id', detail=none, columnsize=0, tokenize="ascii tokenchars ':'"
)
"""
_ADD = "INSERT INTO item_terms_index(rowid, terms) VALUES (new.item_id, new.terms);"
_TAKE = "INSERT INTO item_terms_index(item_terms_index, rowid, terms) VALUES ('delete', old.item_id, old.terms);"
_TRIGGERS = (
    f"CREATE TRIGGER item_terms_added AFTER INSERT ON item_terms BEGIN {_ADD} END",
    f"CREATE TRIGGER item_terms_gone AFTER DELETE ON item_terms BEGIN {_TAKE} END",
    f"CREATE TRIGGER item_terms_changed AFTER UPDATE ON item_terms BEGIN {_TAKE} {_ADD} END",
)
_GIN = "CREATE INDEX item_terms_index ON item_terms USING gin (string_to_array(terms, ' '))"


def upgrade() -> None:
    op.create_table(
        "item_terms",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("item_id"),
    )
    _fill(op.get_bind())
    if op.get_bind().dialect.name == "sqlite":
        op.execute(_FTS5)
        op.execute("INSERT INTO item_terms_index(item_terms_index) VALUES ('rebuild')")
        for trigger in _TRIGGERS:
            op.execute(sa.DDL(trigger.replace("%", "%%")))
    else:
        op.execute(_GIN)


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TABLE item_terms_index")
    op.drop_table("item_terms")


def _fill(connection: sa.Connection) -> None:
    item = sa.table("item", sa.column("id"), sa.column("title"), sa.column("summary"))
    text = sa.table("item_text", sa.column("item_id"), sa.column("text"))
    terms = sa.table("item_terms", sa.column("item_id"), sa.column("terms"))
    query = sa.select(item.c.id, item.c.title, item.c.summary, text.c.text).select_from(
        item.outerjoin(text, text.c.item_id == item.c.id)
    )
    last = 0
    while rows := connection.execute(query.where(item.c.id > last).order_by(item.c.id).limit(_BATCH)).all():
        written = [{"item_id": row.id, "terms": build_terms_line(row.title, row.summary, row.text or "")} for row in rows]
        connection.execute(sa.insert(terms), written)
        last = rows[-1].id
