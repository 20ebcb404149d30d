"""What a driver complains about, told in one sentence to the person who can mend it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from alembic.util.exc import CommandError
from sqlalchemy import exc

from monitor.errors import DatabaseError, DatabaseGone, WorkFailed
from monitor.store.address import DatabaseAddress

_MISSING_IN_SCHEMA = ("42P01", "42703")  # PostgreSQL: undefined table, undefined column
_NOT_OURS = ("42P07", "42501")  # PostgreSQL: a table of that name is there already, permission denied
_NO_PARENT = "23503"  # PostgreSQL: foreign key violation
_MAX_REASON_CHARS = 200
# PostgreSQL: a connection that broke, a server that goes down or comes up, too many connections, no room on the disk.
_PASSING_CODES = ("08", "57P", "53")
_PASSING_WORDS = ("disk is full", "disk I/O error", "database is locked", "unable to open database file")


@contextmanager
def explained(address: DatabaseAddress) -> Iterator[None]:
    """Turn what goes wrong with the database inside the block into errors of ours.

    `DatabaseError` for a database that cannot be reached, is no database or has another schema; `WorkFailed` where a
    row belongs to a source or run that somebody removed while it was being worked on. Everything else is a mistake in
    this program and passes as it is.
    """
    try:
        yield
    except exc.IntegrityError as error:
        if _code(error) == _NO_PARENT or "FOREIGN KEY" in str(error.orig):
            raise WorkFailed("The source or run was removed while it was being worked on.") from error
        raise
    except (exc.OperationalError, exc.InterfaceError, exc.ProgrammingError, exc.DataError) as error:
        if _is_schema(error):
            raise not_migrated(address) from error
        if isinstance(error, exc.ProgrammingError | exc.DataError) and _code(error) not in _NOT_OURS:
            raise
        if _is_passing(error):
            raise DatabaseGone(str(unusable(address, _reason(error)))) from error
        raise unusable(address, _reason(error)) from error
    except exc.TimeoutError as error:
        raise DatabaseGone(str(unusable(address, "all of its connections are busy"))) from error
    except exc.DBAPIError as error:
        if type(error) is exc.DatabaseError:  # SQLite: "file is not a database", "disk image is malformed"
            raise unusable(address, _reason(error)) from error
        raise
    except CommandError as error:
        raise DatabaseError(
            f"The database {address.shown} cannot be migrated ({error}): use the version of monitor that it was"
            " last migrated with, or a newer one."
        ) from error


def unusable(address: DatabaseAddress, reason: str) -> DatabaseError:
    """The database cannot be used at all."""
    check = "its folder and its permissions" if address.file else "that the server runs, and its user and password"
    return DatabaseError(f"The database {address.shown} cannot be used ({reason}): check database_url, {check}.")


def not_migrated(address: DatabaseAddress) -> DatabaseError:
    """The database has another schema than this version needs."""
    return DatabaseError(
        f"The database {address.shown} does not have the tables of this version: run `monitor db upgrade`."
    )


def _is_passing(error: exc.DBAPIError) -> bool:
    """Whether waiting may help: the driver gives no code where there was no connection at all."""
    if isinstance(error.orig, sqlite3.Error):
        return any(word in str(error.orig) for word in _PASSING_WORDS)
    code = _code(error)
    return error.connection_invalidated or code is None or code.startswith(_PASSING_CODES)


def _is_schema(error: exc.DBAPIError) -> bool:
    return _code(error) in _MISSING_IN_SCHEMA or any(
        word in str(error.orig) for word in ("no such table", "no such column", "has no column named")
    )


def _code(error: exc.DBAPIError) -> str | None:
    code = getattr(error.orig, "sqlstate", None)
    return code if isinstance(code, str) else None


def _reason(error: exc.DBAPIError) -> str:
    lines = str(error.orig).strip().splitlines() or [type(error).__name__]
    return lines[0].strip().rstrip(".:")[:_MAX_REASON_CHARS]
