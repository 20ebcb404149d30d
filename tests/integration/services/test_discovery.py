"""Sample sites that can be read in one way each: the address alone is enough to find it, and a sweep to read it."""

import datetime as dt
import json
from collections.abc import AsyncIterator, Sequence
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from monitor.bootstrap import App, open_app
from monitor.config.model import Settings
from monitor.errors import UsageError
from monitor.i18n.catalogue import render
from monitor.services.audit import COMMAND_LINE
from monitor.services.runs import RunReport
from monitor.services.sources.discovery import MAX_REQUESTS, DiscoveredSource, DiscoveryMethod
from monitor.vocabulary import Render, SourceKind

TOPICS = ("battery storage", "grid tariffs", "hydrogen pipelines", "coal phase-out", "offshore wind", "heat networks")


@pytest.fixture
async def app(tmp_path: Path, sqlite_url: str, site: Any) -> AsyncIterator[App]:
    settings = Settings(
        data_dir=tmp_path,
        database_url=sqlite_url,
        pages={"delay_s": 0},
        network={"allowed_private_hosts": [site.host]},
        sweep={"window_days": 30},
    )
    async with open_app(settings) as opened:
        yield opened


@pytest.fixture
def today(app: App) -> dt.date:
    return app.clock.now().date()


def title_of(number: int) -> str:
    return f"Notice No. {number + 1} on the permits for {TOPICS[number % len(TOPICS)]}"


def show_articles(site: Any, today: dt.date, count: int = 6) -> list[str]:
    """Serve the articles, the newest first; return their paths."""
    paths = []
    for number in range(count):
        path = f"/notices/{4000 - number}.html"
        day = today - dt.timedelta(days=number)
        words = f"The office has decided on {TOPICS[number % len(TOPICS)]} after a hearing of all parties. " * 6
        site.on(
            path,
            f"<!doctype html><html><head><title>{title_of(number)} - Energy Office</title></head><body><article>"
            f"<h1>{title_of(number)}</h1><p>Published: {day.isoformat()}</p><p>{words}</p></article></body></html>",
        )
        paths.append(path)
    return paths


def html_page(body: str, head: str = "") -> str:
    return (
        f"<!doctype html><html><head><title>Energy Office</title>{head}</head>"
        f"<body><h1>Energy Office</h1>{body}</body></html>"
    )


def rss(site: Any, paths: Sequence[str], today: dt.date) -> str:
    noon = dt.datetime.combine(today, dt.time(0), dt.UTC)
    entries = "".join(
        f"<item><title>{title_of(number)}</title><link>{site.url(path)}</link>"
        f"<pubDate>{format_datetime(noon - dt.timedelta(days=number))}</pubDate></item>"
        for number, path in enumerate(paths)
    )
    return f'<rss version="2.0"><channel><title>Energy Office</title>{entries}</channel></rss>'


def list_rows(paths: Sequence[str], today: dt.date) -> str:
    rows = "".join(
        f'<li><a href="{path}">{title_of(number)}</a> <span>{today - dt.timedelta(days=number)}</span></li>'
        for number, path in enumerate(paths)
    )
    return f'<ul class="list">{rows}</ul>'


PROSE = "<p>The office watches over the supply of energy and answers to the parliament of the country.</p>" * 6


async def add(app: App, url: str, **fields: Any) -> DiscoveredSource:
    return await app.discovery.add({"name": "office", "url": url, **fields}, by=COMMAND_LINE)


async def sweep(app: App, found: DiscoveredSource) -> RunReport:
    return await app.sweeps.sweep(found.source, by=COMMAND_LINE)


def read_titles(report: RunReport) -> set[str]:
    return {item.title for item in report.items}


def list_pages(site: Any) -> list[str]:
    return [path for path in site.paths() if path != "/robots.txt"]


async def test_a_feed_that_a_page_without_a_list_names_is_read(app: App, site: Any, today: dt.date) -> None:
    paths = show_articles(site, today)
    link = '<link rel="alternate" type="application/rss+xml" title="News" href="/syndication?format=rss">'
    site.on("/", html_page(PROSE, link))
    site.on("/syndication", rss(site, paths, today))

    found = await add(app, site.url("/"))

    assert (found.source.kind, found.source.url) == (SourceKind.FEED, site.url("/syndication?format=rss"))
    chosen, own = found.discovery.options
    assert (chosen.method, chosen.entries, chosen.newest) == (DiscoveryMethod.FEED, 6, today)
    assert (own.method, own.is_chosen) == (DiscoveryMethod.PAGE, False)
    assert read_titles(await sweep(app, found)) == {title_of(number) for number in range(6)}


