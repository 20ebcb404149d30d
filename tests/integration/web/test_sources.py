"""The sources through pages and API: tried before they are kept, changed one by one and together, in and out."""

import asyncio
import datetime as dt
import re
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from monitor.config.model import Settings
from monitor.demo.site import SampleSite
from monitor.i18n.message import Message
from monitor.services.audit import COMMAND_LINE
from monitor.services.sources.trials import TrialReport

TODAY = dt.datetime.now(dt.UTC).date()
VALUES = {"name": "能源局", "url": "https://gov.example/", "tags": ["能源"], "schedule": "0 7 * * 1-5"}


@pytest.fixture
async def ministry() -> AsyncIterator[tuple[SampleSite, str]]:
    site = SampleSite(today=TODAY)
    async with site.serve() as base_url:
        yield site, base_url


@pytest.fixture
def desk_settings(ministry: tuple[SampleSite, str]) -> Callable[[Settings], Settings]:
    host = urlsplit(ministry[1]).netloc

    def change(settings: Settings) -> Settings:
        return settings.model_copy(
            update={
                "network": settings.network.model_copy(update={"allowed_private_hosts": [host]}),
                "pages": settings.pages.model_copy(update={"delay_s": 0.0, "render": "never"}),
            }
        )

    return change


async def ended(desk: Any, trial_id: str) -> TrialReport:
    async with asyncio.timeout(60):
        await asyncio.wait({desk.app.trials._jobs[trial_id].task})
    return desk.app.trials.get(trial_id)


def form_of(page: str) -> dict[str, list[str]]:
    """What a browser would send of the controls of the page, textareas and ticked boxes among them."""
    values: dict[str, list[str]] = {}
    for tag in re.findall(r"<input [^>]*>", page):
        attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        if "name" in attributes and (attributes.get("type") != "checkbox" or " checked" in tag):
            values.setdefault(attributes["name"], []).append(attributes.get("value", ""))
    for name, text in re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>\n?(.*?)</textarea>', page, flags=re.DOTALL):
        values.setdefault(name, []).append(text)
    return values


async def test_an_address_is_tried_then_kept_with_a_pinned_section(desk: Any, ministry: Any) -> None:
    site, base_url = ministry
    editor = await desk.sign_in("editor")
    answer = await editor.post("/sources/trials", {"url": f"{base_url}/", "focus_areas": "政策法规\n数据发布"})
    assert answer.status_code == 303, answer.text
    trial = answer.headers["location"]
    report = await ended(desk, trial.rpartition("/")[2])
    assert report.state == "done", report.error
    assert await desk.app.sources.list_sources() == []
    page = (await editor.get(trial)).text
    expected = [item for item in site.list_expected_items(base_url) if item.section == "政策法规"]
    assert expected[0].title in page
    sent = form_of(page)
    assert sent["name"] == [site.title]
    pin = next(value for value in re.findall(r'name="pin" value="([^"]+)"', page) if value.startswith("政策法规 "))
    saved = await editor.post("/sources", {**sent, "pin": pin, "tags": "能源\n部委"})
    assert saved.status_code == 303, saved.text
    (source,) = await desk.app.sources.list_sources()
    assert source.sections == [{"name": "政策法规", "url": pin.rpartition(" ")[2]}]
    assert (source.focus_areas, source.tags, source.enabled) == (["政策法规", "数据发布"], ["能源", "部委"], True)
    (run,) = await desk.app.store.runs.list()
    assert saved.headers["location"] == f"/runs/{run.id}", "what was read is its first run"
    entries = await desk.app.audit.list_entries(action="source")
    assert [(entry.person, entry.subject) for entry in entries] == [("editor", site.title)] * 2
    assert {entry.action for entry in entries} == {"source.add", "source.run"}


async def test_a_trial_tells_how_far_it_is_and_can_be_stopped(desk: Any, ministry: Any) -> None:
    site, base_url = ministry
    site.delay_s = 30
    editor = await desk.sign_in("editor")
    begun = await editor.send("POST", "/api/v1/sources/trials", json={"url": f"{base_url}/"})
    assert begun.status_code == 202
    trial = begun.json()["id"]
    assert (await editor.get(f"/api/v1/sources/trials/{trial}")).json()["state"] in ("waiting", "running")
    page = await editor.get(f"/sources/trials/{trial}")
    assert '<noscript><meta http-equiv="refresh"' in page.text
    steps = await editor.get(f"/sources/trials/{trial}/steps")
    assert steps.headers["x-trial-state"] in ("waiting", "running")
    stopped = await editor.send("DELETE", f"/api/v1/sources/trials/{trial}")
    assert stopped.json()["state"] == "cancelled"
    assert "试采已停止" in (await editor.get(f"/sources/trials/{trial}")).text


