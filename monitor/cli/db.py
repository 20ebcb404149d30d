"""`monitor init`, and `monitor db`: migrate, back up, restore, prune and copy the database."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.parser import build_group
from monitor.cli.terminal import JsonOption, Terminal, get_terminal, write_file
from monitor.errors import UsageError
from monitor.i18n.message import Message

if TYPE_CHECKING:
    from monitor.config.model import Settings

app = build_group()
ReplaceOption = Annotated[bool, typer.Option("--replace", help="Lose what the database holds.")]


def init(as_json: JsonOption = False) -> None:
    from monitor.config.loading import get_settings_path, render_config

    terminal = get_terminal()
    path = get_settings_path(terminal.config)
    is_new = not path.exists()
    if is_new:
        write_file(path, render_config().encode(), is_private=True)  # urls in it may hold passwords
    if not as_json:
        terminal.print("setup.config_written" if is_new else "setup.config_kept", path=path)
    settings = terminal.load_settings()
    done = _upgrade(settings, settings.database_url)
    if as_json:
        terminal.write_json({"config": path, "is_new": is_new} | _describe_upgrade(done))
        return
    terminal.print_message(done)
    terminal.print("setup.next")


@app.command()
def upgrade(
    no_backup: Annotated[bool, typer.Option("--no-backup", help="Write no backup of an older database first.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Create the database, or back it up and bring it to the schema of this version."""
    terminal = get_terminal()
    settings = terminal.load_settings()
    done = _upgrade(settings, settings.database_url, has_backup=not no_backup)
    if as_json:
        terminal.write_json(_describe_upgrade(done))
    else:
        terminal.print_message(done)


def _describe_upgrade(done: Message) -> dict[str, Any]:
    return {"outcome": done.code.removeprefix("database."), **done.args}


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; it must not be there yet.")],
    as_json: JsonOption = False,
) -> None:
    """Write all that the database holds into one file, while the service works."""
    terminal = get_terminal()
    size = asyncio.run(_back_up(terminal.load_settings(), file))
    if as_json:
        terminal.write_json({"file": str(file), "bytes": size})
    else:
        terminal.print("db.backed_up", path=file, megabytes=f"{size / 1e6:.1f}")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `db backup` wrote.")],
    replace: ReplaceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Put a backup into the database, which must be empty and at rest."""
    from monitor.db.maintenance import restore_backup, verify_backup
    from monitor.evidence.chain import SigningKey

    terminal = get_terminal()
    settings = terminal.load_settings()
    verify_backup(file)
    asyncio.run(_check_not_in_use(settings, settings.database_url))
    rows = restore_backup(file, settings.database_url, is_replacing=replace)
    SigningKey(settings.data_dir).forget_anchor()
    _print_rows(terminal, rows, "db.restored", as_json=as_json)


@app.command()
def prune(
    days: Annotated[
        int | None, typer.Option("--days", min=1, metavar="N", help="Keep so many; default: work.retention_days.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Forget old texts, runs with their evidence, and model calls; items, and all urls ever seen, stay."""
    terminal = get_terminal()
    pruned = terminal.act(lambda app, by: app.retention.prune(days, by=by))
    if as_json:
        terminal.write_json(pruned)
    else:
        counts = [Message.of(f"pruned.{name}", number=count) for name, count in pruned]
        terminal.print("db.pruned", counts=counts)


@app.command()
def copy(
    url: Annotated[str, typer.Argument(metavar="URL", help="postgresql://user:password@host/name, or a SQLite file.")],
    replace: ReplaceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Copy everything into another database, which must be empty and at rest."""
    from monitor.db.maintenance import transfer_database

    terminal = get_terminal()
    settings = terminal.load_settings()
    asyncio.run(_check_not_in_use(settings, url))
    rows = transfer_database(settings.database_url, url, is_replacing=replace)
    _print_rows(terminal, rows, "db.copied", as_json=as_json)


def _print_rows(terminal: Terminal, rows: dict[str, int], code: str, *, as_json: bool) -> None:
    if as_json:
        terminal.write_json({"tables": rows})
        return
    terminal.write_table(("table", "rows"), sorted(rows.items()))
    terminal.print(code, rows=sum(rows.values()))


def _upgrade(settings: "Settings", url: str, *, has_backup: bool = True) -> Message:
    """Upgrade a database after its backup, which is noted as the newest one."""
    from monitor.clock import SystemClock
    from monitor.db.maintenance import upgrade_database

    return upgrade_database(url, data_dir=settings.data_dir, now=SystemClock().now(), has_backup=has_backup)


async def _back_up(settings: "Settings", file: Path) -> int:
    """Back up a database of whatever version, so no App is opened; return the file's size in bytes."""
    from monitor.clock import SystemClock
    from monitor.db.database import Store
    from monitor.services.audit import COMMAND_LINE
    from monitor.services.usage import StorageService

    async with Store.open(settings.database_url) as store:
        service = StorageService(store=store, clock=SystemClock(), settings=settings)
        return await service.back_up(file, by=COMMAND_LINE)


async def _check_not_in_use(settings: "Settings", url: str) -> None:
    """Migrate the database, and raise `UsageError` while a process works on it."""
    from monitor.clock import SystemClock
    from monitor.db.database import Store
    from monitor.db.engines import DatabaseAddress
    from monitor.jobs.presence import HeartbeatRegistry

    await asyncio.to_thread(_upgrade, settings, url)
    async with Store.open(url) as store:
        presence = HeartbeatRegistry(store=store, clock=SystemClock(), folder=settings.data_dir)
        working = sorted(await presence.list_alive())
    if working:
        raise UsageError("database.in_use", database=DatabaseAddress.parse(url).redacted_url, processes=working)
