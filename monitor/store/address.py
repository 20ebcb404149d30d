"""Which database: the url of the configuration, understood, and shown without what is secret in it."""

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from monitor.errors import DatabaseError

_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
_EXAMPLES = "sqlite:///data/monitor.db or postgresql://user:password@host/name"


@dataclass(frozen=True)
class DatabaseAddress:
    """A database of one of the two kinds that the service runs on; `file` is that of SQLite, None for PostgreSQL."""

    url: URL
    file: Path | None = None

    @classmethod
    def parse(cls, text: str) -> "DatabaseAddress":
        """The address that a `database_url` names, with or without a driver in its scheme.

        `DatabaseError` where it is no url, names another kind of database, or a SQLite database without a file, which
        would forget everything at the end of the program.
        """
        try:
            url = make_url(text)
        except (ArgumentError, ValueError):
            raise DatabaseError(f"database_url is no database url: write one such as {_EXAMPLES}.") from None
        kind = url.drivername.split("+", 1)[0]
        if kind not in _DRIVERS:
            raise DatabaseError(f"database_url names a database of the kind {kind!r}: use {_EXAMPLES}.")
        url = url.set(drivername=_DRIVERS[kind])
        if kind != "sqlite":
            return cls(url)
        if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
            raise DatabaseError(f"database_url names no file for SQLite: write it like {_EXAMPLES}.")
        return cls(url, Path(url.database))

    @property
    def async_url(self) -> URL:
        """The url for an asynchronous engine; psycopg serves both kinds under one name."""
        return self.url.set(drivername="sqlite+aiosqlite") if self.file is not None else self.url

    @property
    def text(self) -> str:
        """The whole url again, password and all: to be handed on, never to be shown."""
        return self.url.render_as_string(hide_password=False)

    @property
    def shown(self) -> str:
        """The url as people may see it: without password, driver and parameters (a password may stand there too)."""
        scheme = self.url.drivername.split("+", 1)[0]
        return self.url.set(drivername=scheme, query={}).render_as_string(hide_password=True)
