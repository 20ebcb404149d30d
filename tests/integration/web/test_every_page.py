"""Every page of a service that is full of hostile texts, in a real browser: nothing runs, and everybody can use it.

The pages are found by following links from the first one; a page that is not reached so fails a test. axe-core comes
from npm when the tests run; where npm cannot fetch it, what it judges is skipped, and says so.
"""

import asyncio
import csv
import datetime as dt
import io
import json
import re
import shutil
import subprocess
import unicodedata
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit
from xml.etree import ElementTree as ET
from zoneinfo import ZoneInfo

import httpx
import pytest
import pytest_asyncio
from aiosmtpd.smtp import SMTP
from fastapi.routing import iter_route_contexts
from openpyxl import load_workbook
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, async_playwright
from selectolax.lexbor import LexborHTMLParser

from monitor.bootstrap import open_app
from monitor.clock import SystemClock
from monitor.config.export import ExportSettings
from monitor.config.model import BrowserSettings, Settings
from monitor.config.targets import TargetSettings
from monitor.db.sessions import sanitize_text
from monitor.db.tables.delivery import Subscription
from monitor.db.tables.identity import ExternalAccount, Passkey
from monitor.demo.site import TIMEZONE, SampleSite, build_sample_settings
from monitor.errors import BrowserMissing
from monitor.fetch.browser.launch import find_browser
from monitor.i18n.catalogue import load_catalogue
from monitor.services.archive_export import ExportForm
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.items import ItemQuery
from monitor.services.webhooks.endpoints import WebhookForm
from monitor.vocabulary import Role
from monitor.web.app import create_web_app, serve_web
from tests.conftest import Mailbox
from tests.integration.web.conftest import PASSWORD
from tests.integration.web.house import House, furnish
from tests.integration.web.payloads import PAYLOADS

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]

# A file, a redirect, an answer to a script, or a page that only a form or a trial under way leads to.
NOT_BY_LINK = {
    "/readyz",
    "/healthz",
    "/metrics",
    "/sign-in",
    "/sign-in/code",
    "/sign-in/oidc",
    "/sign-in/oidc/callback",
    "/account/sign-in/link",
    "/sources/trials/{trial_id}",
    "/sources/trials/{trial_id}/steps",
    "/sources/catalogue/additions/{addition_id}",
    "/sources/catalogue/additions/{addition_id}/steps",
    "/briefings/{briefing_id}/deliveries",
    "/briefings/{briefing_id}/preview",
    "/shared/{token}",
    "/subscriptions/{token}",
    "/manifest.webmanifest",
    "/mcp",
}
ASKED = {
    "/items": ["?q=bell&hidden=both", "?q=项目&type=通知"],
    "/briefings/now": ["?days=7&keyword=x"],
    "/research": ["?q=x"],
    "/search": ["?q=项目", "?q=script"],
}
LOOKS = {"zh": (1280, "light"), "en": (360, "dark")}
OTHER_LOOKS = {"zh": (360, "dark"), "en": (1280, "light")}
"""For each language the width and the colour scheme; those of the soak complete them."""

WATCH = """() => {
  window.violations = [];
  document.addEventListener('securitypolicyviolation', (event) =>
    window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  window.shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
  }).observe({type: 'layout-shift', buffered: true});
}"""
LEVELS = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
PHONE = {"width": 390, "height": 844}
LOOK_ON_A_PHONE = """() => {
  const before = 'h1, nav, .head, .filters, .filter-box, .lead, .notice, .particulars-line, .unseen, script';
  const first = [...document.querySelectorAll('main *')].find((node) => !node.closest(before)
    && !node.childElementCount && node.getClientRects().length
    && (node.textContent.trim() || node.matches('input, select, textarea, path')));
  const header = document.querySelector('header.top');
  return {
    header: header ? header.getBoundingClientRect().height : 0,
    first: first ? first.getBoundingClientRect().top : null,
    too_wide: document.scrollingElement.scrollWidth > window.innerWidth,
  };
}"""
LOOK = """() => ({
  ran: window.pwned || 0,
  violations: window.violations,
  address: location.href,
  shift: window.shift,
  too_wide: document.scrollingElement.scrollWidth <= window.innerWidth ? [] :
    [...document.querySelectorAll('main *')].filter((node) => node.getBoundingClientRect().right > window.innerWidth)
      .map((node) => node.outerHTML.slice(0, 120)).slice(0, 3),
  odd: [...document.querySelectorAll(
    'iframe:not([src^="/briefings/"]), object, embed, base, math, template, meta[http-equiv=refresh], style')]
    .map((node) => node.outerHTML)
    .concat([...document.querySelectorAll('script')].filter((node) => !node.src).map((node) => node.outerHTML))
    .concat([...document.querySelectorAll('*')].filter((node) =>
      [...node.attributes].some(({name}) => name.startsWith('on') || name === 'style')).map((node) => node.outerHTML))
    .concat([...document.querySelectorAll('[href], [src], [action]')].filter((node) =>
      !node.matches('img.qr[src^="data:image/svg+xml"]') &&
      !(node.matches('a.bookmarklet') && node.getAttribute('href').startsWith('javascript:void%28location.href%3D%22'
        + encodeURIComponent(location.origin).replaceAll('%2F', '/') + '/sources/new%22')) &&
      /^\\s*(javascript|data|vbscript):/i.test(
        node.getAttribute('href') || node.getAttribute('src') || node.getAttribute('action') || ''))
      .map((node) => node.outerHTML)),
})"""


