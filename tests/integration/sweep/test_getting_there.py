"""What happens between a run and a site: the cache, robots, blocks, signposts, feeds, and dates that disagree."""

import asyncio
import datetime as dt
import gzip
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from monitor.i18n.catalogue import render
from monitor.vocabulary import DateSource, Disposition, RunStatus, SectionEnd, SourceKind

OLD = (400, 410, 420, 430, 440, 450)


LONG_AGO = "Tue, 03 Feb 2026 08:00:00 GMT"


def tagged(site: Any, reply: Any, *, by_date: bool = False) -> list[int]:
    """Puts an ETag or a date on all that the site serves, and counts the bytes that it sends from now on."""
    sent: list[int] = []
    served = dict(site._replies)

    def answer(path: str) -> Any:
        whole = served[path]
        body = whole.body.encode() if isinstance(whole.body, str) else whole.body
        name, asked_by, tag = (
            ("last-modified", "if-modified-since", LONG_AGO)
            if by_date
            else ("etag", "if-none-match", f'"{hash(body)}"')
        )

        def answered(asked: Any) -> Any:
            is_known = asked.headers.get(asked_by) == tag
            sent.append(0 if is_known else len(body))
            return reply("", 304, {name: tag}) if is_known else reply(body, 200, {**whole.headers, name: tag})

        return answered

    for path in served:
        site.on(path, answer(path))
    return sent


def saved(run: Any) -> set[str]:
    return {item.url.rpartition("/")[2] for item in run.items}


@pytest.mark.parametrize("by_date", [False, True])
async def test_an_unchanged_site_is_carried_once(bureau: Any, reply: Any, by_date: bool) -> None:
    rows = bureau.rows(0, 1, 2, *OLD)
    bureau.show(rows)
    sent = tagged(bureau.site, reply, by_date=by_date)
    first = await bureau.sweep()
    assert (len(first.items), sum(sent) > 0) == (3, True)
    sent.clear()
    second = await bureau.sweep()
    assert (second.sections[0].ended, second.coverage.known) == (SectionEnd.KNOWN, 3)
    assert sent == [0]


async def test_a_list_that_changed_is_seen_although_it_was_kept(bureau: Any, reply: Any) -> None:
    rows = bureau.rows(1, 2, *OLD)
    bureau.show(rows)
    tagged(bureau.site, reply)
    await bureau.sweep()
    bureau.show([*bureau.rows(0, first=200), *rows])
    tagged(bureau.site, reply)
    assert saved(await bureau.sweep()) == {"200.html"}


async def test_a_section_that_robots_refuses_is_unseen_with_that_reason(bureau: Any) -> None:
    bureau.show(bureau.rows(0, 1, *OLD))
    bureau.site.on("/robots.txt", "User-agent: *\nDisallow: /news/\n")
    run = await bureau.sweep()
    assert (run.status, run.sections[0].ended) == (RunStatus.FAILED, SectionEnd.ERROR)
    assert [render(place.reason, "en").partition(":")[0] for place in run.coverage.unseen] == ["WebBlocked/robots"]
    assert bureau.site.paths() == ["/robots.txt"]


@pytest.mark.parametrize("shown", [True, False])
async def test_an_article_that_robots_refuses_is_unseen_and_a_fallback(bureau: Any, shown: bool) -> None:
    rows = bureau.rows(1, 2, 1, *OLD, shown=shown)
    bureau.show(rows)
    bureau.site.on("/robots.txt", "User-agent: *\nDisallow: /news/detail/101.html\n")
    run = await bureau.sweep()
    assert run.status is RunStatus.DEGRADED
    (unseen,) = run.coverage.unseen
    assert (unseen.url.rpartition("/")[2], render(unseen.reason, "en").partition(":")[0]) == (
        "101.html",
        "WebBlocked/robots",
    )
    (fallback,) = run.fallbacks
    assert (fallback.where, "WebBlocked/robots" in render(fallback.reason, "en")) == (unseen.url, True)
    assert saved(run) == ({"100.html", "101.html", "102.html"} if shown else {"100.html", "102.html"})
    assert "/news/detail/101.html" not in bureau.site.paths()
    record = (await bureau.ledger(run))[101]
    expected = (Disposition.SAVED, "candidate.rule") if shown else (Disposition.LEFT, "candidate.undated_robots")
    assert (record.disposition, record.reason.code) == expected


async def test_a_robots_txt_that_could_not_be_read_is_noted_once(bureau: Any, reply: Any) -> None:
    bureau.show(bureau.rows(0, 1, *OLD))
    bureau.site.on("/robots.txt", reply("out of order", 500))
    run = await bureau.sweep()
    assert (run.status, len(run.items)) == (RunStatus.DEGRADED, 2)
    assert [(fallback.where, "robots.txt" in render(fallback.reason, "en")) for fallback in run.fallbacks] == [
        (bureau.site.url("/robots.txt"), True)
    ]


