"""Client profiles: kept under a name, filled into the form of a briefing, and of a team like briefings."""

import re
from typing import Any

from monitor.config.targets import TargetSettings
from monitor.services.audit import COMMAND_LINE
from monitor.services.topic_form import TopicForm
from tests.integration.web.conftest import Browser

API = "/api/v1/briefings/profiles"


async def open_editor(desk: Any) -> Browser:
    desk.app.settings.deliver.targets = [TargetSettings(name="north", url="https://127.0.0.1:9/")]
    await desk.app.topics.create(TopicForm(name="储能", words=["储能"]), by=COMMAND_LINE)
    return await desk.sign_in("editor", language="en")


async def test_a_profile_is_kept_and_fills_the_form_of_a_briefing(desk: Any) -> None:
    editor = await open_editor(desk)
    form = {"name": "North Power", "topic": "储能", "days": "7", "top": "5", "group": "source", "keyword": "容量、电价"}
    added = await editor.post("/briefings/profiles", {**form, "language": "zh", "type": "法规", "target": "north"})
    assert added.headers["location"].startswith("/briefings/profiles"), added.text
    (profile,) = (await editor.get(API)).json()["profiles"]
    assert (profile["name"], profile["days"], profile["targets"]) == ("North Power", 7, ["north"])
    page = (await editor.get(f"/briefings/new?profile={profile['id']}")).text
    assert re.search(r'name="days"[^>]*value="7"', page)
    assert re.search(r'<option value="储能" selected>', page)
    assert re.search(r'<option value="source" selected>', page)
    assert re.search(r'value="法规" checked', page)
    assert re.search(r'name="keyword"[^>]*value="容量、电价"', page)
    own = f"/briefings/profiles/{profile['id']}"
    assert "North Power" in (await editor.get(own)).text
    await editor.post(own, {**form, "name": "North", "days": "3"})
    assert (await editor.get(f"{API}/{profile['id']}")).json()["days"] == 3
    await editor.post(f"{own}/remove")
    assert (await editor.get(API)).json()["profiles"] == []
    acts = {act for act in await desk.app.audit.list_actions() if act.startswith("client_profile")}
    assert acts == {"client_profile.add", "client_profile.edit", "client_profile.remove"}


async def test_a_profile_names_nothing_that_is_not_there_and_no_name_twice(desk: Any) -> None:
    editor = await open_editor(desk)
    program = await desk.program("editor")
    for wrong in ({"topic": "nowhere"}, {"sources": ["nowhere"]}, {"targets": ["nowhere"]}, {"days": 0}, {"name": " "}):
        answer = await program.post(API, json={"name": "x"} | wrong)
        assert answer.status_code in (400, 404, 422), (wrong, answer.text)
    wrong_page = await editor.post("/briefings/profiles", {"name": "x", "keyword": "kept", "topic": "nowhere"})
    assert (wrong_page.status_code, 'value="kept"' in wrong_page.text) == (400, True), (
        "what was typed still stands there"
    )
    first, second = [(await program.post(API, json={"name": name})).json()["id"] for name in ("x", "y")]
    assert (await program.post(API, json={"name": "x"})).status_code == 409
    assert (await program.put(f"{API}/{second}", json={"name": "x"})).status_code == 409
    assert (await program.put(f"{API}/{first}", json={"name": "x", "top": 3})).json()["top"] == 3


async def test_a_name_of_another_teams_client_is_neither_seen_nor_taken(desk: Any) -> None:
    stranger = await open_editor(desk)
    await desk.app.teams.create("Energy", by=COMMAND_LINE)
    admin = await desk.sign_in("admin")
    made = await admin.send("POST", API, json={"name": "Secret Client", "team": "Energy"})
    assert made.status_code == 201, made.text
    assert (await stranger.get(API)).json()["profiles"] == []
    assert (await stranger.get(f"{API}/{made.json()['id']}")).status_code == 404
    assert (await stranger.send("POST", API, json={"name": "Secret Client"})).status_code == 201
    assert (await stranger.send("POST", API, json={"name": "z", "team": "Energy"})).status_code == 404
