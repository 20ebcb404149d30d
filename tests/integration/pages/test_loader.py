from collections.abc import AsyncIterator

import pytest

from monitor.config.model import BrowserSettings, NetworkSettings, PagesSettings
from monitor.errors import BrowserMissing, WorkFailed
from monitor.fetch.browser.launch import find_browser
from monitor.pages.loader import Loader
from monitor.vocabulary import Render

ROWS = "".join(
    f"<li><a href='/art/2026/11/{i}/a_{i}.html'>关于开展第{i}批试点工作的通知公告</a><span>2026-11-{i:02}</span></li>"
    for i in range(1, 13)
)
LIST = f"<html><head><title>通知公告</title></head><body><ul class=list>{ROWS}</ul></body></html>"
SHELL = """<html><head><title>App</title></head><body><div id="app"></div><script>
fetch('/rows').then(r => r.text()).then(rows => { document.getElementById('app').innerHTML = rows; });
</script></body></html>"""
EMPTY_SHELL = '<html><body><div id="app"></div><script src="/gone.js"></script></body></html>'


@pytest.fixture
async def loader(pages: PagesSettings, network: NetworkSettings, clock, workers) -> AsyncIterator[Loader]:
    async with Loader.from_settings(pages=pages, network=network, clock=clock, workers=workers) as opened:
        yield opened


@pytest.fixture
def has_browser() -> None:
    try:
        find_browser(BrowserSettings())
    except BrowserMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
async def loader_without_browser(network: NetworkSettings, clock, workers, tmp_path) -> AsyncIterator[Loader]:
    settings = PagesSettings(delay_s=0, browser=BrowserSettings(path=tmp_path / "none"))
    async with Loader.from_settings(pages=settings, network=network, clock=clock, workers=workers) as opened:
        yield opened


async def test_an_ordinary_page_is_read_without_a_browser(loader, site, clock) -> None:
    page = await loader.load(site.on("/list", LIST) + "?utm_source=x#top")
    assert (page.error, page.rendered, page.status, page.title) == (None, False, 200, "通知公告")
    assert len(page.candidates) == 12
    assert page.url == page.final_url == site.url("/list")
    assert page.fetched_at == clock.now()


async def test_a_page_is_loaded_once_in_a_run_under_either_of_its_urls(loader, site, reply) -> None:
    end = site.on("/end", LIST)
    start = site.on("/start", reply(status=302, headers={"location": "/end"}))
    for url in (start, start, end, end + "#part"):
        assert (await loader.load(url)).final_url == end
    assert site.paths() == ["/robots.txt", "/start", "/end"]
    await loader.for_run().load(start)
    assert site.paths().count("/end") == 2


async def test_a_failure_is_not_remembered(loader, site) -> None:
    url = site.url("/later")
    assert (await loader.load(url)).error.code == "NotFound"
    site.on("/later", LIST)
    assert (await loader.load(url)).error is None


@pytest.mark.usefixtures("has_browser")
async def test_a_shell_is_drawn_and_its_folder_is_remembered(loader, site) -> None:
    site.on("/rows", f"<ul>{ROWS}</ul>")
    page = await loader.load(site.on("/app", SHELL))
    assert (page.error, page.rendered, len(page.candidates)) == (None, True, 12)
    assert site.paths().count("/app") == 2
    assert (await loader.for_run().load(site.on("/other", LIST))).rendered
    assert site.paths().count("/other") == 1
    assert not (await loader.for_run().load(site.on("/elsewhere/list", LIST))).rendered


@pytest.mark.usefixtures("has_browser")
async def test_a_cookie_wall_gets_a_second_try_in_the_browser(loader, site, reply) -> None:
    def wall(asked):
        inside = "pass=1" in asked.headers.get("cookie", "")
        script = "<script>document.cookie='pass=1'; location.reload()</script>"
        return reply(LIST) if inside else reply(script, 412)

    page = await loader.load(site.on("/list", wall))
    assert (page.error, page.rendered, len(page.candidates)) == (None, True, 12)


async def test_a_cookie_wall_stays_a_block_where_drawing_is_off(loader, site, reply) -> None:
    page = await loader.load(site.on("/list", reply("<script>1</script>", 412)), render=Render.NEVER)
    assert (page.error.code, page.error.detail_code, page.status) == ("WebBlocked", "http_412", 412)