@dataclass
class Visit:
    """One page in one language, as the browser saw it."""

    path: str
    language: str
    seen: dict[str, Any]
    on_phone: dict[str, Any]
    violations: list[str]


@dataclass
class Walk:
    """All pages, and whatever went out or spoke up on the way."""

    visits: list[Visit] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@dataclass
class Place:
    """The service with its address, its furniture, and an administrator's cookies."""

    url: str
    house: House
    app: Any
    client: httpx.AsyncClient
    mailbox: Mailbox
    paths: list[str]


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str | None:
    folder = tmp_path_factory.mktemp("axe")
    if shutil.which("npm") is None:
        return None
    pack = ["npm", "pack", "axe-core@4", "--silent", "--pack-destination", str(folder)]
    if subprocess.run(pack, cwd=folder, capture_output=True, check=False, timeout=120).returncode:
        return None
    (file,) = folder.glob("*.tgz")
    shutil.unpack_archive(file, folder, filter="data")
    return (folder / "package" / "axe.min.js").read_text(encoding="utf-8")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> AsyncIterator[Place]:
    folder = tmp_path_factory.mktemp("house")
    shutil.copy(sqlite_template, folder / "monitor.db")
    now = SystemClock().now()
    site = SampleSite("bureau", today=now.astimezone(ZoneInfo(TIMEZONE)).date())
    mailbox = Mailbox()
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(site.serve())
        mail = await asyncio.get_running_loop().create_server(lambda: SMTP(mailbox), "127.0.0.1", 0)
        port = (await stack.enter_async_context(mail)).sockets[0].getsockname()[1]
        settings = build_sample_settings(Settings(), url, folder=folder)
        settings.web.port = 0
        settings.network.allowed_private_hosts.append(f"127.0.0.1:{port}")
        settings.deliver.targets = [
            TargetSettings(
                name="weekly",
                url=f"smtp://127.0.0.1:{port}",
                sender="m@example.org",
                to=["a@example.org"],
                subscriptions=True,
            )
        ]
        settings.export.folder = folder / "exports"
        settings.export.folder.mkdir()
        app = await stack.enter_async_context(open_app(settings))
        focus = [area["name"] for area in site.focus_areas]
        await app.sweeps.sweep(
            await app.sources.add({"name": site.title, "url": f"{url}/", "focus_areas": focus}, by=COMMAND_LINE),
            by=COMMAND_LINE,
        )
        await app.people.add("admin", "admin", by=COMMAND_LINE)
        await app.people.set_password("admin", PASSWORD, by=COMMAND_LINE)
        evil = "".join(PAYLOADS.values())[:100]
        await app.feed_keys.create(evil, by=Actor("admin", Role.ADMIN))
        key = Passkey(person="admin", credential_id="c", public_key="p", label=evil, created_at=now)
        await app.store.identity.add_passkey(key, limit=1)
        account = ExternalAccount(person="admin", issuer="https://login.example", subject=evil, created_at=now)
        await app.store.identity.link_account(account)
        await _subscribe(app)
        hook = WebhookForm(url="http://127.0.0.1:9/", label=evil)
        webhook, _ = await app.webhooks.add(hook, by=COMMAND_LINE)
        await app.webhooks.send_test(webhook.id, by=COMMAND_LINE)
        await app.webhook_dispatch.send_due()
        await app.archive_exports.add(ExportForm(name="lake"), by=COMMAND_LINE)
        await app.archive_exports.add(ExportForm(name="lost", schedule="0 5 * * *"), by=COMMAND_LINE)
        await write_exports(app)
        house = await furnish(app, at=now - dt.timedelta(hours=1))
        draft = await app.drafts.get(house.briefing_id)
        await app.deliveries.send_saved("weekly", draft, by=COMMAND_LINE)
        address = await stack.enter_async_context(serve_web(app))
        app.settings.web.public_url = address.rstrip("/")  # which subscriptions need
        client = await stack.enter_async_context(httpx.AsyncClient(base_url=address, trust_env=False, timeout=60))
        signed_in = await client.post("/sign-in", data={"name": "admin", "password": PASSWORD})
        assert signed_in.status_code == 303, signed_in.text
        proved = next(item.id for item in await app.archive.list_items(ItemQuery(), limit=None) if item.evidence)
        pages = await pages_of(client, templates_of(app), f"/items/{proved}")
        yield Place(address, house, app, client, mailbox, pages)


