"""Every reader of outside text by name: a function that reads one text of any length, in the place where it comes."""

import datetime as dt
from collections.abc import Callable
from contextlib import suppress
from html import escape

from protego import Protego
from selectolax.lexbor import LexborHTMLParser

from monitor.dates import date_in_url, detect_order, find_dates, find_days, find_periods, infer_order, mask_dates
from monitor.dates.numerals import parse_date_numeral, parse_numeral
from monitor.db.tables.collection import Item
from monitor.db.tables.policies import Topic
from monitor.db.terms import TextQuery, extract_terms, fold_text
from monitor.dedupe.titles import parse_title
from monitor.errors import MonitorError
from monitor.exports.document import format_inline
from monitor.extract.attachments import detect_extension
from monitor.extract.encoding import decode
from monitor.extract.feeds import is_feed, is_sitemap_index
from monitor.extract.parse import parse_page
from monitor.extract.redirects import find_main_frame, find_redirect
from monitor.extract.sentences import MAX_SENTENCE_CHARS, is_prose, split_sentences
from monitor.llm.answers import extract_plain_text, parse_array, parse_object
from monitor.page import Page
from monitor.pages.shells import needs_browser
from monitor.pages.text import render_page_text
from monitor.policies.facts import read_facts
from monitor.ranking.kinds import classify_item_type
from monitor.ranking.rule import score_importance
from monitor.ranking.topic_model import find_quote
from monitor.ranking.topics import score_topic
from monitor.services.schedules import check_schedule
from monitor.urls import clean_url, get_registrable_domain, is_on_site, url_key
from monitor.verify.citations import PassageIndex, parse_cited_sentences
from monitor.verify.clauses import parse_segments
from monitor.verify.echoes import EchoDetector, find_prompt_mark
from monitor.verify.figures import parse_figures
from monitor.verify.grounding import find_ungrounded_numbers
from monitor.verify.instructions import is_prompt_injection, list_safe_lines
from monitor.verify.judge import StatementJudge
from monitor.verify.names import NameIndex, find_names
from monitor.verify.prose import extract_words, iter_whole_sentences
from monitor.verify.quantities import find_list_counts
from monitor.verify.statements import SourceText

_NOW = dt.datetime(2026, 2, 10, tzinfo=dt.UTC)
_TODAY = _NOW.date()
_URL = "https://www.sample.gov.cn/art/2026/index.html"
_SUMMARY = (
    "国家能源局2026年2月3日表示，前三季度装机容量同比增长3.5%，超过100亿元。 Output rose by 3.5% to 1,234 in May 2026."
)
_MAX_STATEMENT_CHARS = 1000  # what the checks of summaries let through

_MAX_TITLE_CHARS = 500  # of a row of a list

Reader = Callable[[str], object]


def _parse(html: str, content_type: str = "text/html; charset=utf-8") -> Page:
    body = html.encode("utf-8", "replace")
    return parse_page(body, url=_URL, final_url=_URL, status=200, content_type=content_type, fetched_at=_NOW)


def _score_topic(text: str) -> object:
    words = ["储能", "前三季度", "grid fee", "output", "EV", "a 1", "的"]
    wanted = Topic(id=1, name="t", words=words, exclusions=["data", "a a", "年"], created_at=_NOW)
    values = {"run_id": "r", "source": "s", "section": "s", "url": "u", "url_key": "u"}
    return score_topic(wanted, Item(title=text[:_MAX_TITLE_CHARS], first_seen=_NOW, **values), None, text)


def _wrap(body: str, head: str = "<title>Notice - Sample</title>") -> str:
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"


def _read_article(text: str) -> Page:
    return _parse(
        _wrap(
            "<h1>Notice of the sample office on the sample</h1><div class=info>发布时间：2026-02-03 来源：样本局</div>"
            f"<div class=content><p>{escape(text)}</p><p>{'The office publishes the notice. ' * 8}</p></div>"
        )
    )


def _read_paragraphs(text: str) -> Page:
    """Read a text in many paragraphs, so that no limit of a line's length bounds it."""
    pieces = (text[start : start + 100] for start in range(0, len(text), 100))
    return _parse(_wrap("<h1>Notice</h1>" + "".join(f"<p>{escape(piece)}</p>" for piece in pieces)))


