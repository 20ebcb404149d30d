"""List pages of the sample sites: as they stand on another day, and as another system would serve them."""

import calendar
import datetime as dt
import html
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from monitor.demo.serving import LoopbackRequest
from monitor.demo.site import SampleSite

BASE_URL = "http://sample.example:8080"  # reposts take the port to another host
_UNREADABLE = {"hybz", "dfdt"}  # drawn by a script, and guarded
_SWEEPS_A_YEAR = 10


@dataclass(frozen=True)
class Row:
    title: str
    url: str
    date: dt.date


@dataclass(frozen=True)
class ListPage:
    """A section's first list page: its markup and the urls of its rows, in page order."""

    site: str
    section: str
    url: str
    text: str
    rows: Sequence[Row]

    @property
    def urls(self) -> list[str]:
        return [row.url for row in self.rows]


@dataclass(frozen=True)
class Redesign:
    """`template` and `scheme` are keys of `TEMPLATES` and `SCHEMES`; `language` is that of menu and headings."""

    template: str
    scheme: str
    language: str
    menu_order: int


def list_sample_pages(today: dt.date) -> list[ListPage]:
    """Return every section of the sample sites whose list stands in its page's markup, on a day."""
    return [page for name in ("ministry", "bureau") for page in _read_site(SampleSite(name, today=today), name)]


def _read_site(site: SampleSite, name: str, only: str | None = None) -> list[ListPage]:
    expected = site.list_expected_items(BASE_URL)
    pages = []
    for section in site.list_sections(BASE_URL):
        if urlsplit(section["url"]).path.split("/")[1] in _UNREADABLE or only not in (None, section["name"]):
            continue
        answer = site.respond(LoopbackRequest("GET", urlsplit(section["url"]).path, urlsplit(BASE_URL).netloc))
        text = _decode(answer.body)
        rows = [
            Row(item.title, item.url, item.date)
            for item in expected
            if section["name"] in item.sections and _is_shown(item.url, text)
        ]
        if rows:
            pages.append(ListPage(name, section["name"], section["url"], text, rows))
    return pages


def _decode(body: bytes) -> str:
    return body.decode("gb2312" if b"gb2312" in body[:400] else "utf-8", "replace")


def _is_shown(url: str, text: str) -> bool:
    return urlsplit(url).path.rsplit("/", 1)[-1] in text


def read_on_later_days(page: ListPage, count: int, today: dt.date) -> Iterator[ListPage]:
    """Yield the same section as later sweeps find it: rows come and go, and what stands around them changes."""
    chance = random.Random(page.section)  # noqa: S311 (the same sweeps in every run)
    for number in range(count):
        if number % _SWEEPS_A_YEAR == 0:
            site = SampleSite(page.site, today=today + dt.timedelta(days=chance.randrange(1, 400)))
        own = [item for item in site.list_expected_items(BASE_URL) if item.section == page.section]
        for item in chance.sample(own, min(chance.randrange(4), len(own) - 2)):
            site.remove_item(item.title)
        for place in range(chance.randrange(4)):
            title = f"关于开展第{number + 1}批绿色能源示范项目（{place + 1}组）申报工作的通知"
            site.add_item(page.section, title, days_ago=chance.randrange(40))
        (found,) = _read_site(site, page.site, page.section)
        yield ListPage(page.site, page.section, page.url, _change_surroundings(found.text, chance), found.rows)