async def _subscribe(app: Any) -> None:
    worst = "".join(PAYLOADS.values())[:200]
    row = Subscription(
        person="admin",
        target="weekly",
        address="admin@example.org",
        token="subscribed",  # noqa: S106
        conditions={"topic": worst, "tags": [worst], "keywords": [worst]},
        schedule="0 7 * * 1",
        created_at=app.clock.now(),
        confirmed_at=app.clock.now(),
    )
    await app.store.subscriptions.add(row, limit=1, since=app.clock.now(), new_limit=1)


async def write_exports(app: Any) -> None:
    """One that was written, and one that fails."""

    async def renew() -> bool:
        return True

    for name, folder in (("lake", app.settings.export.folder), ("lost", app.settings.data_dir / "nowhere")):
        moved = app.settings.model_copy(update={"export": ExportSettings(folder=folder)})
        await replace(app.archive_exporter, settings=moved).run(await app.store.exports.get(name), renew)


def templates_of(app: Any) -> dict[str, re.Pattern[str]]:
    """The routes of pages, each with the pattern of its path."""
    paths = {route.path for route in iter_route_contexts(create_web_app(app).routes) if "GET" in (route.methods or ())}
    return {
        path: re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path) + "$")
        for path in sorted(paths, key=lambda path: path.count("{"))
        if path is not None and not path.startswith(("/api/", "/feeds/"))
    }


async def pages_of(client: httpx.AsyncClient, templates: dict[str, re.Pattern[str]], item: str) -> list[str]:
    """The paths of all pages that links lead to, of each kind two; `item` is one with evidence.

    A button leads to the briefing of the day.
    """
    runs = ["/runs/run-live", "/research/research-evil", "/research/research-plan"]
    begin = ["/", item, "/sign-in", "/briefings/now", *runs]
    waiting, seen, counts = list(begin), set(begin), dict.fromkeys(templates, 0)
    found: list[str] = []
    while waiting:
        path = waiting.pop(0)
        template = next((name for name, form in templates.items() if form.match(urlsplit(path).path)), None)
        if template is None or counts[template] >= 2:
            continue
        answer = await client.get(path)
        is_file = "attachment" in answer.headers.get("content-disposition", "")
        if is_file or not answer.headers.get("content-type", "").startswith("text/html"):
            counts[template] += 1
            continue
        assert answer.status_code == 200, (path, answer.status_code, answer.text)
        counts[template] += 1
        found += [path, *(template + query for query in ASKED.get(template, []) if counts[template] == 1)]
        for link in LexborHTMLParser(answer.text).css("a[href]"):
            target = urlsplit(urljoin(str(answer.url), link.attributes["href"] or ""))
            onward = target.path + (f"?{target.query}" if target.query else "")
            if target.netloc == urlsplit(str(answer.url)).netloc and onward not in seen:
                seen.add(onward)
                waiting.append(onward)
    missing = {name for name, count in counts.items() if not count} - NOT_BY_LINK
    assert not missing, f"no link leads to {sorted(missing)}"
    return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def walk(place: Place, axe: str | None) -> Walk:
    return await walk_through(place, LOOKS, axe)


