"""How Alembic runs here: called by monitor.store.migrate, or by a developer as `alembic -x url=DATABASE_URL …`."""

from typing import Any

from alembic import context
from sqlalchemy import text
from sqlalchemy.types import TypeDecorator

from monitor.db.engines import DatabaseAddress, open_migration_engine
from monitor.db.fulltext_index import INDEX_NAME
from monitor.db.tables import collection as tables

ADVISORY_LOCK = 20261121  # any number, the same for all processes of this program


def spelt_plainly(kind: str, thing: Any, autogen_context: Any) -> str | bool:
    """Our own column types as the SQLAlchemy types they stand on: an old migration must not change with our code."""
    del autogen_context
    return f"sa.{thing.impl!r}" if kind == "type" and isinstance(thing, TypeDecorator) else False


def is_of_the_tables(name: str | None, kind: str, parents: Any) -> bool:
    """Whether the tables describe it: all but the full-text index, which each database has in its own way."""
    del kind, parents
    return not (name or "").startswith(INDEX_NAME)


def run() -> None:
    """Migrate in one transaction, alone: a second process waits, and then finds nothing left to do."""
    url = context.config.attributes.get("url") or context.get_x_argument(as_dictionary=True)["url"]
    address = DatabaseAddress.parse(url)
    with open_migration_engine(address).connect() as connection:
        context.configure(
            connection=connection,
            target_metadata=tables.SQLModel.metadata,
            render_as_batch=True,
            render_item=spelt_plainly,
            include_name=is_of_the_tables,
            transactional_ddl=True,
        )
        with context.begin_transaction():
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": ADVISORY_LOCK})
            context.run_migrations()


run()