async def test_a_host_is_asked_one_at_a_time_however_many_summaries_are_written(bureau: Any) -> None:
    bureau.show(bureau.rows(*range(6), *OLD))
    served = dict(bureau.site._replies)

    def takes_its_time(path: str) -> Any:
        async def write(writer: asyncio.StreamWriter) -> None:
            for _ in range(50):  # long enough for another question to come in between
                await asyncio.sleep(0)
            body = served[path].body.encode()
            head = f"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {len(body)}\r\n"
            writer.write(f"{head}connection: close\r\n\r\n".encode() + body)
            await writer.drain()

        return lambda _asked: write

    for path in served:
        bureau.site.on(path, takes_its_time(path))
    assert len((await bureau.sweep()).items) == 6
    assert bureau.site.max_in_progress == 1


PACKED: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "deflate": zlib.compress}


@pytest.mark.parametrize("coding", PACKED)
async def test_what_comes_packed_is_unpacked(bureau: Any, reply: Any, coding: str) -> None:
    bureau.show(bureau.rows(0, 1, *OLD))
    body = bureau.site._replies["/news/"].body.encode()
    bureau.site.on("/news/", reply(PACKED[coding](body), headers={"content-encoding": coding}))
    run = await bureau.sweep()
    assert (run.status, len(run.items)) == (RunStatus.SUCCEEDED, 2)
    asked = next(entry for entry in bureau.site.asked if entry.path == "/news/")
    assert coding in asked.headers["accept-encoding"]


async def test_only_what_may_pass_is_asked_again(bureau: Any, reply: Any) -> None:
    bureau.show(bureau.rows(0, 1, *OLD))
    answers = [reply("busy", 503), bureau.site._replies["/news/"]]
    bureau.site.on("/news/", lambda _asked: answers.pop(0))
    bureau.site.on("/broken/", reply("out of order", 500))
    sections = [{"name": name, "url": bureau.site.url(f"/{name}/")} for name in ("news", "broken")]
    bureau.options = {"sections": sections}
    run = await bureau.sweep()
    assert [(section.ended, section.candidates) for section in run.sections] == [
        (SectionEnd.END, 8),
        (SectionEnd.ERROR, 0),
    ]
    assert (bureau.site.paths().count("/news/"), bureau.site.paths().count("/broken/")) == (2, 1)


CAPTCHA = "<html><body><form id='challenge-form' action='/captcha'><input name='challenge'></form></body></html>"
SHELL = "<html><body><div id='app'></div><script src='/app.js'></script></body></html>"
ANSWERS = {
    "captcha": (200, CAPTCHA, "WebBlocked/captcha_required"),
    "refused": (403, "<html><body>Forbidden</body></html>", "WebBlocked/http_403"),
    "script": (412, "<script>document.cookie='a=1'</script>", "WebBlocked/http_412"),
    "script202": (202, "<html><script>document.cookie='a=1'</script></html>", "WebBlocked/http_412"),
    "often": (429, "slowly", "WebBlocked/http_429"),
    "shell": (200, SHELL, "WebBlocked/empty_shell"),
    "gone": (404, "no such page", "NotFound"),
    "broken": (500, "out of order", "BadGateway"),
}


async def test_blocks_are_named_by_kind_and_told_apart_from_failures(bureau: Any, reply: Any) -> None:
    bureau.options = {"sections": []}
    for name, (status, body, _) in ANSWERS.items():
        url = bureau.site.on(f"/{name}/", reply(body, status))
        bureau.options["sections"].append({"name": name, "url": url})
    run = await bureau.sweep()
    reported = {place.section: render(place.reason, "en").partition(": ")[0] for place in run.coverage.unseen}
    assert reported == {name: reason for name, (_, _, reason) in ANSWERS.items()}
    assert run.status is RunStatus.FAILED


@pytest.mark.parametrize(("status", "detail"), [(429, "http_429"), (200, "captcha_required")])
async def test_a_site_that_turns_us_away_three_times_is_left_alone(
    bureau: Any, reply: Any, status: int, detail: str
) -> None:
    wall = "slowly" if status == 429 else CAPTCHA
    names = ["a", "b", "c", "d", "e"]
    for name in names:
        bureau.site.on(f"/{name}/", reply(wall, status))
    bureau.options = {"sections": [{"name": name, "url": bureau.site.url(f"/{name}/")} for name in names]}
    run = await bureau.sweep()
    assert {section.ended for section in run.sections} == {SectionEnd.ERROR}
    assert {render(place.reason, "en").partition(":")[0] for place in run.coverage.unseen} == {f"WebBlocked/{detail}"}
    assert ["3 times" in render(place.reason, "en") for place in run.coverage.unseen] == [
        False,
        False,
        False,
        True,
        True,
    ]
    assert [path for path in bureau.site.paths() if path != "/robots.txt"] == ["/a/", "/b/", "/c/"]


