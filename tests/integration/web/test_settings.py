"""The Settings pages and their API: change the model endpoint and test it, what is refused, what stays secret."""

import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from benchmarks.scripted_model.server import ScriptedModel
from monitor.config.model import NetworkSettings, Settings
from monitor.services.audit import COMMAND_LINE
from monitor.services.channel_setup import SetupChannel
from monitor.services.settings import KEY_VARIABLE

PAGES = ["", "/model", "/prompts", "/prompts/ranking.user.en", "/search", "/limits", "/network", "/storage"]
SECRET = "sk-nobody-may-see-this"  # noqa: S105 -- it is looked for in all that is shown


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "BRAVE_API_KEY", KEY_VARIABLE):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def address() -> AsyncIterator[str]:
    async with ScriptedModel(api_key=SECRET, models=["gpt-5"]).serve() as url:
        yield url


@pytest.fixture
def desk_settings(address: str) -> Callable[[Settings], Settings]:
    """The model's server is on this machine, so whoever runs the service has to allow it."""
    network = NetworkSettings(allowed_private_hosts=[urlsplit(address).netloc])
    return lambda settings: settings.model_copy(update={"network": network})


async def audit_of(desk: Any) -> list[tuple[str, str, dict[str, Any]]]:
    entries = [entry for entry in await desk.app.audit.list_entries(limit=100) if "sign_in" not in entry.action]
    return [(entry.action, entry.subject, entry.detail) for entry in entries]


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_every_page_opens_in_both_languages(desk: Any, language: str) -> None:
    admin = await desk.sign_in("admin", language=language)
    for page in PAGES:
        answer = await admin.get(f"/settings{page}")
        assert answer.status_code == 200, page
        assert answer.text.count("<h1>") == 1


async def test_only_administrators_get_there(desk: Any) -> None:
    for role in ("reader", "editor"):
        browser = await desk.sign_in(role)
        assert {(await browser.get(f"/settings{page}")).status_code for page in PAGES} == {403}
        assert (await browser.send("PATCH", "/api/v1/settings", json={"llm.model": "m"})).status_code == 403


async def test_the_model_endpoint_is_changed_and_tested_in_one_go(desk: Any, address: str) -> None:
    admin = await desk.sign_in("admin", language="en")
    assert "every phase works by rule" in (await admin.post("/settings/model/test")).text
    values = {"llm.base_url": address, "secrets.OPENAI_API_KEY": "sk-wrong", "then": "test"}
    refused = await admin.post("/settings/model", values)
    assert "refused the key in OPENAI_API_KEY" in refused.text
    answered = await admin.post("/settings/model", {"secrets.OPENAI_API_KEY": SECRET, "then": "test"})
    assert "The model can do every phase." in answered.text
    assert "It calls tools and goes on with their results." in answered.text
    unknown = await admin.post("/settings/model", {"llm.models:rank": "none-such", "then": "test"})
    assert "knows no model" in unknown.text
    assert "The model can do every phase." in unknown.text
    trials = (await admin.send("POST", "/api/v1/settings/model/test")).json()["trials"]
    assert [(trial["model"], trial["complaint"] is None) for trial in trials] == [("gpt-5", True), ("none-such", False)]
    assert all(trial["endpoint"].startswith(address) for trial in trials)
    await admin.post("/settings/model", {"llm.enabled": "false"})
    assert not desk.app.settings.llm.is_on


async def test_a_form_stores_only_what_was_changed(desk: Any) -> None:
    admin = await desk.sign_in("admin", language="en")
    page = (await admin.get("/settings/limits")).text
    assert 'name="sweep.max_items" value="20"' in page
    values = {
        "sweep.max_items": "5",
        "sweep.window_days": "7",
        "sweep.revisit_days": "1, 3，10",
        "work.max_runs": "",
        "pages.delay_s": "1",
        "pages.respect_robots": "true",
        "sweep.crawl": "agent",
    }
    answer = await admin.post("/settings/limits", values)
    assert (answer.status_code, answer.headers["location"]) == (303, "/settings/limits")
    stored = {
        setting.path: setting.value
        for setting in desk.app.settings_service.list_settings()
        if setting.origin == "stored"
    }
    assert stored == {"sweep.max_items": 5, "sweep.revisit_days": [1, 3, 10]}
    await admin.post("/settings/forget", {"path": "sweep.max_items", "page": "limits"})
    assert desk.app.settings.sweep.max_items == 20
    reported = [(action, subject, detail) for action, subject, detail in await audit_of(desk) if "settings" in action]
    assert reported == [
        ("settings.forget", "sweep.max_items", {"before": 5, "after": 20}),
        ("settings.change", "sweep.revisit_days", {"before": [1, 3, 7, 30, 90], "after": [1, 3, 10]}),
        ("settings.change", "sweep.max_items", {"before": 20, "after": 5}),
    ]