def _read_list_titles(text: str) -> Page:
    step = max(1, len(text) // 6)
    rows = (
        f"<li><a href='/art/2026/2/{number}/a{number}.html'>{escape(text[number * step : (number + 1) * step])}</a>"
        f"<span>2026-02-0{number + 1}</span></li>"
        for number in range(6)
    )
    return _parse(_wrap(f"<ul class=list>{''.join(rows)}</ul>"))


def _read_list_rows(text: str) -> Page:
    """Read a list with a row for every 60 characters of the text."""
    pieces = enumerate(text[start : start + 60] for start in range(0, len(text), 60))
    rows = (f"<li><a href='/art/a{n}.html'>{escape(piece)}</a> {escape(piece[:20])}</li>" for n, piece in pieces)
    return _parse(_wrap(f"<ul class=list>{''.join(rows)}</ul>"))


def _read_list_between(text: str) -> Page:
    rows = "".join(
        f"<li><a href='/art/2026/2/{n}/a.html'>Notice number {n} of the office</a> 2026-02-0{n}</li>"
        for n in range(1, 8)
    )
    return _parse(_wrap(f"<ul class=list>{rows}</ul>{text}<ul class=list>{rows}</ul>"))


def _read_attributes(text: str) -> Page:
    quoted = escape(text)
    return _parse(
        _wrap(
            f'<div class="{quoted}" id="{quoted}"><a href="{quoted}" title="{quoted}" rel="{quoted}">x</a>'
            f'<a onclick="{quoted}">y</a><time datetime="{quoted}">z</time><img alt="{quoted}"></div>'
        )
    )


def _read_heads(text: str) -> Page:
    quoted = escape(text)
    head = (
        f'<title>{quoted}</title><meta name=sitename content="{quoted}"><meta name=PubDate content="{quoted}">'
        f'<meta property=og:title content="{quoted}"><link rel=next href="{quoted}"><base href="{quoted}">'
    )
    return _parse(_wrap(f"<h1>{quoted}</h1><p>x</p>", head))


def _read_scripts(text: str) -> Page:
    return _parse(
        _wrap(
            f'<script type="application/ld+json">{text}</script><script>{text}</script><ul>'
            "<li><a href=/art/1.html>Notice number one of the office</a> 2026-02-03</li>"
            "<li><a href=/art/2.html>Notice number two of the office</a> 2026-02-04</li></ul>"
        )
    )


def _read_feed_fields(text: str) -> Page:
    fields = f"<title>{escape(text)}</title><link>{escape(text)}</link><pubDate>{escape(text)}</pubDate>"
    item = f"<item><guid>{escape(text)}</guid>{fields}</item>"
    return _parse(f"<rss><channel>{fields}{item}</channel></rss>", "application/rss+xml")


def _read_feed(text: str) -> Page:
    return _parse(f"<rss><channel><title>t</title>{text}</channel></rss>", "application/rss+xml")


def _read_json_feed(text: str) -> Page:
    version = '"version": "https://jsonfeed.org/version/1.1"'
    return _parse(f'{{{version}, "items": [{{"url": "/a", "title": {text}}}]}}', "application/json")


def _read_sitemap(text: str) -> Page:
    url = f"<url><loc>https://www.sample.gov.cn/a.html</loc><lastmod>{escape(text)}</lastmod></url>"
    return _parse(f"<urlset>{url}{text}</urlset>", "application/xml")


def _read_redirect(text: str) -> None:
    find_redirect(_wrap(f"<script>{text}</script>", "<meta http-equiv=refresh>"), _URL)
    find_redirect(_wrap(text, f'<meta http-equiv=refresh content="0;url={escape(text)}">'), _URL)
    find_redirect(f"location{text}", _URL)


def _read_shell(text: str) -> None:
    page = Page(url=_URL, final_url=_URL, fetched_at=_NOW)
    for html in (text, f"<script src=a></script>{text}", f"<script>{text}</script>", f"<div id={text}"):
        needs_browser(page, html)


def _read_bytes(text: str) -> None:
    decode(text.encode("utf-8", "replace"), None)
    decode(text.encode("gb18030", "replace") + b"\xff\xfe", f"text/html; charset={text}")
    decode(b"<meta charset=" + text.encode("latin-1", "replace") + b"\xe9", "text/html")
    detect_extension(text.encode("utf-8", "replace"), url=_URL, content_type=text)


def _read_query(text: str) -> None:
    with suppress(MonitorError):
        query = TextQuery.parse(text[:_MAX_STATEMENT_CHARS])
        folded = fold_text(text)
        joined = "".join(folded.split())
        query.is_missing_in(text)
        for clause in (*query.clauses, *query.loosen().clauses):
            clause.count_in(folded, joined)


def _read_url(text: str) -> None:
    for url in (f"http://{text}", f"https://www.sample.gov.cn/{text}", f"https://www.sample.gov.cn/?{text}", text):
        if (clean := clean_url(url, _URL)) is not None:
            url_key(clean)
            get_registrable_domain(clean)
            is_on_site(clean, text)


def _read_cron(text: str) -> None:
    for cron in (text, f"{text} * * * *", f"0 {text} * * 1"):
        with suppress(MonitorError):
            check_schedule(cron, "UTC")


def _judge_page(text: str) -> None:
    source = SourceText(text=text, title=text[:200], publisher=text[:100], published_on=_TODAY)
    judge = StatementJudge([source])
    judge.judge(_SUMMARY)
    judge.judge(text[:_MAX_STATEMENT_CHARS])


def _judge_statement(text: str) -> None:
    """Hold statements against a page of the same pieces, of which there are always as many."""
    statement = text[:_MAX_STATEMENT_CHARS]
    StatementJudge([SourceText(text=f"{_SUMMARY}\n{statement}", published_on=_TODAY)]).judge(statement)


READERS: dict[str, Reader] = {
    "page": lambda text: _parse(_wrap(text)),
    "page of an article": _read_article,
    "page of paragraphs": _read_paragraphs,
    "list of six titles": _read_list_titles,
    "list of many rows": _read_list_rows,
    "list and what is between": _read_list_between,
    "attributes": _read_attributes,
    "title and metadata": _read_heads,
    "scripts and JSON-LD": _read_scripts,
    "plain text": lambda text: _parse(text, "text/plain"),
    "fields of a feed": _read_feed_fields,
    "feed": _read_feed,
    "JSON feed": _read_json_feed,
    "sitemap": _read_sitemap,
    "is it a feed": lambda text: (is_feed(text), is_sitemap_index(text)),
    "redirect": _read_redirect,
    "frames": lambda text: find_main_frame(LexborHTMLParser(_wrap(text)), _URL),
    "shell": _read_shell,
    "encoding": _read_bytes,
    "text for a model": lambda text: render_page_text(
        Page(url=_URL, final_url=_URL, fetched_at=_NOW, title=text, text=text, lines=text.splitlines())
    ),
    "dates": find_dates,
    "dates of lists": lambda text: find_days(text, _TODAY, order="dmy", relative=True),
    "masked dates": mask_dates,
    "order of dates": detect_order,
    "dates in urls": lambda text: (date_in_url(f"{_URL}/{text}", _TODAY), infer_order(_URL, text)),
    "periods": lambda text: find_periods(text, _TODAY),
    "numerals": lambda text: (parse_numeral(text), parse_date_numeral(text[:_MAX_STATEMENT_CHARS])),
    "figures of a page": lambda text: parse_figures(text, is_page=True, published_on=_TODAY),
    "figures of a summary": lambda text: parse_figures(text, is_page=False, published_on=_TODAY),
    "grounding": lambda text: find_ungrounded_numbers(_SUMMARY, text, published_on=_TODAY),
    "lists that are counted": lambda text: list(find_list_counts(text)),
    "sentences": lambda text: (split_sentences(text), is_prose(text), list(iter_whole_sentences(text, 200))),
    "names": lambda text: find_names(text[:MAX_SENTENCE_CHARS]),
    "index of names": lambda text: [NameIndex(text).find(name) for name in find_names(_SUMMARY)],
    "clauses": lambda text: parse_segments(text, is_page=True),
    "citations": lambda text: parse_cited_sentences(text, 9),
    "particulars": lambda text: PassageIndex(text).find_missing(_SUMMARY),
    "judge: page": _judge_page,
    "judge: statement": _judge_statement,
    "words": extract_words,
    "echoes": lambda text: (EchoDetector([_SUMMARY], title=text, text=text).find(_SUMMARY), find_prompt_mark(text)),
    "injection": is_prompt_injection,
    "injected lines": list_safe_lines,
    "answer: array": parse_array,
    "answer: object": parse_object,
    "answer: text": extract_plain_text,
    "terms": extract_terms,
    "query": _read_query,
    "url": _read_url,
    "cron": _read_cron,
    "robots.txt": lambda text: Protego.parse(f"User-agent: *\nDisallow: {text}\n{text}").can_fetch(_URL, "Monitor"),
    "title of a document": lambda text: (
        parse_title(text[:_MAX_TITLE_CHARS], published=None, site_names=()),
        classify_item_type(text[:_MAX_TITLE_CHARS]),
        score_importance(Item(title=text, source="")),
    ),
    "topics": lambda text: (_score_topic(text), find_quote(text, _SUMMARY)),
    "Markdown": format_inline,
    "facts of a document": lambda text: read_facts(text[:_MAX_TITLE_CHARS], text, published_on=_TODAY),
    "facts of a Chinese document": lambda text: read_facts(
        "关于公布《办法》的通知", f"本办法自发布之日起施行。\n{text}"
    ),
    "facts of an English document": lambda text: read_facts(
        "Final rule", f"The rule takes effect on 1 May 2026.\n{text}"
    ),
}
