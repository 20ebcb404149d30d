"""Scheduled exports on the desk and over the API: added, changed, and what a change leaves alone."""

from pathlib import Path

from monitor.config.export import BucketSettings, ExportSettings
from tests.integration.web.conftest import Desk

LAKE = BucketSettings(
    name="lake",
    endpoint="https://s3.example.org",
    bucket="firm-lake",
    key_id_env="LAKE_KEY",
    secret_env="LAKE_SECRET",  # noqa: S106 -- the name of a variable
)


async def test_an_export_is_changed_on_the_desk_and_a_refused_change_stands_in_the_form(
    desk: Desk, tmp_path: Path
) -> None:
    desk.app.settings.export = ExportSettings(folder=tmp_path, buckets=[LAKE])
    admin = await desk.sign_in("admin", language="en")
    wanted = {"name": "warehouse", "format": "jsonl", "schedule": "0 5 * * *", "bucket": ""}
    assert (await admin.post("/settings/exports", wanted)).status_code == 303
    assert "Change the export" in (await admin.get("/settings/exports/warehouse")).text
    changed = {"format": "md", "schedule": "", "bucket": "lake"}
    assert (await admin.post("/settings/exports/warehouse/edit", changed)).status_code == 303
    export = await desk.app.store.exports.get("warehouse")
    assert export is not None
    assert (export.format, export.schedule, export.bucket, export.next_at) == ("md", None, "lake", None)
    refused = await admin.post("/settings/exports/warehouse/edit", {**changed, "schedule": "at noon"})
    assert refused.status_code == 400
    assert 'value="at noon"' in refused.text

    desk.app.settings.export = ExportSettings(folder=tmp_path)
    kept = await admin.post("/settings/exports/warehouse/edit", {**changed, "schedule": "0 6 * * *"})
    assert kept.status_code == 303, "a place that is no longer configured hinders no other change"
    export = await desk.app.store.exports.get("warehouse")
    assert export is not None
    assert (export.schedule, export.bucket) == ("0 6 * * *", "lake")
    assert '<option value="lake" selected>' in (await admin.get("/settings/exports/warehouse")).text


async def test_a_program_changes_what_it_names_and_a_batch_under_way_holds_the_rest(desk: Desk, tmp_path: Path) -> None:
    desk.app.settings.export = ExportSettings(folder=tmp_path)
    admin = await desk.program("admin")
    (await admin.post("/api/v1/exports", json={"name": "warehouse", "schedule": "0 5 * * *"})).raise_for_status()
    address = "/api/v1/exports/warehouse"
    assert (await admin.patch(address, json={"format": "md"})).json()["schedule"] == "0 5 * * *"
    unknown = await admin.patch(address, json={"bucket": "nowhere"})
    assert (unknown.status_code, unknown.json()["code"]) == (400, "export.no_such_bucket")
    assert (await admin.patch(address, json={"name": "other"})).status_code == 422
    export = await desk.app.store.exports.get("warehouse")
    assert export is not None
    assert await desk.app.store.exports.open_batch(export, [], at=desk.app.clock.now())
    held = await admin.patch(address, json={"format": "jsonl"})
    assert (held.status_code, held.json()["code"]) == (409, "export.is_writing")
    assert (await admin.patch(address, json={"format": "md", "schedule": None})).json()["schedule"] is None