async def test_what_is_refused_comes_back_with_its_sentence_and_all_that_was_typed(desk: Any) -> None:
    admin = await desk.sign_in("admin", language="en")
    answer = await admin.post("/settings/model", {"llm.model": "mine", "llm.top_p": "seven", "llm.prices": "gpt-5 1"})
    assert answer.status_code == 400
    assert 'id="f-llm-top_p-error">It cannot be &#39;seven&#39;' in answer.text
    assert 'value="mine"' in answer.text
    assert "gpt-5 1</textarea>" in answer.text
    assert desk.app.settings.llm.model == "gpt-5"
    assert await desk.app.store.settings.list_all() == []


async def test_what_the_environment_sets_is_locked(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONITOR_LLM__MODEL", "of-environment")
    admin = await desk.sign_in("admin", language="en")
    page = (await admin.get("/settings/model")).text
    control = page[page.index('id="f-llm-model"') :].partition(">")[0]
    assert "disabled" in control
    assert "It is set by the environment and cannot be changed here." in page
    answer = await admin.send("PATCH", "/api/v1/settings", json={"llm.model": "mine"})
    assert answer.status_code == 400
    assert "MONITOR_LLM__MODEL" in answer.json()["detail"]


async def test_a_secret_is_on_no_page_in_no_answer_and_not_in_the_audit(
    desk: Any, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    admin = await desk.sign_in("admin")
    values = {
        "llm.api_key": SECRET,
        "llm.base_url": address,
        "search.backends.brave.api_key": SECRET,
        "secrets.HOOK": SECRET,
        "deliver.targets": [{"name": "hook", "url": f"https://hook.example/{SECRET}", "secret_env": "HOOK"}],
    }
    seen = [(await admin.send("PATCH", "/api/v1/settings", json=values)).text]
    for page in [f"/settings{page}" for page in (*PAGES, "/targets")] + ["/audit", "/api/v1/settings", "/api/v1/audit"]:
        answer = await admin.get(page)
        assert answer.status_code == 200, page
        seen.append(answer.text)
    seen.append((await admin.send("POST", "/api/v1/settings/model/test")).text)
    refused = await admin.send("PATCH", "/api/v1/settings", json={"network.proxy": f"http://me:{SECRET}@127.0.0.1:9"})
    assert refused.status_code == 400
    seen.append(refused.text)
    seen.append((await admin.send("DELETE", "/api/v1/settings/deliver.targets")).text)
    seen.append((await admin.send("DELETE", "/api/v1/settings/llm.api_key")).text)
    seen += [json.dumps(await audit_of(desk)), caplog.text]
    assert not [text[:200] for text in seen if SECRET in text]
    assert desk.app.settings.search.get_key("brave") == SECRET


async def test_a_search_backend_is_tried_from_the_page(desk: Any) -> None:
    admin = await desk.sign_in("admin", language="en")
    found = await admin.post("/settings/search/test", {"backend": "stub", "query": "碳市场"})
    assert "answered after" in found.text
    one = await admin.post(
        "/settings/search/test", {"backend": "stub", "query": "x", "max_results": "1", "budget_ms": "900"}
    )
    assert [len(set(re.findall(r"/sample/\d", page.text))) for page in (found, one)] == [3, 1]
    too_many = await admin.post("/settings/search/test", {"backend": "stub", "query": "x", "max_results": "11"})
    assert "trouble" in too_many.text
    assert 'value="11"' in too_many.text, "what was wished for stands there still"
    no_number = await admin.post("/settings/search/test", {"query": "x", "budget_ms": "soon"})
    assert "trouble" in no_number.text
    several = {"backend": ["archive", "stub"], "query": "碳市场", "max_results": "2"}
    merged = await admin.post("/settings/search/test", several)
    assert merged.text.count(" checked") == 2
    assert len(set(re.findall(r"/sample/\d", merged.text))) == 2
    as_set = await admin.post("/settings/search/test", {"query": "碳市场"})
    assert "The backends of the settings" in as_set.text
    assert "answered after" in as_set.text
    keyless = await admin.post("/settings/search/test", {"backend": "brave", "query": "x"})
    assert "BRAVE_API_KEY" in keyless.text
    assert (await admin.post("/settings/search/test", {"backend": "gogle", "query": "x"})).status_code == 400


class TestPrompts:
    async def test_one_is_adjusted_compared_and_taken_back(self, desk: Any) -> None:
        admin = await desk.sign_in("admin", language="en")
        ours = (await admin.send("GET", "/api/v1/prompts/ranking.user.en")).json()["ours"]
        theirs = ours.replace("the reason in at most 20 words", "the reason in at most 30 words")
        await admin.post("/settings/prompts/ranking.user.en", {"text": theirs})
        page = (await admin.get("/settings/prompts/ranking.user.en")).text
        assert "<del>20</del><ins>30</ins>" in page
        assert (await desk.app.prompts.load_active()).overrides == {"ranking.user.en": theirs}
        await admin.post("/settings/prompts/ranking.user.en/back")
        assert (await desk.app.prompts.load_active()).overrides == {}
        reported = [(action, detail["after"]) for action, _, detail in await audit_of(desk) if "prompt" in action]
        assert reported == [("prompt.back", ours), ("prompt.change", theirs)]

    async def test_one_that_lacks_a_placeholder_is_refused_and_nothing_typed_is_lost(self, desk: Any) -> None:
        admin = await desk.sign_in("admin", language="en")
        answer = await admin.post("/settings/prompts/summary.user.zh", {"text": "概括 {title}<b>"})
        assert answer.status_code == 400
        assert "lacks {rules}, {text}" in answer.text
        assert "概括 {title}&lt;b&gt;</textarea>" in answer.text
        assert (await admin.get("/settings/prompts/none.such.zh")).status_code == 404
        sent = await admin.send("PUT", "/api/v1/prompts/summary.user.zh", json={"text": "{text}"})
        assert (sent.status_code, sent.headers["content-type"]) == (400, "application/problem+json")
        assert (await admin.send("DELETE", "/api/v1/prompts/summary.user.zh")).status_code == 404


async def test_storage_is_told_and_pruned(desk: Any) -> None:
    admin = await desk.sign_in("admin", language="en")
    body = (await admin.send("GET", "/api/v1/storage")).json()
    assert body["database_bytes"] > 0
    assert "Deleted: 0 runs" in (await admin.post("/settings/storage/prune")).text
    assert (await admin.send("POST", "/api/v1/storage/prune", json={"days": 0})).status_code == 422


class TestTargets:
    FORM = {  # noqa: RUF012 -- not changed
        "name": "desk",
        "url": f"https://hook.example/{SECRET}",
        "secret": SECRET,
        "schedule": "30 7 * * 1-5",
        "sources": "甲, 乙",
        "types": ["政策", "法规"],
        "formats": "docx",
        "language": "en",
        "top": "5",
        "days": "2",
        "quiet": "note",
        "alarms": "true",
        "deadline_minutes": "30",
    }

    async def test_one_is_added_changed_and_removed(self, desk: Any) -> None:
        admin = await desk.sign_in("admin", language="en")
        added = await admin.post("/settings/targets", self.FORM)
        assert (added.status_code, added.headers["location"]) == (303, "/settings/targets")
        target = desk.app.target_editing.get("desk")
        assert (target.sources, target.types, target.top, target.alarms) == (["甲", "乙"], ["政策", "法规"], 5, True)
        assert (target.url, target.load_secret()) == (self.FORM["url"], SECRET.encode())
        page = (await admin.get("/settings/targets/desk/edit")).text
        assert SECRET not in page
        assert "Empty: it stays https://hook.example" in page
        await admin.post("/settings/targets/desk/edit", self.FORM | {"url": "", "secret": "", "top": ""})
        target = desk.app.target_editing.get("desk")
        assert (target.url, target.load_secret(), target.top) == (self.FORM["url"], SECRET.encode(), None)
        await admin.post("/settings/targets/desk/remove")
        assert desk.app.settings.deliver.targets == []
        assert [action for action, *_ in await audit_of(desk)][:3] == ["target.remove", "target.edit", "target.add"]
        assert SECRET not in json.dumps(await audit_of(desk)) + (await admin.get("/settings")).text

    @pytest.mark.parametrize(
        ("changed", "field"),
        [
            ({"url": f"gopher://{SECRET}"}, "url"),
            ({"name": "two words"}, "name"),
            ({"timezone": "Mars/Base"}, "timezone"),
            ({"days": "many"}, "days"),
            ({"language": "fr"}, "language"),
            ({"schedule": "whenever"}, ""),
            ({"to": "a@b.example"}, ""),
        ],
    )
    async def test_what_is_wrong_is_said_and_nothing_is_stored(
        self, desk: Any, changed: dict[str, str], field: str
    ) -> None:
        admin = await desk.sign_in("admin", language="en")
        answer = await admin.post("/settings/targets", self.FORM | changed)
        assert answer.status_code == 400
        expected = f'id="f-{field}-error"' if field else "beside the fields. "
        assert expected in answer.text
        assert 'value="甲, 乙"' in answer.text
        assert desk.app.settings.deliver.targets == []

    async def test_a_chat_is_set_up_by_the_address_that_it_shows(self, desk: Any) -> None:
        admin = await desk.sign_in("admin", language="en")
        chooser = (await admin.get("/settings/targets/new")).text
        assert [channel for channel in SetupChannel if f"channel={channel}" not in chooser] == []
        form = {"channel": "wecom", "name": "desk", "schedule_kind": "daily", "schedule_time": "08:00"}
        wrong = await admin.post("/settings/targets/new", form | {"address": "https://hooks.slack.com/services/T/B/x"})
        assert wrong.status_code == 400
        assert "not a WeCom webhook address" in wrong.text
        address = f"https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key={SECRET}"
        saved = await admin.post("/settings/targets/new", form | {"address": address})
        assert (saved.status_code, saved.headers["location"]) == (303, "/settings/targets")
        target = desk.app.target_editing.get("desk")
        assert (target.url, target.schedule) == (f"wecombot://{SECRET}", "0 8 * * *")
        assert SECRET not in (await admin.get("/settings/targets/desk/edit")).text
        assert SECRET not in json.dumps(await audit_of(desk))

    async def test_mail_is_tried_before_it_is_stored(self, desk: Any) -> None:
        admin = await desk.sign_in("admin", language="en")
        form = {"channel": "mail", "name": "mail", "server": "127.0.0.1", "port": "9", "user": "me@x.example"}
        form |= {"password": SECRET, "sender": "m@x.example", "to": "a@x.example, b@x.example", "test": "true"}
        tried = (await admin.post("/settings/targets/new", form)).text
        assert "The test did not arrive:" in tried
        assert 'value="a@x.example, b@x.example"' in tried
        assert desk.app.settings.deliver.targets == []
        assert await desk.app.deliveries.list(by=COMMAND_LINE) == [], "a test of what is not stored leaves no alarm"
        missing = await admin.post("/settings/targets/new", form | {"server": "", "port": "x", "sender": "", "to": ""})
        assert [
            field for field in ("server", "port", "sender", "to") if f'id="f-{field}-error"' not in missing.text
        ] == []

    async def test_programs_do_the_same(self, desk: Any) -> None:
        program = await desk.program("admin")
        url = "smtp://me:hidden@mail.example"
        form = {"url": url, "sender": "m@x.example", "to": ["a@x.example"]}
        assert (await program.put("/api/v1/targets/mail", json=form)).status_code == 200
        again = await program.put("/api/v1/targets/mail", json=form | {"url": None, "top": 3})
        assert (again.json()["after"]["top"], again.json()["after"]["url"]) == (3, "smtp://mail.example")
        assert desk.app.target_editing.get("mail").url == url
        assert (await program.put("/api/v1/targets/mail", json=form | {"to": []})).status_code == 400
        assert [(await program.delete("/api/v1/targets/mail")).status_code for _ in range(2)] == [204, 404]