def _change_surroundings(text: str, chance: random.Random) -> str:
    if chance.random() < 0.5:
        notice = '<div class="notice"><p>因系统维护，本网站将于周六22时至周日6时暂停服务，敬请谅解。</p></div>'
        place = chance.choice([r"<body[^>]*>", r"<h2[^>]*>", r"</h2>"])
        text = re.sub(rf"({place})", lambda found: _put_beside(found[1], notice), text, count=1)
    if chance.random() < 0.5:
        text = text.replace("</nav>", '<a href="/zt/2027/">专题专栏</a></nav>', 1)
        text = re.sub(r'(<div class="nav"><ul[^>]*>)', r'\1<li><a href="/zt/2027/">专题专栏</a></li>', text, count=1)
    if chance.random() < 0.3:
        text = re.sub(r'<li><a href="/jggk/">[^<]*</a></li>', "", text, count=1)
    if chance.random() < 0.5:
        number = chance.randrange(10, 9_000)
        text = re.sub(r'<(ul|table|dl|div) class="([^"]+)"', rf'<\1 class="\2 count-{number}"', text)
    if chance.random() < 0.3:
        text = text.replace("<li><a href", '<li class="new"><a href', 1)
    return text


def _put_beside(tag: str, notice: str) -> str:
    return notice + tag if tag.startswith("<h2") else tag + notice


def redesign(page: ListPage, change: Redesign) -> ListPage:
    """Return the same items of the section in another system's page."""
    moved = [Row(row.title, SCHEMES[change.scheme](row, place), row.date) for place, row in enumerate(page.rows)]
    menu = list(_MENUS[change.language])
    turn = change.menu_order % len(menu)
    heading = page.section if change.language == "zh" else "Latest documents"
    text = _PAGE.format(
        language=change.language,
        heading=heading,
        menu=_SHELLS[change.menu_order % len(_SHELLS)].format(
            "".join(f'<li><a href="{href}">{name}</a></li>' for name, href in [*menu[turn:], *menu[:turn]])
        ),
        rows=TEMPLATES[change.template](moved, change.language),
    )
    return ListPage(page.site, page.section, page.url, text, moved)


_MENUS = {
    "zh": [
        ("首页", "/"),
        ("机构", "/about/"),
        ("公开", "/open/"),
        ("互动", "/ask/"),
        ("数据", "/data/"),
        ("服务", "/do/"),
    ],
    "en": [("Home", "/"), ("About", "/about/"), ("News", "/news/"), ("Contact", "/ask/"), ("Data", "/data/")],
}
_SHELLS = (
    '<nav class="navbar"><ul class="navbar-nav">{}</ul></nav>',
    '<header id="masthead"><div class="menu-container"><ul id="primary-menu">{}</ul></div></header>',
    '<div class="x-head"><div class="x-in"><ul>{}</ul></div></div>',
)
_PAGE = (
    '<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8"><title>{heading}</title></head><body>{menu}'
    "<main><h1>{heading}</h1>{rows}</main><footer><p>© Sample</p></footer></body></html>"
)
SCHEMES: dict[str, Callable[[Row, int], str]] = {
    "same": lambda row, _: row.url,
    "article": lambda _, place: f"{BASE_URL}/article/{20_000 + place}.html",
    "query": lambda _, place: f"{BASE_URL}/index.php?m=content&c=show&id={700 + place}",
    "slug": lambda row, place: f"{BASE_URL}/news/{row.date:%Y/%m}/document-{place + 31}/",
    "host": lambda row, place: f"http://www.sample.example/portal/detail/{row.date:%Y%m%d}{place:03}",
}


def _write_day(row: Row, language: str) -> str:
    return (
        row.date.isoformat()
        if language == "zh"
        else f"{calendar.month_abbr[row.date.month]} {row.date.day}, {row.date.year}"
    )


def _join(rows: Sequence[Row], language: str, row_text: str, around: str) -> str:
    """Return the rows by a pattern; `{u}` is the url, `{t}` the title, `{d}` the day and `{n}` the row's number."""
    return around.format(
        "\n".join(
            row_text.format(u=html.escape(row.url), t=html.escape(row.title), d=_write_day(row, language), n=place)
            for place, row in enumerate(rows)
        )
    )


def _by(row_text: str, around: str) -> Callable[[Sequence[Row], str], str]:
    return lambda rows, language: _join(rows, language, row_text, around)


