"""The archive goes to a folder or a bucket: each version of each item once, whatever is killed between the steps."""

import asyncio
import datetime as dt
import json
import random
import shutil
import socket
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import uvicorn
import yaml
from nanio.app import build_app
from nanio.auth.credentials import StaticCredentialResolver
from nanio.config import Settings as NanioSettings
from pyarrow import parquet

from monitor.bootstrap import App, open_app
from monitor.config.export import BucketSettings, ExportSettings
from monitor.config.model import Settings
from monitor.db.tables.collection import Item, Run
from monitor.db.tables.exports import ExportFormat
from monitor.errors import Conflict, NotFound, UsageError
from monitor.services.archive_export import ArchiveExporter, ExportDetail, ExportForm, ExportPatch
from monitor.services.audit import COMMAND_LINE
from monitor.vocabulary import RunStatus
from tests.integration.power import Disk, PowerLossError

KEY_ID, SECRET = "AKIAEXAMPLE", "a secret of forty letters and some more"
one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


async def renew() -> bool:
    return True


class Stage:
    """The program over one database, with a folder for its exports."""

    def __init__(self, app: App, clock: Any, folder: Path) -> None:
        self.app = app
        self.store = app.store
        self.clock = clock
        self.folder = folder
        self._count = 0

    async def save_item(self, day: str = "2026-02-03", **fields: Any) -> Item:
        self._count += 1
        url = f"https://bureau.example/{self._count}"
        values = {"section": "news", "first_seen": self.clock.now(), "source": "bureau", "run_id": "r"}
        values |= {"url": url, "url_key": url, "title": f"通知 {self._count}", "date": dt.date.fromisoformat(day)}
        return (await self.store.items.save(Item(**values | fields)))[0]

    async def add(self, name: str = "lake", **fields: Any) -> None:
        await self.app.archive_exports.add(ExportForm(name=name, **fields), by=COMMAND_LINE)

    async def run(self, name: str = "lake", renew: Callable[[], Awaitable[bool]] = renew) -> str | None:
        """What a worker does that has just started; returns why it failed."""
        exporter = ArchiveExporter(store=self.store, clock=self.clock, settings=self.app.settings)
        export = await self.store.exports.get(name)
        assert export is not None
        error = await exporter.run(export, renew)
        return error and error.code

    async def show(self, name: str = "lake") -> ExportDetail:
        return await self.app.archive_exports.get(name, by=COMMAND_LINE)

    def read_lines(self, name: str = "lake") -> list[dict[str, Any]]:
        """What a firm's own tool reads: the rows of the files that the lists of files name."""
        listed = [json.loads(file.read_bytes()) for file in sorted((self.folder / name / "_batches").glob("*.json"))]
        files = [self.folder / name / path for entry in listed for path in entry["files"]]
        assert sorted(files) == sorted((self.folder / name).glob("day=*/*")), "no other file, and no draft"
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.fixture
async def stage(settings: Settings, clock: Any, tmp_path: Path) -> AsyncIterator[Stage]:
    folder = tmp_path / "exports"
    folder.mkdir()
    async with open_app(settings.model_copy(update={"export": ExportSettings(folder=folder)})) as app:
        app.clock = clock
        yield Stage(app, clock, folder)


def list_versions(rows: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(row["id"], row["version"]) for row in rows]


async def test_each_version_of_an_item_is_written_once_in_the_partition_of_its_first_day(stage: Stage) -> None:
    first, second = await stage.save_item(), await stage.save_item("2026-02-04")
    await stage.add()
    assert await stage.run() is None
    assert list_versions(stage.read_lines()) == [(first.id, 1), (second.id, 1)]
    assert await stage.run() is None
    assert len(stage.read_lines()) == 2, "nothing changed"
    later = await stage.save_item()
    await stage.store.items.update(second.id or 0, summary="改了。", date=dt.date(2026, 2, 9))
    assert await stage.run() is None
    rows = stage.read_lines()
    assert list_versions(rows)[2:] == [(later.id, 1), (second.id, 2)]
    assert (rows[-1]["partition"], rows[-1]["date"], rows[-1]["summary"]) == ("2026-02-04", "2026-02-09", "改了。")
    detail = await stage.show()
    assert (detail.exported_items, [batch.items for batch in detail.batches]) == (3, [2, 2])
    written = await stage.app.audit.list_entries(action="export.write")
    assert [(entry.subject, entry.detail) for entry in written] == [("lake", {"items": 2})] * 2