async def test_a_feed_is_found_out_and_a_dead_address_is_told(desk: Any, site: Any) -> None:
    feed = site.on(
        "/feed",
        "<rss><channel><title>通知</title><item><title>一则重要通知</title><link>/a</link></item></channel></rss>",
    )
    desk.app.loaders.allow_host(site.host)
    editor = await desk.sign_in("editor")
    begun = await editor.send("POST", "/api/v1/sources/trials", json={"url": feed})
    report = await ended(desk, begun.json()["id"])
    assert (report.result.kind, report.result.title) == ("feed", "通知")
    begun = await editor.send("POST", "/api/v1/sources/trials", json={"url": site.url("/nowhere")})
    report = await ended(desk, begun.json()["id"])
    assert report.result.status == "failed"
    page = (await editor.get(f"/sources/trials/{report.id}")).text
    assert 'role="alert"' in page


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_wrong_values_come_back_with_a_sentence_beside_each_field(desk: Any, language: str) -> None:
    await desk.app.sources.add(VALUES, by=COMMAND_LINE)
    editor = await desk.sign_in("editor", language=language)
    sent = {"name": "新", "url": "nowhere", "kind": "site", "schedule": "7 7", "window_days": "x", "rules": "<b>"}
    answer = await editor.post("/sources", sent)
    assert answer.status_code == 400
    text = dict(re.findall(r'<p class="error" id="f-(\w+)-error">([^<]+)</p>', answer.text))
    assert set(text) == {"window_days"}, "fields are checked first, then what they say together"
    assert "&lt;b&gt;</textarea>" in answer.text
    answer = await editor.post("/sources", {**sent, "window_days": "3"})
    text = dict(re.findall(r'<p class="error" id="f-(\w+)-error">([^<]+)</p>', answer.text))
    assert set(text) == {"url"}
    answer = await editor.post("/sources", {**sent, "window_days": "3", "url": "https://a.example/"})
    text = dict(re.findall(r'<p class="error" id="f-(\w+)-error">([^<]+)</p>', answer.text))
    assert "0 7 * * 1-5" in text["schedule"]
    answer = await editor.post("/sources", {"name": VALUES["name"], "url": "https://a.example/", "kind": "site"})
    text = dict(re.findall(r'<p class="error" id="f-(\w+)-error">([^<]+)</p>', answer.text))
    assert VALUES["name"] in text["name"]
    assert ("换一个名称" in text["name"]) is (language == "zh")


async def test_a_source_is_edited_whole_and_what_changed_is_on_record(desk: Any) -> None:
    source = await desk.app.sources.add(VALUES, by=COMMAND_LINE)
    editor = await desk.sign_in("editor")
    form = form_of((await editor.get(f"/sources/{source.id}/edit")).text)
    assert form["tags"] == ["能源"]
    answer = await editor.post(
        f"/sources/{source.id}/edit",
        {**form, "kind": "site", "schedule_kind": "weekdays", "name": "能源总署", "tags": "", "enabled": []},
    )
    assert answer.headers["location"] == f"/sources/{source.id}"
    edited = await desk.app.sources.get_by_id(source.id)
    assert (edited.name, edited.tags, edited.enabled, edited.schedule) == ("能源总署", [], False, VALUES["schedule"])
    (entry,) = await desk.app.audit.list_entries(action="source.edit")
    assert entry.detail["before"] == {"name": "能源局", "tags": ["能源"], "enabled": True}
    assert entry.detail["after"] == {"name": "能源总署", "tags": [], "enabled": False}
    patched = await editor.send("PATCH", f"/api/v1/sources/{source.id}", json={"window_days": 3})
    assert (patched.json()["window_days"], patched.json()["name"]) == (3, "能源总署")
    wrong = await editor.send("PATCH", f"/api/v1/sources/{source.id}", json={"windowdays": 3})
    assert (wrong.status_code, wrong.headers["content-type"]) == (422, "application/problem+json")


