"""The database's own index over the lines of terms: taken away and made anew where a great many lines are written.

SQLite: an FTS5 table over `item_terms`, kept by triggers. PostgreSQL: a GIN index over its terms as an array.
"""

from sqlalchemy import Connection

_FTS5 = """CREATE VIRTUAL TABLE item_terms_index USING fts5(
    terms, content='item_terms', content_rowid='item_id', detail=none, columnsize=0, tokenize="ascii tokenchars ':'"
)"""
_REBUILD = "INSERT INTO item_terms_index(item_terms_index) VALUES ('rebuild')"
_ADD = "INSERT INTO item_terms_index(rowid, terms) VALUES (new.item_id, new.terms);"
_TAKE = "INSERT INTO item_terms_index(item_terms_index, rowid, terms) VALUES ('delete', old.item_id, old.terms);"
_TRIGGERS = {
    "item_terms_added": f"AFTER INSERT ON item_terms BEGIN {_ADD} END",
    "item_terms_gone": f"AFTER DELETE ON item_terms BEGIN {_TAKE} END",
    "item_terms_changed": f"AFTER UPDATE ON item_terms BEGIN {_TAKE} {_ADD} END",
}
_GIN = "CREATE INDEX item_terms_index ON item_terms USING gin (string_to_array(terms, ' '))"


def take_index(connection: Connection) -> None:
    """Take the index away: a great many lines are written much more quickly without it."""
    if connection.dialect.name == "sqlite":
        for trigger in _TRIGGERS:
            connection.exec_driver_sql(f"DROP TRIGGER {trigger}")
        connection.exec_driver_sql("DROP TABLE item_terms_index")
    else:
        connection.exec_driver_sql("DROP INDEX item_terms_index")


def make_index(connection: Connection) -> None:
    """Make the index of the lines that are there, and have it follow them from now on."""
    if connection.dialect.name == "sqlite":
        for statement in (_FTS5, _REBUILD, *(f"CREATE TRIGGER {name} {when}" for name, when in _TRIGGERS.items())):
            connection.exec_driver_sql(statement)
    else:
        connection.exec_driver_sql(_GIN)