@one_database
@pytest.mark.parametrize("survived", range(9))
async def test_a_kill_at_any_moment_costs_no_version_and_doubles_none(stage: Stage, survived: int) -> None:
    """The task ends when it asks for the time or renews its claim: before, between and after the files, unrecorded."""
    items = [await stage.save_item(f"2026-02-0{day}") for day in (3, 4, 5)]
    await stage.add()
    left = iter(range(survived))
    now = stage.clock.now

    def kill() -> None:
        task = asyncio.current_task()
        if next(left, None) is None and task is not None:
            task.cancel()

    def give_time() -> dt.datetime:
        kill()
        return now()  # type: ignore[no-any-return]

    async def claim() -> bool:
        kill()
        return True

    stage.clock.now = give_time
    with suppress(asyncio.CancelledError):
        await asyncio.create_task(stage.run(renew=claim))
    stage.clock.now = now
    changed = items[0].id or 0
    await stage.store.items.update(changed, summary="改了。")
    assert await stage.run() is None
    assert await stage.run() is None
    rows = stage.read_lines()
    assert len(set(list_versions(rows))) == len(rows)
    assert {row["id"] for row in rows} == {item.id for item in items}
    assert [row for row in rows if row["id"] == changed][-1]["summary"] == "改了。"


@one_database
@pytest.mark.parametrize("is_killed_before", [False, True])
@pytest.mark.parametrize("survived", range(0, 60, 3))
async def test_a_loss_of_power_between_write_and_record_loses_no_version(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, survived: int, is_killed_before: bool
) -> None:
    """What is on record as written is on the disk; what is on the disk and not on record is written once more.

    In the other half of the cases the process is killed at that moment, the next one goes on, and then the power goes.
    """
    items = [await stage.save_item(f"2026-02-0{day}") for day in (3, 4)]
    await stage.add()
    disk = Disk(stage.folder, monkeypatch, random.Random(survived))  # noqa: S311
    disk.left = survived
    with suppress(PowerLossError):
        await stage.run()
    disk.left = None
    if is_killed_before:
        assert await stage.run() is None
    (left := tmp_path / "left").mkdir()
    disk.restore(left)
    shutil.rmtree(stage.folder)
    left.rename(stage.folder)
    recorded = (await stage.show()).batches
    for batch in recorded if all(batch.ended_at for batch in recorded) else []:
        assert (len(stage.read_lines()), batch.files) == (batch.items, len(items) + 1)
    assert len(recorded) == 1 or not is_killed_before
    assert await stage.run() is None
    assert sorted(list_versions(stage.read_lines())) == [(item.id, 1) for item in items]


@one_database
async def test_a_changed_export_goes_on_in_its_new_form_and_place_and_leaves_what_is_out(stage: Stage) -> None:
    exports = stage.app.archive_exports
    first = await stage.save_item()
    await stage.add(schedule="0 5 * * *")
    assert await stage.run() is None
    changed = await exports.edit("lake", ExportPatch(format=ExportFormat.MARKDOWN), by=COMMAND_LINE)
    assert (changed.format, changed.schedule, changed.bucket) == (ExportFormat.MARKDOWN, "0 5 * * *", None)
    assert await stage.run() is None
    assert list_versions(stage.read_lines()) == [(first.id, 1)], "what is out is not written again"
    second = await stage.save_item()
    assert await stage.run() is None
    written = {file.name for file in stage.folder.glob("lake/day=*/*")}
    assert written == {file.name for file in stage.folder.glob("lake/day=*/*.jsonl")} | {f"item-{second.id}.md"}
    assert (await stage.show()).exported_items == 2
    with pytest.raises(UsageError):
        await exports.edit("lake", ExportPatch(bucket="nowhere"), by=COMMAND_LINE)
    with pytest.raises(NotFound):
        await exports.edit("lake", ExportPatch(team="nobody"), by=COMMAND_LINE)
    team = await stage.app.teams.create("Energy", by=COMMAND_LINE)
    assert (await exports.edit("lake", ExportPatch(team="Energy"), by=COMMAND_LINE)).team_id == team.id
    assert (await exports.edit("lake", ExportPatch(team=None, schedule=""), by=COMMAND_LINE)).team_id is None
    acts = [entry.detail for entry in await stage.app.audit.list_entries(action="export.edit")]
    assert acts[0] == {"before": {"schedule": "0 5 * * *", "team": "Energy"}, "after": {"schedule": None, "team": None}}