async def test_changes_are_tried_with_what_is_known_and_not_stored(desk: Any, ministry: Any) -> None:
    _, base_url = ministry
    source = await desk.app.sources.add({"name": "m", "url": base_url, "focus_areas": ["政策法规"]}, by=COMMAND_LINE)
    editor = await desk.sign_in("editor")
    form = form_of((await editor.get(f"/sources/{source.id}/edit")).text)
    answer = await editor.post(f"/sources/{source.id}/try", {**form, "kind": "site", "focus_areas": "人事任免"})
    report = await ended(desk, answer.headers["location"].rpartition("/")[2])
    assert [section.name for section in report.result.sections][:1] == ["人事任免"]
    assert (await desk.app.sources.get_by_id(source.id)).focus_areas == ["政策法规"]
    page = (await editor.get(f"/sources/trials/{report.id}")).text
    assert f'action="/sources/{source.id}/edit"' in page
    saved = await editor.post(f"/sources/{source.id}/edit", form_of(page))
    assert saved.status_code == 303, saved.text
    assert (await desk.app.sources.get_by_id(source.id)).focus_areas == ["人事任免"]


async def test_several_are_changed_together(desk: Any) -> None:
    ids = [(await desk.app.sources.add({**VALUES, "name": name}, by=COMMAND_LINE)).id for name in ("a", "b", "c")]
    editor = await desk.sign_in("editor")
    await editor.post("/sources/bulk", {"ids": ids[:2], "action": "tag", "tag": " 部委 "})
    await editor.post("/sources/bulk", {"ids": ids[1:], "action": "disable"})
    changed = await editor.send("POST", "/api/v1/sources/bulk", json={"ids": ids, "action": "untag", "tag": "能源"})
    assert sorted(changed.json()["changed"]) == sorted(ids)
    found = {source.name: (source.tags, source.enabled) for source in await desk.app.sources.list_sources()}
    assert found == {"a": (["部委"], True), "b": (["部委"], False), "c": ([], False)}
    back = await editor.post("/sources/bulk", {"ids": ids, "action": "enable", "back": "//evil.example/"})
    assert back.headers["location"] == "/"


async def test_all_sources_of_a_filter_get_a_schedule_and_are_removed_once_that_was_confirmed(desk: Any) -> None:
    for name in ("a", "b", "c"):
        await desk.app.sources.add({**VALUES, "name": name, "tags": ["x" if name == "c" else "y"]}, by=COMMAND_LINE)
    admin = await desk.sign_in("admin")
    whole = {"whole": "true", "back": "/sources?tag=y"}
    picked = {"action": "schedule", "schedule_kind": "weekly", "schedule_day": "2", "schedule_time": "08:15"}
    await admin.post("/sources/bulk", {**whole, **picked})
    found = {source.name: source.schedule for source in await desk.app.sources.list_sources()}
    assert found == {"a": "15 8 * * 2", "b": "15 8 * * 2", "c": VALUES["schedule"]}
    entries = await desk.app.audit.list_entries(action="source.edit")
    assert entries[0].detail == {"before": {"schedule": VALUES["schedule"]}, "after": {"schedule": "15 8 * * 2"}}
    asked = await admin.post("/sources/bulk/remove", whole)
    assert asked.status_code == 200
    assert len(await desk.app.sources.list_sources()) == 3
    ids = re.findall(r'name="ids" value="(\d+)"', asked.text)
    removed = await admin.post("/sources/bulk/remove", {"ids": ids, "confirmed": "true"})
    assert removed.headers["location"] == "/sources"
    assert [source.name for source in await desk.app.sources.list_sources()] == ["c"]
    refused = await admin.post("/sources/bulk/run", {"whole": "true"})
    assert refused.status_code == 400, "no worker is running"


async def test_a_new_source_runs_daily_unless_somebody_says_no(desk: Any) -> None:
    editor = await desk.sign_in("editor", language="en")
    for url, said in (("https://a.example/", {}), ("https://b.example/", {"schedule": "off"})):
        added = await editor.send("POST", "/api/v1/sources", json={"name": url, "url": url, **said})
        assert added.status_code == 201, added.text
    daily, by_hand = sorted(await desk.app.sources.list_sources(), key=lambda source: source.name)
    assert (daily.schedule, by_hand.schedule) == ("30 6 * * *", None)
    assert "daily at 06:30 (Asia/Shanghai)" in (await editor.get(f"/sources/{daily.id}")).text
    assert "by hand only" in (await editor.get(f"/sources/{by_hand.id}")).text
    form = form_of((await editor.get(f"/sources/{by_hand.id}/edit")).text)
    await editor.post(f"/sources/{by_hand.id}/edit", {**form, "kind": "site", "schedule_kind": "off", "rules": "x"})
    assert (await desk.app.sources.get_by_id(by_hand.id)).schedule is None