@pytest.mark.usefixtures("has_browser")
async def test_a_page_can_be_drawn_always(loader, site) -> None:
    url = site.on("/list", LIST)
    assert not (await loader.load(url)).rendered
    page = await loader.load(url, render=Render.ALWAYS)
    assert (page.rendered, page.title, len(page.candidates)) == (True, "通知公告", 12)
    assert (await loader.load(url)).rendered


@pytest.mark.usefixtures("has_browser")
async def test_an_empty_shell_is_distinguished_from_an_empty_list(loader, site) -> None:
    page = await loader.load(site.on("/app", EMPTY_SHELL))
    assert (page.error.code, page.error.detail_code, page.rendered) == ("WebBlocked", "empty_shell", True)


async def test_without_a_browser_ordinary_pages_are_read_and_shells_are_reported(loader_without_browser, site) -> None:
    assert (await loader_without_browser.load(site.on("/list", LIST))).error is None
    page = await loader_without_browser.load(site.on("/app", SHELL))
    assert (page.error.code, page.error.detail_code) == ("WebBlocked", "empty_shell")
    with pytest.raises(BrowserMissing):
        await loader_without_browser.load(site.url("/list"), render=Render.ALWAYS)


async def test_a_broken_browser_does_not_stop_ordinary_loading(network, clock, site, workers, tmp_path) -> None:
    broken = tmp_path / "browser"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    settings = PagesSettings(delay_s=0, browser=BrowserSettings(path=broken))
    async with Loader.from_settings(pages=settings, network=network, clock=clock, workers=workers) as loader:
        assert (await loader.load(site.on("/app", SHELL))).error.detail_code == "empty_shell"


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("nonsense", "InvalidUrl"),
        ("http://", "InvalidUrl"),
        ("file:///etc/passwd", "Forbidden"),
        ("data:text/html,x", "Forbidden"),
        ("http://127.0.0.1:1/", "Forbidden"),
        ("http://2130706433/", "Forbidden"),
        ("http://nowhere.invalid/", "NetworkError"),
    ],
)
@pytest.mark.parametrize("render", [Render.AUTO, Render.ALWAYS])
async def test_what_cannot_be_loaded_says_why(loader, has_browser, url: str, code: str, render: Render) -> None:
    page = await loader.load(url, render=render)
    assert page.error.code == code
    assert page.error.message


async def test_robots_txt_is_an_error_of_the_page(loader, site) -> None:
    site.on("/robots.txt", "User-agent: *\nDisallow: /private\n")
    page = await loader.load(site.on("/private/a", LIST))
    assert (page.error.code, page.error.detail_code) == ("WebBlocked", "robots")


async def test_a_document_is_no_page(loader, site, reply) -> None:
    page = await loader.load(site.on("/a.pdf", reply(b"%PDF-1.4", headers={"content-type": "application/pdf"})))
    assert page.error.code == "UnsupportedType"


async def test_a_page_of_50_mb_is_too_large(loader, site) -> None:
    assert (await loader.load(site.on("/big", b"x" * 50_000_000))).error.code == "TooLarge"


async def test_gb2312_is_read_as_what_it_is(loader, site, reply) -> None:
    old = reply(
        "<html><title>国务院公告栏目</title><p>正文</p></html>".encode("gb2312"), headers={"content-type": "text/html"}
    )
    assert (await loader.load(site.on("/old", old))).title == "国务院公告栏目"


async def test_a_download_is_named_by_us_and_stays_in_its_folder(loader, site, reply, tmp_path) -> None:
    pdf = reply(
        b"%PDF-1.4 body",
        headers={"content-type": "application/pdf", "content-disposition": "attachment; filename=../../evil.sh"},
    )
    kept = await loader.download(site.on("/files/..%2f..%2fevil.sh", pdf), tmp_path / "run")
    assert kept.parent == tmp_path / "run"
    assert (len(kept.stem), kept.suffix) == (16, ".pdf")
    assert kept.read_bytes() == b"%PDF-1.4 body"
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


@pytest.mark.parametrize("url", ["/missing.pdf", "/big.pdf", "file:///etc/passwd", "nonsense"])
async def test_a_download_that_fails_says_why(loader, site, tmp_path, url: str) -> None:
    site.on("/big.pdf", b"%PDF" * 3_000_000)
    address = site.url(url) if url.startswith("/") else url
    with pytest.raises(WorkFailed, match="could not be downloaded"):
        await loader.download(address, tmp_path)
    assert list(tmp_path.iterdir()) == []
