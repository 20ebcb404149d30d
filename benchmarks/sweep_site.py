"""The site of 145 pages that `make bench NAME=sweep` reads, served by a process of its own.

A home page leads to nine sections; each has two list pages of seven dated rows, each row an article. Around them stands
what stands on such sites: menus, a sidebar of links, a footer. Connections stay open, and answers have an ETag.
"""

import asyncio
import datetime as dt
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from subprocess import PIPE, Popen

HOST = "127.0.0.1"
SECTIONS = ("政策文件", "通知公告", "新闻动态", "政策解读", "统计数据", "规划计划", "标准规范", "人事信息", "会议活动")
LIST_PAGES, ROWS = 2, 7
PAGES = 1 + len(SECTIONS) * LIST_PAGES * (1 + ROWS)
_SUBJECTS = (
    "可再生能源发展专项资金管理",
    "城市更新项目评估",
    "数据安全能力建设",
    "中小企业数字化转型试点",
    "重点行业节能降碳改造",
    "公共服务设施安全检查",
    "科技成果转化基地认定",
)
_PARAGRAPHS = (
    "各地要切实加强组织领导，明确任务分工，细化工作措施，确保{subject}各项任务落到实处，{year}年底前完成第{number}批工作。",
    "资金安排总额为{amount}亿元，同比增长{share}%，重点支持技术改造、设备更新和人才培养三个方面，由省级主管部门统一组织申报。",
    "申报单位应当具有独立法人资格，近三年内无重大违法违规记录，并于{month}月{day}日前通过政务服务平台提交书面材料一式三份。",
    "省级主管部门应当对申报材料的真实性、完整性进行审核，组织专家评审，并将评审结果向社会公示，公示期不少于{days}个工作日。",
    "对弄虚作假、骗取资金的单位，按照有关规定收回资金，取消其{days}年内的申报资格，并依法依规追究相关人员的责任。",
    "各地在执行过程中遇到的问题，请及时向主管部门反映，主管部门将会同有关单位研究完善政策措施，加强跟踪指导和督促检查。",
)
_MENU = "".join(f'<li><a href="/s{place}/">{name}</a></li>' for place, name in enumerate(SECTIONS))
_ASIDE = "".join(f'<li><a href="/service/{place}.html">办事服务指南{place}</a></li>' for place in range(24))
_START_TIMEOUT_S = 30.0


def build_pages(today: dt.date) -> dict[str, bytes]:
    """Return the pages by their paths."""
    latest = "".join(_render_row(today, section, 0) for section in range(len(SECTIONS)))
    pages = {"/": _render("首页", f'<ul class="channels">{_MENU}</ul><ul class="latest">{latest}</ul>')}
    for section, name in enumerate(SECTIONS):
        for page in range(LIST_PAGES):
            numbers = range(page * ROWS, (page + 1) * ROWS)
            rows = "".join(_render_row(today, section, number) for number in numbers)
            turned = '<a href="index_1.html">下一页</a>' if page + 1 < LIST_PAGES else '<a href="./">首页</a>'
            path = f"/s{section}/" if page == 0 else f"/s{section}/index_{page}.html"
            pages[path] = _render(name, f'<ul class="list">{rows}</ul><div class="page">{turned}</div>')
            pages |= {
                f"/s{section}/{number}.html": _render_article(section, number, _day(today, number))
                for number in numbers
            }
    return pages


def _title(section: int, number: int) -> str:
    subject = _SUBJECTS[number % len(_SUBJECTS)]
    return f"关于做好{subject}第{section * 20 + number + 1}批工作的通知"


def _day(today: dt.date, number: int) -> dt.date:
    return today - dt.timedelta(days=number // 3)


def _render_row(today: dt.date, section: int, number: int) -> str:
    title = _title(section, number)
    link = f'<a href="/s{section}/{number}.html" title="{title}">{title}</a>'
    return f'<li>{link}<span class="date">{_day(today, number)}</span></li>'


def _render_article(section: int, number: int, day: dt.date) -> bytes:
    words = {
        "subject": _SUBJECTS[number % len(_SUBJECTS)],
        "year": day.year,
        "number": section * 20 + number + 1,
        "amount": 3 + number * 7 % 90,
        "share": 2.5 + number % 9,
        "month": 1 + number % 12,
        "day": 1 + number * 3 % 28,
        "days": 3 + number % 7,
    }
    text = "".join(f"<p>{_PARAGRAPHS[place % len(_PARAGRAPHS)].format(**words)}</p>" for place in range(18))
    head = f'<h1>{_title(section, number)}</h1><div class="info">发布时间：{day}　来源：办公厅</div>'
    return _render(_title(section, number), f'<div class="article">{head}<div class="content">{text}</div></div>')


def _render(title: str, body: str) -> bytes:
    head = f'<meta charset="utf-8"><title>{title}_测试委员会</title><link rel="stylesheet" href="/site.css">'
    script = "<script>var _hmt=_hmt||[];(function(){var h=document.createElement('script');h.async=true;})();</script>"
    aside = f'<div class="side"><h3>办事服务</h3><ul>{_ASIDE}</ul></div>'
    footer = '<div class="footer"><p>主办单位：测试委员会　备案号：000000</p><a href="/about.html">关于我们</a></div>'
    menu = f'<div class="nav"><ul><li><a href="/">首页</a></li>{_MENU}</ul></div>'
    html = f'<!DOCTYPE html><html lang="zh-CN"><head>{head}</head><body>{menu}<div class="main">{body}</div>{aside}'
    return f"{html}{footer}{script}</body></html>".encode()


@contextmanager
def start_sweep_site(today: dt.date) -> Iterator[tuple[str, Popen[bytes]]]:
    """Serve the site from another process until the block ends; gives its base url."""
    command = [sys.executable, "-m", "benchmarks.sweep_site", today.isoformat()]
    with Popen(command, stdin=PIPE, stdout=PIPE) as process:  # noqa: S603  our own module
        try:
            if process.stdout is None:
                raise RuntimeError("the process that serves the site has no output")
            yield f"http://{HOST}:{int(process.stdout.readline())}", process
        finally:
            process.terminate()


class SiteServer:
    """Answers GET over connections that stay open; `counts` has the requests and those answered with 304."""

    def __init__(self, pages: Mapping[str, bytes]) -> None:
        self._pages = pages
        self.requests = 0
        self.unchanged = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                writer.write(self.answer(head))
                await writer.drain()
        writer.close()

    def answer(self, head: str) -> bytes:
        path = head.split(" ", 2)[1]
        if path == "/~requests":
            return _format("200 OK", "text/plain", f"{self.requests} {self.unchanged}".encode(), "")
        self.requests += 1
        body = self._pages.get(path)
        if body is None:
            return _format("404 Not Found", "text/html", b"<h1>404</h1>", "")
        tag = f'"{len(body)}-{zlib.crc32(body):x}"'
        if tag in head:
            self.unchanged += 1
            return f"HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\n\r\n".encode()
        return _format("200 OK", "text/html; charset=utf-8", body, f"ETag: {tag}\r\n")


def _format(status: str, content_type: str, body: bytes, more: str) -> bytes:
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode()
        + body
    )


async def _serve(today: dt.date) -> None:
    site = SiteServer(build_pages(today))
    server = await asyncio.start_server(site.serve, HOST, 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(dt.date.fromisoformat(sys.argv[1])))