async def test_sections_are_pinned_moved_and_unpinned_with_one_button_each(desk: Any) -> None:
    sections = [{"name": name, "url": f"https://gov.example/{name}/"} for name in "abc"]
    source = await desk.app.sources.add({**VALUES, "sections": sections}, by=COMMAND_LINE)
    editor = await desk.sign_in("editor")

    async def press(change: str, name: str) -> str:
        answer = await editor.post(f"/sources/{source.id}/sections", {change: f"https://gov.example/{name}/"})
        assert answer.headers["location"] == f"/sources/{source.id}#sections"
        return "".join(section["name"] for section in (await desk.app.sources.get_by_id(source.id)).sections)

    assert await press("up", "c") == "acb"
    assert await press("down", "a") == "cab"
    assert await press("up", "c") == "cab", "the first one stays where it is"
    assert await press("unpin", "a") == "cb"
    assert await press("pin", "a") == "cb", "only what is known of the source can be pinned"


async def test_the_list_is_filtered_counted_and_paged(desk: Any) -> None:
    for number in range(5):
        await desk.app.sources.add({**VALUES, "name": f"s{number}", "enabled": number != 3}, by=COMMAND_LINE)
    failing = await desk.app.sources.get("s1")
    now = dt.datetime.now(dt.UTC)
    await desk.app.store.sources.update(
        "s1", consecutive_failures=2, last_run_at=now, last_error=Message.other("Timeout: slow (30 s)")
    )
    reader = await desk.sign_in("reader")
    first = (await reader.get("/api/v1/sources?limit=2")).json()
    rest = (await reader.get(f"/api/v1/sources?limit=3&cursor={first['next']}")).json()
    assert [source["name"] for source in first["sources"] + rest["sources"]] == ["s4", "s3", "s2", "s1", "s0"]
    assert rest["next"] is None
    (resting,) = (await reader.get("/api/v1/sources?state=resting")).json()["sources"]
    assert resting["name"] == "s1"
    assert resting["next_run_at"] > resting["resting_until"] > now.isoformat()
    page = (await reader.get("/sources?state=resting")).text
    assert "连续 2 次失败" in page
    assert "s4" not in page
    assert 'name="ids"' not in page, "a reader has nothing to tick"
    assert (await reader.get("/sources?q=S2")).text.count('<th scope="row">') == 1
    assert (await reader.get(f"/sources/{failing.id}")).status_code == 200
    assert (await reader.get("/api/v1/sources?cursor=x")).status_code == 400


async def test_of_a_list_the_good_rows_are_added_and_the_wrong_ones_come_back_with_reasons(desk: Any) -> None:
    await desk.app.sources.add(VALUES, by=COMMAND_LINE)
    admin = await desk.sign_in("admin")
    lines = ["name,url,tags", f"{VALUES['name']},{VALUES['url']},", "新一,https://a.example/,x; y", "neu,nowhere,"]
    upload = {
        "file": ("../../etc/passwd.csv", "\n".join([*lines, f"{VALUES['name']},https://b.example/,", '"x,y']).encode())
    }
    seen = (await admin.post("/sources/import", files=upload)).text
    assert len(await desk.app.sources.list_sources()) == 1
    for words in (
        "将添加 1 个来源",
        "1 项已有，跳过",
        "3 项无法导入",
        "“nowhere”不是网址",
        "请换一个名称",
        "不是有效的 CSV",
    ):
        assert words in seen
    stored = (await admin.post("/sources/import", {**form_of(seen), "store": "true"})).text
    assert "已添加 1 个来源" in stored
    assert 'name="store"' not in stored
    assert [source.name for source in await desk.app.sources.list_sources()] == ["新一", VALUES["name"]]
    assert len(await desk.app.audit.list_entries(action="source.import")) == 1
    answer = await admin.post("/sources/import/rejected", form_of(stored))
    assert answer.headers["content-disposition"] == 'attachment; filename="sources-rejected.csv"'
    returned = answer.content.decode("utf-8-sig")
    assert [line.partition(",")[2] for line in returned.splitlines()[:3]] == [
        "name,url,tags",
        lines[3],
        f"{VALUES['name']},https://b.example/,",
    ]
    corrected = {"file": ("again.csv", returned.replace("nowhere", "https://nowhere.example/").encode())}
    again = (await admin.post("/sources/import", files=corrected)).text
    assert "将添加 1 个来源" in again
    assert (await admin.post("/sources/import", {"text": ""})).status_code == 400
    too_long = {"file": ("list.yaml", b"#" * (2 * 1024 * 1024 + 1))}
    assert "2 MB" in (await admin.post("/sources/import", files=too_long)).text