TEMPLATES: dict[str, Callable[[Sequence[Row], str], str]] = {
    "list_group": _by(
        '<a class="list-group-item list-group-item-action" href="{u}"><h5 class="mb-1">{t}</h5><small>{d}</small></a>',
        '<div class="container"><div class="list-group">{}</div></div>',
    ),
    "cards": _by(
        '<article class="card"><div class="card-body"><h3 class="card-title"><a class="stretched-link" href="{u}">{t}'
        '</a></h3><time datetime="{d}">{d}</time></div></article>',
        '<section class="cards"><div class="card-deck">{}</div></section>',
    ),
    "data_table": _by(
        '<tr class="row"><td class="no">{n}</td><td class="views-field-title"><a href="{u}">{t}</a></td>'
        '<td class="views-field-created">{d}</td></tr>',
        '<div class="table-responsive"><table class="data"><tbody>{}</tbody></table></div>',
    ),
    "word_press": _by(
        '<article id="post-{n}" class="post type-post hentry"><header class="entry-header"><h2 class="entry-title">'
        '<a rel="bookmark" href="{u}">{t}</a></h2><div class="entry-meta">{d}</div></header></article>',
        '<div id="primary" class="content-area"><div class="site-main">{}</div></div>',
    ),
    "drupal": _by(
        '<div class="views-row"><span class="views-field views-field-created">{d}</span> <span class="views-field '
        'views-field-title"><span class="field-content"><a href="{u}">{t}</a></span></span></div>',
        '<div class="region region-content"><div class="view"><div class="view-content">{}</div></div></div>',
    ),
    "definitions": _by(
        '<dt><b><a href="{u}">{t}</a></b></dt><dd>{d}</dd>', '<div id="wrap"><dl class="news">{}</dl></div>'
    ),
    "hashed": _by(
        '<li class="css-1x7{n}ab"><div class="css-9kq"><a class="css-p0z" href="{u}"><p>{t}</p></a><span>{d}</span>'
        "</div></li>",
        '<div class="css-aa1"><div class="css-bb2"><ul class="css-cc3">{}</ul></div></div>',
    ),
    "timeline": _by(
        '<li class="event"><div class="when">{d}</div><div class="what"><h4><a href="{u}">{t}</a></h4></div></li>',
        '<section class="timeline"><ol>{}</ol></section>',
    ),
    "paragraphs": _by('<p class="item">{d} <strong><a href="{u}">{t}</a></strong></p>', '<div class="text">{}</div>'),
    "gov_uk": _by(
        '<li class="gem-c-document-list__item"><div class="title"><a class="govuk-link" href="{u}">{t}</a></div>'
        '<ul class="metadata"><li>{d}</li></ul></li>',
        '<div class="govuk-grid-row"><div class="finder-results"><ul class="gem-c-document-list">{}</ul></div></div>',
    ),
    "share_point": _by(
        '<tr class="ms-itmhover"><td class="ms-vb2"><div class="ms-vb"><a class="ms-listlink" href="{u}">{t}</a></div>'
        '</td><td class="ms-vb2"><nobr>{d}</nobr></td></tr>',
        '<div id="MSOZoneCell"><table class="ms-webpart"><tr><td><table class="ms-listviewtable">{}</table></td></tr>'
        "</table></div>",
    ),
    "portal": _by(
        '<li><i class="dot"></i><a href="{u}" title="{t}">{t}</a><em class="rq">{d}</em></li>',
        '<div class="zwgk-right"><div class="tab-bd"><div class="con"><ul class="ul-tw14">{}</ul></div></div></div>',
    ),
}


def list_redesigns(pages: Sequence[ListPage]) -> list[tuple[ListPage, Redesign]]:
    """Return forty redesigns: every template, url scheme, language and section takes part."""
    schemes = list(SCHEMES)
    templates = list(TEMPLATES)
    return [
        (
            pages[number % len(pages)],
            Redesign(
                template=templates[(number + number // len(templates)) % len(templates)],
                scheme=schemes[number % len(schemes)],
                language="en" if number % 3 == 2 else "zh",
                menu_order=number,
            ),
        )
        for number in range(40)
    ]
