"""The pages that `make bench NAME=pages` loads, served by a process of their own.

`/listed/…` are list pages and `/articles/…` articles of the sample ministry; `/drawn/…` is a page without a list until
its script has fetched the rows from `/rows`. Anything may follow the first folder: each path is another page to those
who remember pages. Every answer has an ETag, as those of most sites do.
"""

import asyncio
import datetime as dt
import sys
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

from monitor.demo.serving import HOST, LoopbackRequest, LoopbackResponse, build_status_response, serve_loopback
from monitor.demo.site import SampleSite

HOST_COUNT = 8

RENDERED_ROWS = 30

_START_TIMEOUT_S = 30.0


@asynccontextmanager
async def start_bench_site(today: dt.date) -> AsyncIterator[tuple[list[str], int]]:
    """Serves the pages from another process until the block ends; gives base urls, each another host, and its id."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.page_site", today.isoformat(), stdout=asyncio.subprocess.PIPE
    )
    try:
        if process.stdout is None:
            raise RuntimeError("the process that serves the pages has no output")
        line = await asyncio.wait_for(process.stdout.readline(), _START_TIMEOUT_S)
        yield [f"http://{HOST}:{port}" for port in line.decode().split()], process.pid
    finally:
        process.terminate()
        await process.wait()


class BenchSite:
    def __init__(self, today: dt.date) -> None:
        site = SampleSite("ministry", today=today)
        paths = [urlsplit(section["url"]).path for section in site.list_sections("")]
        articles = [urlsplit(item.url).path for item in site.list_expected_items("")]
        self._bodies = {
            "listed": _render_bodies(site, paths),
            "articles": _render_bodies(site, articles),
            "drawn": [_SCRIPTED_PAGE.encode()],
            "rows": [_render_rows(today).encode()],
        }

    def respond(self, request: LoopbackRequest) -> LoopbackResponse:
        """A page of the folder that is asked for; the same path gives the same page."""
        _, folder, *rest = f"{request.target}/".split("/")
        bodies = self._bodies.get(folder)
        if bodies is None:
            return build_status_response(404)
        number = int(rest[0]) if rest and rest[0].isdigit() else 0
        body = bodies[number % len(bodies)]
        return LoopbackResponse(200, "text/html; charset=utf-8", body, {"ETag": f'"{len(body)}-{zlib.crc32(body):x}"'})


def _render_bodies(site: SampleSite, paths: Sequence[str]) -> list[bytes]:
    answers = [site.respond(LoopbackRequest("GET", path, "")) for path in dict.fromkeys(paths)]
    pages = [answer for answer in answers if answer.status == 200 and answer.content_type.startswith("text/html")]
    return [page.body for page in pages if b"<a " in page.body]  # what scripts fill is measured by itself


_SCRIPTED_PAGE = """<!DOCTYPE html><html lang="zh"><head><meta charset="utf-8"><title>通知公告</title></head>
<body><h1>通知公告</h1><ul id="app"></ul><img src="/logo.png" alt=""><script>
fetch("/rows").then(answer => answer.text()).then(rows => { document.getElementById("app").innerHTML = rows; });
</script></body></html>"""


def _render_rows(today: dt.date) -> str:
    days = [today - dt.timedelta(days=number) for number in range(RENDERED_ROWS)]
    return "".join(
        f'<li><a href="/t{day:%Y%m%d}.html">关于开展{day}专项检查工作的通知</a><span>{day}</span></li>' for day in days
    )


async def _serve(today: dt.date) -> None:
    site = BenchSite(today)
    async with AsyncExitStack() as stack:
        ports = [await stack.enter_async_context(serve_loopback(site.respond)) for _ in range(HOST_COUNT)]
        sys.stdout.write(" ".join(str(port) for port in ports) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(dt.date.fromisoformat(sys.argv[1])))