async def test_signposts_and_frames_lead_to_the_list(bureau: Any) -> None:
    bureau.show(bureau.rows(0, 1, *OLD))
    bureau.site.on("/", "<html><head><meta http-equiv='refresh' content='0;url=/en/'></head><body></body></html>")
    bureau.site.on("/en/", "<html><body><script>window.location.href='/frames.html';</script></body></html>")
    bureau.site.on(
        "/frames.html",
        "<html><frameset rows='80,*'><frame name=top src='/top.html'><frame name=main src='/news/'></frameset></html>",
    )
    bureau.options = {"sections": [{"name": "通知公告", "url": bureau.site.url("/")}]}
    run = await bureau.sweep()
    assert (run.status, len(run.items), run.sections[0].ended) == (RunStatus.SUCCEEDED, 2, SectionEnd.END)


async def test_the_date_of_the_list_stands_and_the_one_of_the_article_is_kept(bureau: Any) -> None:
    rows = bureau.rows(1, 2, *OLD)
    bureau.show(rows)
    body = "现将有关事项通知如下，请认真贯彻执行，并于月底前报送工作总结材料。" * 4
    stated = bureau.clock.today - dt.timedelta(days=5)
    bureau.site.on(
        rows[0].path, f"<html><body><h1>{rows[0].text}</h1><p>发布时间：{stated}</p><p>{body}</p></body></html>"
    )
    run = await bureau.sweep()
    reported = {item.url.rpartition("/")[2]: (item.date, item.date_source, item.date_conflict) for item in run.items}
    assert reported == {
        "100.html": (rows[0].day, DateSource.LISTED, stated),
        "101.html": (rows[1].day, DateSource.LISTED, None),
    }


def rss(entries: str) -> str:
    return f"<rss version='2.0'><channel><title>通知</title>{entries}</channel></rss>"


def rss_item(url: str, day: dt.date) -> str:
    at = f"{day:%a, %d %b %Y} 08:00:00 +0800"
    return f"<item><title>关于印发办法的通知</title><link>{url}</link><pubDate>{at}</pubDate></item>"


def atom_entry(url: str, day: dt.date) -> str:
    return (
        f"<entry><title>关于印发办法的通知</title><link href='{url}'/><updated>{day}T08:00:00+08:00</updated></entry>"
    )


def map_entry(url: str, day: dt.date) -> str:
    return f"<url><loc>{url}</loc><lastmod>{day}</lastmod></url>"


FEEDS = {
    "rss": (rss_item, rss, "utf-8"),
    "rss in gb2312": (rss_item, lambda inner: f"<?xml version='1.0' encoding='gb2312'?>{rss(inner)}", "gb2312"),
    "atom": (atom_entry, lambda inner: f"<feed xmlns='http://www.w3.org/2005/Atom'>{inner}</feed>", "utf-8"),
    "sitemap": (map_entry, lambda inner: f"<urlset xmlns='http://x/0.9'>{inner}</urlset>", "utf-8"),
}


@pytest.mark.parametrize("kind", FEEDS)
async def test_a_feed_is_swept_like_a_list(bureau: Any, reply: Any, kind: str) -> None:
    entry, whole, encoding = FEEDS[kind]
    rows = bureau.rows(0, 3, *OLD)
    bureau.show(rows)
    text = whole("".join(entry(bureau.site.url(row.path), row.day) for row in rows))
    bureau.site.on("/feed.xml", reply(text.encode(encoding), headers={"content-type": "application/xml"}))
    bureau.options = {"kind": SourceKind.FEED, "url": bureau.site.url("/feed.xml"), "sections": []}
    run = await bureau.sweep()
    assert (run.status, saved(run)) == (RunStatus.SUCCEEDED, {"100.html", "101.html"})
    dated_by = DateSource.PAGE if kind == "sitemap" else DateSource.FEED  # a sitemap dates changes
    assert {item.date_source for item in run.items} == {dated_by}
    assert all(item.summary for item in run.items)
    if kind != "sitemap":
        assert {item.title for item in run.items} == {"关于印发办法的通知"}
    assert (await bureau.sweep()).sections[0].ended is SectionEnd.KNOWN


async def test_a_sitemap_index_leads_to_its_sitemaps(bureau: Any, reply: Any) -> None:
    rows = bureau.rows(0, 3, *OLD)
    bureau.show(rows)
    maps = {"/map-new.xml": rows[:4], "/map-old.xml.gz": rows[4:]}
    xml = {"content-type": "application/xml"}
    for path, part in maps.items():
        inner = "".join(map_entry(bureau.site.url(row.path), row.day) for row in part)
        body = f"<urlset>{inner}</urlset>".encode()
        bureau.site.on(path, reply(gzip.compress(body) if path.endswith("gz") else body, headers=xml))
    index = "".join(f"<sitemap><loc>{bureau.site.url(path)}</loc></sitemap>" for path in maps)
    bureau.site.on("/sitemap.xml", reply(f"<sitemapindex>{index}</sitemapindex>", headers=xml))
    bureau.options = {"kind": SourceKind.FEED, "url": bureau.site.url("/sitemap.xml"), "sections": []}
    run = await bureau.sweep()
    assert saved(run) == {"100.html", "101.html"}
    assert run.coverage.out_of_range == len(OLD)