async def test_a_sitemap_that_only_robots_txt_names_gets_titles_and_dates_from_the_articles(
    app: App, site: Any, today: dt.date
) -> None:
    paths = show_articles(site, today)
    urls = "".join(f"<url><loc>{site.url(path)}</loc><lastmod>{today}</lastmod></url>" for path in paths)
    site.on("/robots.txt", f"User-agent: *\nAllow: /\nSitemap: {site.url('/maps/all.xml')}\n")
    site.on("/maps/all.xml", f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>')
    site.on("/", html_page(PROSE))

    found = await add(app, site.url("/"))

    assert (found.source.kind, found.source.url) == (SourceKind.FEED, site.url("/maps/all.xml"))
    assert found.discovery.options[0].method is DiscoveryMethod.SITEMAP
    assert len(list_pages(site)) <= MAX_REQUESTS
    report = await sweep(app, found)
    assert read_titles(report) == {title_of(number) for number in range(6)}
    assert {item.date for item in report.items} == {today - dt.timedelta(days=number) for number in range(6)}
    again = await sweep(app, found)
    assert again.items == []


async def test_a_news_sitemap_gives_titles_and_dates_itself(app: App, site: Any, today: dt.date) -> None:
    paths = show_articles(site, today)
    entries = "".join(
        f"<url><loc>{site.url(path)}</loc><news:news><news:publication_date>{today - dt.timedelta(days=number)}"
        f"</news:publication_date><news:title>{title_of(number)}</news:title></news:news></url>"
        for number, path in enumerate(paths)
    )
    protocols = "http://www.sitemaps.org/schemas/sitemap/0.9", "http://www.google.com/schemas/sitemap-news/0.9"
    spaces = 'xmlns="{}" xmlns:news="{}"'.format(*protocols)
    site.on("/robots.txt", f"Sitemap: {site.url('/all.xml')}\nSitemap: {site.url('/news-sitemap.xml')}\n")
    site.on("/news-sitemap.xml", f"<urlset {spaces}>{entries}</urlset>")
    site.on("/", html_page(PROSE))

    found = await add(app, site.url("/"))

    assert found.discovery.options[0].method is DiscoveryMethod.NEWS_SITEMAP
    assert "/all.xml" not in site.paths()
    assert read_titles(await sweep(app, found)) == {title_of(number) for number in range(6)}


SCRIPT_PAGE = """<div id="list"></div><script>
document.cookie = "seen=1";
const show = row => `<li><a href="/notices/${row.id}.html">${row.docTitle}</a> <span>${row.publishDate}</span></li>`;
fetch("/api/notices?page=1&size=4").then(answer => answer.json()).then(found => {
  document.getElementById("list").innerHTML = `<ul>${found.data.records.map(show).join("")}</ul>`;
});
</script>"""


def serve_json(site: Any, reply: Any, paths: Sequence[str], today: dt.date) -> None:
    records = [
        {
            "id": int(path.rsplit("/", 1)[1].removesuffix(".html")),
            "docTitle": title_of(number),
            "publishDate": str(today - dt.timedelta(days=number)),
            "updateTime": "2026-01-01 10:00:00",
            "channel": {"name": "Notices"},
        }
        for number, path in enumerate(paths)
    ]

    def answer(asked: Any) -> Any:
        page = int(parse_qs(urlsplit(asked.path).query)["page"][0])
        body = {"code": 0, "menu": [{"id": 1, "title": "Home"}], "data": {"records": records[4 * page - 4 : 4 * page]}}
        return reply(json.dumps(body), headers={"content-type": "application/json"})

    site.on("/api/notices", answer)


async def test_a_list_that_the_page_loads_as_json_is_read_there_page_by_page_without_cookies(
    app: App, site: Any, reply: Any, today: dt.date
) -> None:
    paths = show_articles(site, today)
    serve_json(site, reply, paths, today)
    site.on("/notices/", html_page(SCRIPT_PAGE))

    found = await add(app, site.url("/notices/"))

    recipe = found.discovery.recipes[0].how
    assert recipe.model_dump(exclude={"kind", "url", "link"}) == {
        "rows": ["data", "records"],
        "title": ["docTitle"],
        "link_template": site.url("/notices/{id}.html"),
        "date": ["publishDate"],
    }
    assert found.discovery.options[0].method is DiscoveryMethod.JSON
    before = len(site.asked)
    report = await sweep(app, found)
    assert read_titles(report) == {title_of(number) for number in range(6)}
    assert report.fallbacks == []
    asked = site.asked[before:]
    assert "/notices/" not in {request.path for request in asked}
    data = [request for request in asked if request.path.startswith("/api/notices")]
    assert [request.path for request in data] == ["/api/notices?page=1&size=4", "/api/notices?page=2&size=4"]
    assert all("cookie" not in request.headers for request in data)
    first = next(item for item in report.items if item.title == title_of(0))
    passages = {claim.kind: claim.passage for claim in (await app.proofs.get_proof(first.id)).claims}
    assert title_of(0) in passages["list"]
    assert str(today) in passages["date"]
    assert (await app.replays.replay(report.run_id)).is_identical


async def test_a_section_whose_json_is_gone_is_read_from_its_page_and_the_run_says_so(
    app: App, site: Any, reply: Any, today: dt.date
) -> None:
    paths = show_articles(site, today)
    serve_json(site, reply, paths, today)
    site.on("/notices/", html_page(SCRIPT_PAGE))
    found = await add(app, site.url("/notices/"))
    site.on("/api/notices", reply("gone", 404))
    site.on("/notices/", html_page(list_rows(paths, today)))

    report = await sweep(app, found)

    assert len(report.items) == 6
    assert [fallback.reason.code for fallback in report.fallbacks] == ["cause.json_list_unread"]


async def test_a_section_with_one_entry_is_a_list(app: App, site: Any, today: dt.date) -> None:
    paths = show_articles(site, today, 1)
    site.on("/notices/", html_page(f'<nav><a href="/">Home</a></nav><h2>Notices</h2>{list_rows(paths, today)}'))

    found = await add(app, site.url("/notices/"))

    assert found.source.sections == [{"name": "Energy Office", "url": site.url("/notices/")}]
    assert found.discovery.options[0].entries == 1
    assert read_titles(await sweep(app, found)) == {title_of(0)}


async def test_a_site_whose_robots_txt_refuses_is_refused_in_words_and_not_stored(app: App, site: Any) -> None:
    site.on("/robots.txt", "User-agent: *\nDisallow: /\n")
    site.on("/", html_page(PROSE))

    with pytest.raises(UsageError) as refused:
        await add(app, site.url("/"))

    assert "robots.txt" in render(refused.value.message, "en")
    assert list_pages(site) == []
    assert await app.sources.list_sources() == []


async def test_a_page_that_asks_to_log_in_is_said_to(app: App, site: Any) -> None:
    form = '<form action="/in"><input name="user"><input type="password" name="word"><button>Sign in</button></form>'
    site.on("/", html_page(form))

    found = await add(app, site.url("/"))

    assert found.discovery.problem is not None
    assert found.discovery.problem.code == "discovery.log_in"
    assert found.source.url == site.url("/")


async def test_the_address_of_a_feed_stays_a_feed_and_one_without_scheme_falls_back_to_http(
    app: App, site: Any, today: dt.date
) -> None:
    site.on("/feed.xml", rss(site, show_articles(site, today), today))

    found = await add(app, f"{site.host}/feed.xml")

    assert (found.source.kind, found.source.url) == (SourceKind.FEED, site.url("/feed.xml"))
    assert [option.reason.code for option in found.discovery.options] == ["discovery.is_feed"]
    assert list_pages(site) == ["/feed.xml"]


async def test_the_list_of_a_page_is_not_given_up_for_a_feed_of_something_else(
    app: App, site: Any, today: dt.date
) -> None:
    paths = show_articles(site, today)
    link = '<link rel="alternate" type="application/rss+xml" href="/other.xml">'
    site.on("/notices/", html_page(list_rows(paths, today), link))
    site.on("/other.xml", rss(site, ["/speeches/1.html", "/speeches/2.html"], today))

    found = await add(app, site.url("/notices/"))

    assert found.source.kind is SourceKind.SITE
    feed = next(option for option in found.discovery.options if option.method is DiscoveryMethod.FEED)
    assert (feed.is_chosen, feed.reason.code, feed.reason.args["covered"]) == (False, "discovery.covers_less", 0)


async def test_a_list_that_only_scripts_show_is_found_in_the_browser(app: App, site: Any, today: dt.date) -> None:
    paths = show_articles(site, today)
    written = json.dumps(list_rows(paths, today))
    site.on("/notices/", html_page(f'{PROSE}<div id="list"></div><script>list.innerHTML = {written}</script>'))

    found = await add(app, site.url("/notices/"))

    assert found.discovery.options[0].entries == 6
    assert read_titles(await sweep(app, found)) == {title_of(number) for number in range(6)}


async def test_what_a_person_says_of_a_source_comes_before_what_was_found(app: App, site: Any, today: dt.date) -> None:
    site.on("/notices/", html_page(list_rows(show_articles(site, today), today)))
    found = await add(app, site.url("/notices/"), render=Render.NEVER, tags=["energy"])
    assert (found.source.render, found.source.tags) == (Render.NEVER, ["energy"])


async def test_a_trial_shows_what_was_found_and_stores_nothing(app: App, site: Any, today: dt.date) -> None:
    site.on("/", html_page(PROSE, '<link rel="alternate" type="application/atom+xml" href="/feed">'))
    site.on("/feed", rss(site, show_articles(site, today), today))
    draft = app.sources.build_draft({"name": "office", "url": site.url("/")})

    trial = await app.sweeps.run_trial(draft, discover_at=site.url("/"))

    assert trial.discovery is not None
    assert (trial.kind, trial.discovery.options[0].url, trial.would_save) == (SourceKind.FEED, site.url("/feed"), 6)
    assert await app.sources.list_sources() == []


async def test_a_site_without_anything_costs_few_requests(app: App, site: Any) -> None:
    site.on("/", html_page(PROSE))
    found = await add(app, site.url("/"))
    assert found.discovery.options[0].reason.code == "discovery.nothing"
    assert len(list_pages(site)) <= MAX_REQUESTS
    assert found.discovery.requests <= MAX_REQUESTS
