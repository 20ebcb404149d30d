"""The schema and its revisions, through Alembic; synchronous, to be run before the work begins."""

from pathlib import Path
from threading import Lock
from typing import Literal

from sqlalchemy import Connection, inspect, text

from monitor.db.engines import DatabaseAddress, open_migration_engine
from monitor.db.sessions import build_unusable_error, translate_errors
from monitor.errors import DatabaseError, WorkFailed
from monitor.i18n.message import Message

_ALEMBIC = Lock()  # Alembic keeps the current migration in globals: one at a time in a process


def upgrade(url: str, revision: str = "head") -> None:
    """Bring the database up to a revision; a missing SQLite file and its folder are created."""
    address = DatabaseAddress.parse(url)
    if address.file is not None:
        try:
            address.file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = Message.of("database.folder_not_made", reason=error.strerror)
            raise build_unusable_error(address, reason) from error
    _run_alembic("upgrade", address, revision)


def downgrade(url: str, revision: str) -> None:
    """Take the database back to a revision; `base` is the empty one. What the newer tables held is lost."""
    _run_alembic("downgrade", DatabaseAddress.parse(url), revision)


def _run_alembic(command: Literal["upgrade", "downgrade"], address: DatabaseAddress, revision: str) -> None:
    import alembic.command
    from alembic.config import Config
    from alembic.util.exc import CommandError

    config = Config()
    config.set_main_option("script_location", str(_find_scripts_folder()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["url"] = address.full_url
    try:
        with translate_errors(address), _ALEMBIC:
            getattr(alembic.command, command)(config, revision)
    except CommandError as error:
        raise DatabaseError("database.not_migratable", url=address.redacted_url, reason=str(error)) from error


def get_current_revision(url: str) -> str | None:
    """The revision of the database; None where it was never migrated or, on SQLite, does not exist."""
    address = DatabaseAddress.parse(url)
    if address.file is not None and not address.file.exists():
        return None
    engine = open_migration_engine(address)
    with translate_errors(address), engine.connect() as connection:
        return read_revision(connection)


def get_head_revision() -> str:
    """The revision that this version needs, from the scripts' names: Alembic would import all of them."""
    revisions = list_revisions()
    if not revisions:
        raise WorkFailed("database.no_migrations")
    return max(revisions)


def list_revisions() -> set[str]:
    scripts = (_find_scripts_folder() / "versions").glob("[0-9]*_*.py")
    return {script.name.partition("_")[0] for script in scripts}


def read_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found


def create_if_empty(url: str) -> None:
    """Migrate a missing or empty SQLite database; one with tables is upgraded by `monitor db upgrade` only."""
    address = DatabaseAddress.parse(url)
    if address.file is None:
        return
    if address.file.exists():
        with translate_errors(address), open_migration_engine(address).connect() as connection:
            if inspect(connection).get_table_names():
                return
    upgrade(url)


def _find_scripts_folder() -> Path:
    here = Path(__file__).resolve().parent
    for folder in (here / "migrations", here.parents[1] / "migrations"):
        if (folder / "env.py").is_file():
            return folder
    raise WorkFailed("database.no_migrations_folder")
