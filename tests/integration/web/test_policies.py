"""Policies over HTTP: the list goes on by cursor, a policy is shown whole and put right."""

import datetime as dt
from typing import Any

import pytest

from monitor.db.tables.collection import Item, Run, Source
from monitor.urls import url_key
from monitor.vocabulary import RunStatus

NOW = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)
NAMES = ("储能容量补偿管理办法", "电网公平开放监管办法", "电力市场信息披露规定")


@pytest.fixture
async def filed(desk: Any) -> list[int]:
    """Three items, each of which begins a policy."""
    store = desk.app.store
    source = await store.sources.add(Source(name="局", url="https://a.example/", created_at=NOW))
    await store.runs.create(Run(id="run", source_id=source.id, source="局", status=RunStatus.SUCCEEDED, planned_at=NOW))
    ids = []
    for number, name in enumerate(NAMES, start=1):
        url = f"https://a.example/{number}.html"
        item = Item(
            source_id=source.id,
            run_id="run",
            source="局",
            section="s",
            url=url,
            url_key=url_key(url),
            title=f"国家能源局关于印发《{name}》的通知",
            date=dt.date(2026, 11, number),
            issuer="国家能源局",
            first_seen=NOW,
        )
        saved, _ = await store.items.save(item)
        await store.items.update(saved.id or 0, text=f"第一条 制定本办法。\n第{number}号。自2050年1月1日起施行。")
        ids.append(saved.id or 0)
    await desk.app.policies.file_documents("run")
    return ids


@pytest.fixture
async def reader(desk: Any) -> Any:
    return await desk.program("reader")


async def test_the_list_goes_on_where_it_ended(reader: Any, filed: list[int]) -> None:
    first = (await reader.get("/api/v1/policies?limit=2")).json()
    rest = (await reader.get(f"/api/v1/policies?limit=2&cursor={first['next']}")).json()
    assert {policy["name"] for policy in [*first["policies"], *rest["policies"]]} == set(NAMES)
    assert rest["next"] is None
    [found] = (await reader.get("/api/v1/policies?q=储能&stage=final&source=局")).json()["policies"]
    assert (found["documents"], found["next_deadline"]) == (1, "2050-01-01")
    assert (await reader.get("/api/v1/policies?stage=repeal")).json()["policies"] == []
    assert (await reader.get("/api/v1/policies?cursor=x")).status_code == 400


async def test_a_policy_is_shown_whole_and_an_item_names_it(reader: Any, filed: list[int]) -> None:
    [found] = (await reader.get("/api/v1/policies?q=储能")).json()["policies"]
    file = (await reader.get(f"/api/v1/policies/{found['id']}")).json()
    assert [(member["id"], member["stage"], member["reason_code"]) for member in file["members"]] == [
        (filed[0], "final", "policy.started")
    ]
    assert [(day["item"], day["kind"], day["day"]) for day in file["deadlines"]] == [
        (filed[0], "in_force", "2050-01-01")
    ]
    item = (await reader.get(f"/api/v1/items/{filed[0]}")).json()
    assert (item["policy"], item["facts"]["stage"]) == ({"id": found["id"], "name": NAMES[0]}, "final")


async def test_an_editor_puts_policies_right(desk: Any, reader: Any, filed: list[int]) -> None:
    editor = await desk.program("editor")
    ids = {row["name"]: row["id"] for row in (await editor.get("/api/v1/policies")).json()["policies"]}
    first, second = (ids[name] for name in NAMES[:2])
    assert (await editor.post(f"/api/v1/policies/{second}/documents", json={"item": filed[0]})).status_code == 200
    assert (await editor.delete(f"/api/v1/policies/{first}/documents/{filed[0]}")).status_code == 204
    assert (await editor.get(f"/api/v1/policies/{first}")).status_code == 404
    renamed = await editor.patch(f"/api/v1/policies/{second}", json={"name": "并网"})
    assert (renamed.json()["name"], renamed.json()["documents"]) == ("并网", 2)
    assert (await editor.post("/api/v1/policies", json={"item": filed[0]})).status_code == 409
    noted = await reader.post(f"/api/v1/policies/{second}/notes", json={"text": "看第九条"})
    assert noted.status_code in (201, 403)  # a reader's token may be for reading alone
    refused = await reader.patch(f"/api/v1/policies/{second}", json={"name": "x"})
    assert refused.status_code == 403
    compared = await editor.get(f"/api/v1/policies/{second}/comparison?before={filed[0]}&after={filed[1]}")
    assert compared.json()["edits"]