@pytest.mark.parametrize("form", ["yaml", "opml", "csv", "xlsx"])
async def test_what_is_exported_can_be_imported(desk: Any, form: str) -> None:
    await desk.app.sources.add({**VALUES, "name": "=1+1"}, by=COMMAND_LINE)
    admin = await desk.sign_in("admin")
    exported = await admin.get(f"/api/v1/sources/export?format={form}")
    assert exported.headers["content-disposition"] == f'attachment; filename="sources.{form}"'
    assert (await admin.get(f"/sources/export?format={form}")).headers["content-type"] == exported.headers[
        "content-type"
    ]
    await admin.send("DELETE", "/api/v1/sources/1")
    kind = exported.headers["content-type"]

    async def send(query: str = "") -> Any:
        headers = {"X-CSRF-Token": admin.csrf, "Content-Type": kind}
        return await admin.client.post(f"/api/v1/sources/import{query}", content=exported.content, headers=headers)

    dry = await send("?dry_run=true")
    assert [entry["newness"] for entry in dry.json()["entries"]] == ["new"]
    assert dry.json()["added"] == []
    assert (await send()).json()["added"] == ["=1+1"]
    again = (await send()).json()
    assert (again["added"], again["entries"][0]["newness"], again["rejected"]) == ([], "known", "")
    (source,) = await desk.app.sources.list_sources()
    assert source.tags == ["能源"]


async def test_removing_is_asked_for_twice_and_for_administrators_alone(desk: Any) -> None:
    source = await desk.app.sources.add(VALUES, by=COMMAND_LINE)
    editor, admin = await desk.sign_in("editor"), await desk.sign_in("admin")
    assert (await editor.post(f"/sources/{source.id}/remove")).status_code == 403
    assert "条目和采集记录仍保留" in (await admin.get(f"/sources/{source.id}/remove")).text
    assert (await admin.post(f"/sources/{source.id}/remove")).status_code == 303
    assert await desk.app.sources.list_sources() == []
    assert (await admin.get(f"/sources/{source.id}")).status_code == 404
    assert (await admin.get(f"/api/v1/sources/{source.id}")).status_code == 404


async def test_a_run_needs_a_worker_and_is_asked_for_once(desk: Any) -> None:
    source = await desk.app.sources.add(VALUES, by=COMMAND_LINE)
    editor = await desk.sign_in("editor")
    refused = await editor.send("POST", f"/api/v1/sources/{source.id}/run")
    assert (refused.status_code, refused.json()["code"]) == (400, "run.no_worker")
    async with desk.app.presence.register("worker"):
        first = await editor.send("POST", f"/api/v1/sources/{source.id}/run")
        again = await editor.post(f"/sources/{source.id}/run")
    assert first.status_code == 202
    assert again.headers["location"] == f"/runs/{first.json()['run_id']}"
    run = await desk.app.store.runs.get(first.json()["run_id"])
    assert (run.status, run.source_id) == ("queued", source.id)


async def test_the_sample_ministry_is_served_watched_and_queued(desk: Any) -> None:
    admin, editor = await desk.sign_in("admin"), await desk.sign_in("editor")
    assert (await editor.post("/sources/sample")).status_code == 403
    assert (await admin.post("/sources/sample")).status_code == 400
    async with desk.app.presence.register("worker"):
        answer = await admin.post("/sources/sample")
        again = await admin.post("/sources/sample")
    assert answer.status_code == 303, answer.text
    assert again.headers["location"] == answer.headers["location"]
    (source,) = await desk.app.sources.list_sources(tag="sample")
    page = await desk.app.loaders.for_run().load(source.url)
    assert page.error is None, page.error
    assert source.name in page.site