async def walk_through(place: Place, looks: dict[str, tuple[int, str]], axe: str | None) -> Walk:
    """Every page in both languages, each with its own width and colour scheme.

    Of pages of one kind, axe-core judges one a language: the first in Chinese, the last in English.
    """
    try:
        path = find_browser(BrowserSettings())
    except BrowserMissing as missing:
        pytest.skip(str(missing))
    walked = Walk()
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=str(path), args=["--no-sandbox"])
        for language, paths in (("zh", place.paths), ("en", [*reversed(place.paths)])):
            await visit_all(browser, place, language, paths, looks[language], axe, walked)
        await browser.close()
    return walked


async def visit_all(
    browser: Browser,
    place: Place,
    language: str,
    paths: list[str],
    look: tuple[int, str],
    axe: str | None,
    walked: Walk,
) -> None:
    window, scheme = {"width": look[0], "height": 800}, look[1]
    context = await browser.new_context(
        base_url=place.url,
        locale="zh-CN" if language == "zh" else "en-GB",
        viewport=window,  # type: ignore[arg-type]
        color_scheme=scheme,  # type: ignore[arg-type]
        reduced_motion="reduce",
    )
    cookies = [
        {"name": cookie.name, "value": cookie.value or "", "url": place.url} for cookie in place.client.cookies.jar
    ]
    await context.add_cookies(cookies)  # type: ignore[arg-type]
    await context.add_init_script(f"({WATCH})()")
    page = await listened(context, place, walked)
    templates, judged_kinds = templates_of(place.app), set()
    for path in paths:
        await page.goto(path)
        await page.wait_for_load_state("load")
        kind = next(name for name, form in templates.items() if form.match(urlsplit(path).path))
        violations = [] if axe is None or kind in judged_kinds else await judged(page, axe)
        judged_kinds.add(kind)
        seen = await page.evaluate(LOOK)
        await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        walked.visits.append(Visit(path, language, seen, await page.evaluate(LOOK_ON_A_PHONE), violations))
        await page.set_viewport_size(window)  # type: ignore[arg-type]
    await context.close()


async def listened(context: BrowserContext, place: Place, walked: Walk) -> Page:
    """A window of which everything is taken down that a page should not do."""
    page = await context.new_page()

    def complain(what: str) -> None:
        walked.complaints.append(f"{urlsplit(page.url).path}: {what}")

    def hear(said: ConsoleMessage) -> None:
        # What `add_init_script` puts into every frame is refused in the preview's, as any script is.
        is_own = "Blocked script execution" in said.text and urlsplit(said.location["url"]).path.endswith("/preview")
        if said.type == "error" and not is_own:
            complain(said.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: complain(str(error)))
    page.on("popup", lambda _: complain("opened a window"))
    page.on("request", lambda asked: None if asked.url.startswith(place.url) else complain(f"asked {asked.url}"))

    async def dismiss(dialog: Any) -> None:
        complain(f"said {dialog.message}")
        await dialog.dismiss()

    page.on("dialog", dismiss)
    return page


async def judged(page: Page, axe: str) -> list[str]:
    """What axe-core finds wrong at level A or AA."""
    await page.evaluate(f"() => {{ {axe} }}")
    await page.evaluate("() => Promise.all(document.getAnimations().map((element) => element.finished))")
    result = await page.evaluate("(only) => axe.run(document, {runOnly: only, resultTypes: ['violations']})", LEVELS)
    return [
        f"{violation['id']}: {violation['help']} at {[node['target'] for node in violation['nodes'][:3]]} "
        f"{violation['nodes'][0]['html'][:200]}"
        for violation in result["violations"]
    ]


async def test_no_page_has_a_violation_of_axe_a_or_aa(walk: Walk, axe: str | None) -> None:
    if axe is None:
        pytest.skip("npm could not fetch axe-core@4")
    assert len(walk.visits) > 60
    assert find_violations(walk) == {}


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_no_page_has_a_violation_in_its_other_width_and_colours(place: Place, axe: str | None) -> None:
    if axe is None:
        pytest.skip("npm could not fetch axe-core@4")
    assert find_violations(await walk_through(place, OTHER_LOOKS, axe)) == {}


def find_violations(walked: Walk) -> dict[str, list[str]]:
    return {f"{visit.language} {visit.path}": visit.violations for visit in walked.visits if visit.violations}