@pytest.mark.parametrize("survived", range(5))
async def test_an_export_that_is_changed_while_it_runs_writes_no_version_in_two_forms(
    stage: Stage, survived: int
) -> None:
    items = [await stage.save_item(f"2026-02-0{day}") for day in (3, 4)]
    await stage.add()
    left, refused = iter(range(survived)), []

    async def change() -> None:
        try:
            await stage.app.archive_exports.edit("lake", ExportPatch(format=ExportFormat.MARKDOWN), by=COMMAND_LINE)
        except Conflict as error:
            refused.append(error.message.code)

    async def claim() -> bool:
        if next(left, None) is None and not refused:
            await change()
            return False  # and the lease is lost: another process goes on
        return True

    before = await stage.store.exports.get("lake")
    assert before is not None
    if survived == 4:
        await change()  # after the exporter has looked what is due
    exporter = ArchiveExporter(store=stage.store, clock=stage.clock, settings=stage.app.settings)
    error = await exporter.run(before, claim)
    assert refused == (["export.is_writing"] if survived < 3 else [])
    assert (error.code if error else None) == (
        "export.busy" if survived < 3 else "export.changed_meanwhile" if survived == 4 else None
    )
    if survived == 3:
        assert (await stage.show()).exported_items == 2
        await change()
    assert await stage.run() is None
    forms = {file.suffix for file in stage.folder.glob("lake/day=*/*")}
    assert forms == ({".md"} if survived == 4 else {".jsonl"})
    assert (await stage.show()).exported_items == len(items)


@one_database
async def test_what_a_run_is_still_reading_and_what_is_hidden_waits(stage: Stage) -> None:
    await stage.store.runs.create(Run(id="r", source="bureau", planned_at=stage.clock.now(), status=RunStatus.RUNNING))
    item = await stage.save_item()
    await stage.add()
    await stage.run()
    assert not list(stage.folder.glob("*"))
    await stage.store.runs.abandon("r", reason=None, at=stage.clock.now(), executor=None)
    await stage.run()
    assert list_versions(stage.read_lines()) == [(item.id, 1)]


@one_database
async def test_an_export_of_no_team_has_what_belongs_to_all_alone(stage: Stage) -> None:
    team = await stage.store.teams.add("Energy", stage.clock.now())
    assert team is not None
    open_item = await stage.save_item()
    secret = await stage.save_item()
    await stage.store.teams.assign(Item, secret.id or 0, team.id)
    await stage.add()
    await stage.add("energy", team="Energy")
    await stage.run()
    await stage.run("energy")
    assert list_versions(stage.read_lines()) == [(open_item.id, 1)]
    assert list_versions(stage.read_lines("energy")) == [(open_item.id, 1), (secret.id, 1)]


@one_database
async def test_markdown_is_a_file_for_each_item_that_its_next_version_replaces(stage: Stage) -> None:
    item = await stage.save_item(title="--- # <b>Notice</b>", summary="One.\n---\nTwo.", issuer="x: [y]")
    await stage.add(format="md")
    await stage.run()
    file = stage.folder / "lake" / "day=2026-02-03" / f"item-{item.id}.md"
    _, front, body = file.read_text().split("---\n", 2)
    facts = yaml.safe_load(front)
    assert (facts["title"], facts["issuer"], facts["version"]) == (item.title, "x: [y]", 1)
    assert "<b>" not in body
    assert "One." in body
    await stage.store.items.update(item.id or 0, summary="Three.")
    await stage.run()
    assert "Three." in file.read_text()
    assert len(list(stage.folder.glob("lake/day=*/*"))) == 1


