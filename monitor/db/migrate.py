"""The schema and its revisions, through Alembic.

The scripts lie in the repository's `migrations/` folder, and inside this package once it is installed. Everything here
is synchronous and runs before the work begins; two processes that migrate at once do so one after the other.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from monitor.db.engines import DatabaseAddress, open_migration_engine
from monitor.db.sessions import build_unusable_error, translate_errors
from monitor.errors import DatabaseError, WorkFailed
from monitor.i18n.message import Message

if TYPE_CHECKING:
    from alembic.config import Config

# Alembic keeps the migration that it is at in globals of its own: one at a time in a process.
_ALEMBIC = Lock()


def upgrade(url: str, revision: str = "head") -> None:
    """Bring the database up to a revision; a SQLite file and its folder are made where there are none.

    `DatabaseError` where it cannot be reached, or stands at a revision that this version does not know.
    """
    address = DatabaseAddress.parse(url)
    _make_folder(address)
    from alembic import command

    with _translate_migration_errors(address), _ALEMBIC:
        command.upgrade(_build_config(url), revision)


def upgrade_database(url: str) -> Message:
    """Create the database or bring it to this version's schema; return what was done."""
    shown, before = DatabaseAddress.parse(url).redacted_url, get_current_revision(url)
    if before == get_head_revision():
        return Message.of("database.up_to_date", database=shown)
    upgrade(url)
    return Message.of("database.created" if before is None else "database.upgraded", database=shown)


def downgrade(url: str, revision: str) -> None:
    """Take the database back to a revision; `base` is the empty one. What the newer tables held is lost."""
    address = DatabaseAddress.parse(url)
    from alembic import command

    with _translate_migration_errors(address), _ALEMBIC:
        command.downgrade(_build_config(url), revision)


@contextmanager
def _translate_migration_errors(address: DatabaseAddress) -> Iterator[None]:
    from alembic.util.exc import CommandError

    try:
        with translate_errors(address):
            yield
    except CommandError as error:
        raise DatabaseError("database.not_migratable", url=address.redacted_url, reason=str(error)) from error


def get_current_revision(url: str) -> str | None:
    """The revision that the database stands at; None for one that was never migrated or, on SQLite, is not there."""
    address = DatabaseAddress.parse(url)
    if address.file is not None and not address.file.exists():
        return None
    engine = open_migration_engine(address)
    with translate_errors(address), engine.connect() as connection:
        return read_revision(connection)


def get_head_revision() -> str:
    """Return the revision that this version of the program needs.

    It is read off the scripts' names, `<revision>_<title>.py`: Alembic would import all of them.
    """
    revisions = _list_revisions()
    if not revisions:
        raise WorkFailed("database.no_migrations")
    return max(revisions)


def is_known_revision(revision: str) -> bool:
    return revision in _list_revisions()


def _list_revisions() -> set[str]:
    scripts = (_find_scripts_folder() / "versions").glob("[0-9]*_*.py")
    return {script.name.partition("_")[0] for script in scripts}


def read_revision(connection: Connection) -> str | None:
    """Return the revision of the database at the other end of a connection."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found


def create_if_empty(url: str) -> None:
    """Make and migrate a SQLite database where there is none yet, so that a first start needs no command.

    A database that holds tables is left alone: changing it is a decision, which `monitor db upgrade` takes.
    """
    address = DatabaseAddress.parse(url)
    if address.file is None:
        return
    if address.file.exists():
        with translate_errors(address), open_migration_engine(address).connect() as connection:
            if inspect(connection).get_table_names():
                return
    upgrade(url)


def _make_folder(address: DatabaseAddress) -> None:
    if address.file is not None:
        try:
            address.file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise build_unusable_error(
                address, Message.of("database.folder_not_made", reason=error.strerror)
            ) from error


def _build_config(url: str) -> "Config":
    from alembic.config import Config

    configuration = Config()
    configuration.set_main_option("script_location", str(_find_scripts_folder()).replace("%", "%%"))
    configuration.set_main_option("path_separator", "os")
    configuration.attributes["url"] = url
    return configuration


def _find_scripts_folder() -> Path:
    here = Path(__file__).resolve().parent
    for folder in (here / "migrations", here.parents[1] / "migrations"):
        if (folder / "env.py").is_file():
            return folder
    raise WorkFailed("database.no_migrations_folder")
