"""Sources that are added many at once, or one by one by a program or a command, for a team."""

import base64

from monitor.services.audit import COMMAND_LINE
from tests.integration.web.conftest import Desk

LIST = "- name: {0}\n  url: https://{0}.example.org/\n"


async def test_a_program_adds_sources_for_a_team(desk: Desk) -> None:
    admin = await desk.program("admin")
    await desk.app.teams.create("Energy", by=COMMAND_LINE)
    made = await admin.post("/api/v1/sources?team=Energy", json={"name": "one", "url": "https://one.example.org/"})
    assert made.status_code == 201, made.text
    kind = {"Content-Type": "application/yaml"}
    listed = await admin.post("/api/v1/sources/import?team=Energy", content=LIST.format("many"), headers=kind)
    assert listed.json()["added"] == ["many"]
    energy = (await desk.app.store.teams.list_names()).popitem()[0]
    assert {source.name: source.team_id for source in await desk.app.sources.list_sources()} == {
        "one": energy,
        "many": energy,
    }
    editor = await desk.sign_in("editor")
    assert (await editor.get("/api/v1/sources")).json()["sources"] == [], "it is in no team"
    lost = await admin.post("/api/v1/sources?team=Water", json={"name": "x", "url": "https://x.example.org/"})
    assert lost.status_code == 404
    unknown = await admin.post("/api/v1/catalogue/add", json={"ids": ["cn-nea"], "team": "Water"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "team.not_found")


async def test_whoever_imports_a_list_or_adds_bodies_chooses_the_team(desk: Desk) -> None:
    admin = await desk.sign_in("admin", language="en")
    assert "Who sees it" not in (await admin.get("/sources/catalogue")).text, "nobody made a team"
    await desk.app.teams.create("Energy", by=COMMAND_LINE)
    assert "Who sees it" in (await admin.get("/sources/catalogue")).text
    seen = (await admin.post("/sources/import", {"text": LIST.format("many")})).text
    assert "Who sees it" in seen
    packed = base64.b64encode(LIST.format("many").encode()).decode()
    await admin.post("/sources/import", {"packed": packed, "form": "yaml", "store": "true", "team": "Energy"})
    (source,) = await desk.app.sources.list_sources()
    assert (await desk.app.teams.get_name(source.team_id), source.name) == ("Energy", "many")