def fragments_of(language: str) -> set[str]:
    """What the catalogue says in a language between its arguments, long enough to be a sentence of ours and no name."""
    texts = [form for forms in load_catalogue(language).values() for form in forms]
    if language == "en":
        texts += [key for key in load_catalogue("zh") if " " in key]  # a template's own sentence is its key
    pieces = {piece.strip() for text in texts for piece in re.split(r"[{][^}]*[}]|%\([a-z_]+\)[sd]", text)}
    is_long = re.compile(r"[\u4e00-\u9fff，。；：]{8,}" if language == "zh" else r"(?:[A-Za-z,]+ ){4,}[a-z]+\W*")
    return {piece for piece in pieces if is_long.fullmatch(piece)}


@pytest.mark.parametrize(("language", "other"), [("zh", "en"), ("en", "zh")])
async def test_no_page_says_a_sentence_of_the_other_language(place: Place, language: str, other: str) -> None:
    foreign = fragments_of(other) - fragments_of(language)
    assert len(foreign) > 300
    wrong = {}
    for path in place.paths:
        answer = await place.client.get(path, headers={"Accept-Language": language})
        page = LexborHTMLParser(answer.text)
        assert page.css_first("html").attributes["lang"].startswith(language)
        for document in page.css(f"body [lang^={other}]"):  # a briefing keeps the language that it was written in
            document.decompose()
        shown = " ".join(page.css_first("body").text(separator=" ").split())
        if found := [sentence for sentence in foreign if sentence in shown]:
            wrong[path] = found[:5]
    assert not wrong, json.dumps(wrong, indent=1, ensure_ascii=False)


async def test_no_page_is_wider_than_the_window(walk: Walk) -> None:
    assert [(visit.path, visit.seen["too_wide"]) for visit in walk.visits if visit.seen["too_wide"]] == []


async def test_on_a_phone_the_header_is_one_line_and_content_begins_above_the_fold(walk: Walk) -> None:
    assert len(walk.visits) > 60
    wrong = {
        f"{visit.language} {visit.path}": visit.on_phone
        for visit in walk.visits
        if visit.on_phone["header"] > 48
        or visit.on_phone["too_wide"]
        or (visit.on_phone["first"] or 0) >= PHONE["height"]
    }
    assert not wrong, json.dumps(wrong, indent=1, ensure_ascii=False)


async def test_no_page_moves_what_it_has_shown(walk: Walk) -> None:
    """A shift of 0.1 is where a page begins to annoy, by the measure of browsers; the desk keeps to a hundredth."""
    moved = {
        f"{visit.language} {visit.path}": visit.seen["shift"] for visit in walk.visits if visit.seen["shift"] > 0.01
    }
    assert not moved, json.dumps(moved, indent=1, ensure_ascii=False)


async def test_nothing_of_what_is_stored_runs_anywhere(walk: Walk, place: Place) -> None:
    wrong = {
        visit.path: visit.seen
        for visit in walk.visits
        if visit.seen["ran"] or visit.seen["violations"] or visit.seen["odd"]
    }
    assert not wrong, json.dumps(wrong, indent=1, ensure_ascii=False)
    assert all(visit.seen["address"].startswith(place.url) for visit in walk.visits)
    assert walk.complaints == []


async def test_a_shared_briefing_runs_nothing_shows_no_way_in_and_passes_axe(place: Place, axe: str | None) -> None:
    _, token = await place.app.shares.create(place.house.briefing_id, by=COMMAND_LINE)
    walked = Walk()
    async with async_playwright() as play:
        browser = await play.chromium.launch(
            executable_path=str(find_browser(BrowserSettings())), args=["--no-sandbox"]
        )
        context = await browser.new_context(viewport={"width": 390, "height": 844})
        page = await listened(context, place, walked)
        await page.goto(f"{place.url}shared/{token}")
        seen = await page.evaluate(LOOK)
        assert await page.locator(f"a[href^='{place.url}'], a[href^='/'], form, script").count() == 0
        assert await context.cookies() == []
        assert (seen["ran"], seen["too_wide"], walked.complaints) == (0, [], [])
        if axe is not None:
            assert await judged(page, axe) == []
        await browser.close()


def legible(text: str) -> str:
    """The text without what is not seen: pages may drop it, and break lines where they like."""
    unseen = ("Cc", "Cf", "Co", "Cn")
    return "".join(
        char for char in sanitize_text(text) if not char.isspace() and unicodedata.category(char) not in unseen
    )


TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")