async def test_steps_of_a_log_in_are_written_a_line_each_and_its_secrets_stored_on_its_page(desk: Any) -> None:
    editor = await desk.sign_in("editor")
    lines = [
        "open https://gov.example/login",
        "fill #password with secret GOV_PASSWORD",
        "click button",
        "wait for .account",
    ]
    form = {"name": "能源局", "url": "https://gov.example/", "whole": "true", "summary_language": "zh"}
    refused = await editor.post("/sources", {**form, "steps": "open https://elsewhere.example/\nclick a"})
    assert refused.status_code == 400
    assert "不属于该来源" in refused.text
    assert "open https://elsewhere.example/\nclick a</textarea>" in refused.text
    assert (await editor.post("/sources", {**form, "steps": "\n".join(lines)})).status_code == 303
    (source,) = await desk.app.sources.list_sources()
    shown = (await editor.get(f"/api/v1/sources/{source.id}")).json()["steps"]
    assert shown[1] == {"kind": "fill", "selector": "#password", "secret": "GOV_PASSWORD"}
    assert "\n".join(lines) in (await editor.get(f"/sources/{source.id}/edit")).text
    page = (await editor.get(f"/sources/{source.id}")).text
    assert "由管理员在此保存" in page
    assert 'name="secrets.GOV_PASSWORD"' not in page
    admin = await desk.sign_in("admin")
    assert 'name="secrets.GOV_PASSWORD"' in (await admin.get(f"/sources/{source.id}")).text
    stored = await admin.post(f"/sources/{source.id}/secrets", {"secrets.GOV_PASSWORD": "hunter2hunter2"})
    assert stored.status_code == 303
    (secret,) = [each for each in await desk.app.settings_service.list_secrets() if each.name == "GOV_PASSWORD"]
    assert (secret.is_set, secret.hosts, secret.used_by) == (True, ["gov.example"], "source.能源局")
    pages = [await admin.get(path) for path in (f"/sources/{source.id}", "/api/v1/settings", "/api/v1/sources/export")]
    assert all(answer.status_code == 200 and "hunter2" not in answer.text for answer in pages)
    assert "GOV_PASSWORD" in pages[2].text


async def test_steps_are_changed_through_the_api_as_lines_or_objects(desk: Any) -> None:
    source = await desk.app.sources.add(VALUES, by=COMMAND_LINE)
    editor = await desk.sign_in("editor", language="en")
    steps = ["open https://gov.example/login", {"kind": "click", "selector": "button"}]
    answer = await editor.send("PATCH", f"/api/v1/sources/{source.id}", json={"steps": steps})
    assert answer.status_code == 200, answer.text
    assert answer.json()["steps"] == [{"kind": "open", "url": "https://gov.example/login"}, steps[1]]
    answer = await editor.send("PATCH", f"/api/v1/sources/{source.id}", json={"steps": ["click button"]})
    assert (answer.status_code, "The first step must open a page" in answer.text) == (400, True), answer.text


async def test_a_trial_of_a_page_that_asks_to_log_in_says_so_alone_and_asks_for_the_steps(desk: Any, site: Any) -> None:
    desk.app.loaders.allow_host(site.host)
    editor = await desk.sign_in("editor", language="en")
    site.on("/", '<html><body><form action="/in"><input name="u"><input type="password" name="p"></form></body></html>')
    begun = await editor.post("/sources/trials", {"url": site.url("/")})
    trial = begun.headers["location"]
    await ended(desk, trial.rpartition("/")[2])
    page = (await editor.get(trial)).text
    assert "requires a log-in" in page
    assert "no list was found" not in page
    assert page.count('name="steps"') == 1
    assert '<textarea name="steps" hidden>' not in page
    again = await editor.post("/sources/trials", {"url": site.url("/"), "whole": "true", "kind": "", "name": "members"})
    report = await ended(desk, again.headers["location"].rpartition("/")[2])
    assert report.result is not None
    assert report.result.discovery is not None, "it is looked for once more"


async def test_an_address_that_robots_txt_refuses_is_not_offered_to_be_saved(desk: Any, site: Any) -> None:
    desk.app.loaders.allow_host(site.host)
    editor = await desk.sign_in("editor", language="en")
    site.on("/robots.txt", "User-agent: *\nDisallow: /\n")
    begun = await editor.post("/sources/trials", {"url": site.url("/")})
    trial = begun.headers["location"]
    await ended(desk, trial.rpartition("/")[2])
    page = (await editor.get(trial)).text
    assert "robots.txt" in page
    assert "Another address" in page
    assert 'name="whole"' not in page