@one_database
async def test_parquet_has_one_schema_whatever_is_in_the_files(stage: Stage) -> None:
    full = await stage.save_item(
        rank=1,
        statements={"supported_by_code": 2},
        attachments=[{"title": "a", "url": "https://a.gov/a", "type": "pdf"}],
    )
    await stage.save_item("2026-02-04", page_date=dt.date(2026, 2, 5), title="half \ud83d a pair")
    await stage.add(format="parquet")
    assert await stage.run() is None
    files = sorted(stage.folder.glob("lake/day=*/*.parquet"))
    assert len({str(parquet.read_schema(file)) for file in files}) == 1
    (row,) = parquet.read_table(files[0], partitioning=None).to_pylist()
    assert (row["id"], row["partition"], row["statements"]) == (
        full.id,
        dt.date(2026, 2, 3),
        [("supported_by_code", 2)],
    )
    assert row["attachments"][0]["type"] == "pdf"


@one_database
async def test_files_have_the_permissions_of_the_folder_and_a_missing_folder_is_a_failure_that_heals(
    stage: Stage,
) -> None:
    stage.folder.chmod(0o750)
    await stage.save_item()
    await stage.add(schedule="0 5 * * *")
    moved = stage.folder.rename(stage.folder.with_name("moved"))
    assert await stage.run() == "export.no_such_folder"
    detail = await stage.show()
    assert detail.failing_since == stage.clock.now()
    assert detail.next_at == stage.clock.now() + dt.timedelta(minutes=1)
    moved.rename(stage.folder)
    assert await stage.run() is None
    detail = await stage.show()
    assert (detail.failing_since, detail.last_error, detail.last_success_at) == (None, None, stage.clock.now())
    assert detail.next_at is not None
    assert detail.next_at > stage.clock.now()
    assert {stat.S_IMODE(path.stat().st_mode) for path in stage.folder.glob("lake/day=*/*")} == {0o640}
    assert {stat.S_IMODE(path.stat().st_mode) for path in stage.folder.glob("lake/*")} == {0o750}


@one_database
async def test_a_name_is_one_folder_and_a_place_must_be_configured(stage: Stage) -> None:
    for name in ("..", ".hidden", "a/b", "", "a b", "x" * 41, "é"):
        with pytest.raises(ValueError, match="name"):
            ExportForm(name=name)
    with pytest.raises(UsageError):
        await stage.add(bucket="nowhere")
    await stage.add()
    with pytest.raises(Conflict):
        await stage.add()
    with pytest.raises(UsageError):
        await stage.app.archive_exports.edit("lake", ExportPatch(schedule="at noon"), by=COMMAND_LINE)
    await stage.app.archive_exports.request_run("lake", by=COMMAND_LINE)
    assert [export.name for export in await stage.store.exports.list_due(stage.clock.now())] == ["lake"]
    await stage.app.archive_exports.remove("lake", by=COMMAND_LINE)
    with pytest.raises(NotFound):
        await stage.show()


@contextmanager
def serve_bucket(folder: Path) -> Iterator[str]:
    """An S3 server on loopback that verifies signatures; gives its address."""
    keys = StaticCredentialResolver({KEY_ID: SECRET})
    (folder / "lake").mkdir(parents=True)
    app = build_app(NanioSettings(data_dir=folder, credentials=keys))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@one_database
async def test_a_bucket_gets_the_same_files_and_a_wrong_key_is_said(
    settings: Settings, clock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKE_KEY_ID", KEY_ID)
    monkeypatch.setenv("LAKE_SECRET", "of another store")
    with serve_bucket(tmp_path / "s3") as address:
        bucket = BucketSettings(
            name="s3",
            endpoint=address,
            bucket="lake",
            prefix="from/monitor/",
            key_id_env="LAKE_KEY_ID",
            secret_env="LAKE_SECRET",  # noqa: S106
        )
        async with open_app(settings.model_copy(update={"export": ExportSettings(buckets=[bucket])})) as app:
            app.clock = clock
            stage = Stage(app, clock, tmp_path / "s3" / "lake" / "from" / "monitor")
            await stage.save_item()
            await stage.add(bucket="s3")
            assert await stage.run() == "export.bucket_refused"
            error = (await stage.show()).last_error
            assert error is not None
            assert (error.args["status"], error.args["code"]) == (403, "SignatureDoesNotMatch")
            monkeypatch.setenv("LAKE_SECRET", SECRET)
            assert await stage.run() is None
            assert [row["version"] for row in stage.read_lines()] == [1]
            monkeypatch.delenv("LAKE_SECRET")
            await stage.save_item()
            assert await stage.run() == "export.variable_not_set"