async def test_a_page_shows_a_hostile_text_as_the_text_that_it_is(place: Place, subtests: pytest.Subtests) -> None:
    for name, text in PAYLOADS.items():
        answer = await place.client.get(f"/items/{place.house.items[name]}")
        page = LexborHTMLParser(answer.text)
        shown = legible(page.css_first("main").text())
        with subtests.test(name):
            assert shown.count(legible(text)) >= 4, "title, summary, section, note"
            assert legible(page.css_first("h1").text()) == legible(text)
            assert not TURNING.search(answer.text)
            if text.startswith("javascript:"):
                assert not page.css('main a[href^="javascript"]')


@pytest.fixture(scope="module")
def mail(place: Place) -> EmailMessage:
    (message,) = place.mailbox.messages()
    return message


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def table(place: Place) -> dict[int, dict[str, str]]:
    """The items as a CSV file has them, by their numbers."""
    answer = await place.client.get("/api/v1/items/export", params={"format": "csv", "hidden": "both"})
    head, *rows = csv.reader(io.StringIO(answer.content.decode("utf-8-sig")))
    assert {len(row) for row in rows} == {len(head)}
    return {int(row[head.index("id")]): dict(zip(head, row, strict=True)) for row in rows}


async def test_a_table_keeps_a_hostile_text_in_its_cell(
    place: Place, table: dict[int, dict[str, str]], subtests: pytest.Subtests
) -> None:
    for name, text in PAYLOADS.items():
        row = table[place.house.items[name]]
        with subtests.test(name):
            assert legible(text) in legible(row["title"])
            assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r", "＝")) for cell in row.values())


async def test_a_workbook_has_neither_formulas_nor_strange_links(place: Place) -> None:
    answer = await place.client.get("/api/v1/items/export", params={"format": "xlsx", "hidden": "both"})
    book = load_workbook(io.BytesIO(answer.content))
    cells = [cell for sheet in book for line in sheet.iter_rows() for cell in line]
    report = legible("\n".join(str(cell.value) for cell in cells))
    assert all(legible(text)[:500] in report for text in PAYLOADS.values())
    assert not [cell for cell in cells if cell.data_type == "f"]
    assert not [cell for cell in cells if cell.hyperlink and not cell.hyperlink.target.startswith("http")]


@pytest.mark.parametrize("feed", ["/feeds/items.atom", "/feeds/briefings.atom"])
async def test_feeds_carry_hostile_texts_as_texts(place: Place, feed: str) -> None:
    token = await place.app.tokens.create(f"reader-of-{feed[7]}", "reader", by=COMMAND_LINE)
    answer = await place.client.get(feed, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200
    atom = "{http://www.w3.org/2005/Atom}"
    root = ET.fromstring(answer.content)  # noqa: S314 -- our own
    assert b"<!ENTITY" not in answer.content
    links = [element.get("href") or "" for element in root.iter(f"{atom}link")]
    assert root.findall(f"{atom}entry")
    assert all(link.startswith(("http://", "https://")) for link in links)
    for entry in root.iter(f"{atom}title"):
        assert entry.get("type", "text") == "text"
    for item in (*root.iter(f"{atom}content"), *root.iter(f"{atom}summary")):
        if item.get("type") == "html":
            page = LexborHTMLParser(item.text or "")
            assert not page.css("script, iframe, object, embed, svg, form, style, link, base, meta, img")
            assert not [1 for node in page.css("*") for name in node.attributes if name.startswith("on")]


async def test_a_mail_carries_hostile_texts_as_texts(mail: EmailMessage) -> None:
    assert set(map(str.lower, mail.keys())) <= {
        "from",
        "to",
        "subject",
        "date",
        "message-id",
        "mime-version",
        "content-type",
        "auto-submitted",
        "list-id",
        "x-monitor-delivery",
        "content-transfer-encoding",
        "references",
        "in-reply-to",
        "precedence",
    }, mail.keys()
    assert mail["to"] == "a@example.org"
    page = LexborHTMLParser(mail.get_body(("html",)).get_content())  # type: ignore[union-attr]
    shown = legible(page.text())
    assert sum(legible(text) in shown for text in PAYLOADS.values()) > 40
    assert not page.css("body script, iframe, object, embed, svg, form, link, base, img")
    assert not [1 for node in page.css("*") for name in node.attributes if name.startswith("on")]
    assert not [1 for node in page.css("[href]") if not (node.attributes["href"] or "").startswith(("http", "#"))]
