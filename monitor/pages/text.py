"""Renders a page as the text that `browse_page` gives a model (contracts, section 3)."""

import json
import re
import unicodedata
from collections.abc import Collection, Sequence

from monitor.i18n.catalogue import render
from monitor.page import Candidate, Link, Page
from monitor.urls import url_key

CANDIDATES_MARK = "可直接采集的条目"
NEXT_PAGE_MARK = "下一页"
FAILURE_MARK = "页面加载失败"
_MARKS = (CANDIDATES_MARK, NEXT_PAGE_MARK, FAILURE_MARK)
_LINE_BREAKS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_SPACES = re.compile(r"\s+")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_GAP = "\n\n"
_MAX_TITLE_CHARS = 200
_MAX_LINK_TEXT_CHARS = 120
_MIN_TEXT_CHARS = 40


def render_page_text(page: Page, *, known: Collection[str] = (), max_chars: int = 15_000, offset: int = 0) -> str:
    """Return what a model reads of a page, in at most `max_chars` characters (1,000 or more).

    If it does not all fit, text is cut before links and links before candidates, with a note for each cut. An `offset`
    shows the candidates from that index on, alone. `known` are urls, or their `url_key`, to be marked as known.
    The marks of this form are broken up in the page's own words: no page can write a list of candidates of its own.
    """
    if page.error is not None:
        reason = f"{FAILURE_MARK}：{page.error.kind}，{_escape_line(render(page.error.message, 'en'))}"
        return _truncate(f"{reason}\n网址：{_escape_line(page.url)}", max_chars)
    title = _truncate(_escape_line(page.title), _MAX_TITLE_CHARS)
    head = f"标题：{title}\n网址：{_truncate(_escape_line(page.final_url), max_chars // 4)}"
    tail = f"{NEXT_PAGE_MARK}：{page.next_page}" if page.next_page else ""
    if len(tail) > max_chars // 4:
        tail = ""  # half a url is a wrong one
    room = max_chars - len(head) - len(_GAP) - (len(tail) + 1 if tail else 0)
    items = _render_candidates(page.candidates, known, max(offset, 0), room)
    links = text = ""
    if offset <= 0:
        room -= len(items) + len(_GAP)
        links = _render_links(page.links, page.candidates, room)
        room -= len(links) + len(_GAP) if links else 0
        text = _render_text(page.text, room)
    body = _GAP.join(part for part in (head, text, links, items) if part)
    return f"{body}\n{tail}" if tail else body


def _render_candidates(candidates: Sequence[Candidate], known: Collection[str], offset: int, max_chars: int) -> str:
    """Return the line with the JSON array, and if it was cut a line that says how to see the rest."""
    total = len(candidates)
    records = [_render_candidate(candidate, known) for candidate in candidates[offset:]]
    whole = _render_array(records, total)
    if len(whole) <= max_chars and offset == 0:
        return whole
    if offset >= total:
        return f"{_render_array([], total)}\n（offset={offset} 超出范围：共 {total} 条，编号从 0 起）"
    left = max_chars - len(_render_array([], total)) - len(_render_cut_note(total, total, total - 1, total)) - 1
    shown: list[str] = []
    end = offset
    for record in records:
        needed = len(record) + 2
        if needed <= left:
            shown.append(record)
            left -= needed
        elif shown:
            break
        # A record too large to be shown at all is skipped, or the reader would never get beyond it.
        end += 1
    return f"{_render_array(shown, total)}\n{_render_cut_note(len(shown), offset, end, total)}"


def _render_candidate(candidate: Candidate, known: Collection[str]) -> str:
    record: dict[str, str | bool | None] = {
        "title": _strip_controls(candidate.title),
        "url": candidate.url,
        "date": candidate.date.isoformat() if candidate.date else None,
    }
    if candidate.url in known or url_key(candidate.url) in known:
        record["known"] = True
    written = json.dumps(record, ensure_ascii=False)
    for mark in _MARKS:  # escaped, not broken up: a title is read back as it is
        written = written.replace(mark, f"\\u{ord(mark[0]):04x}{mark[1:]}")
    return written


def _render_array(records: Sequence[str], total: int) -> str:
    return f"{CANDIDATES_MARK}（共 {total} 条）：[{', '.join(records)}]"


def _render_cut_note(shown: int, offset: int, end: int, total: int) -> str:
    note = f"条目未全部显示：从编号 {offset} 起显示 {shown} 条，共 {total} 条"
    return f"（{note}；其余请用 browse_page 的 offset={end} 查看）" if end < total else f"（{note}，至此已完）"


def _render_links(links: Sequence[Link], candidates: Sequence[Candidate], max_chars: int) -> str:
    """Return all links if they fit, else the first of those that the candidates do not repeat."""
    texts = (_escape_line(link.text).replace("[", "［").replace("]", "］") for link in links)
    lines = [f"[{_truncate(text, _MAX_LINK_TEXT_CHARS)}]({link.url})" for text, link in zip(texts, links, strict=True)]
    if not lines or len(whole := "\n".join(["链接：", *lines])) <= max_chars:
        return whole if lines else ""
    repeated = {candidate.url for candidate in candidates}
    lines = [line for line, link in zip(lines, links, strict=True) if link.url not in repeated]
    left = max_chars - len(_render_links_note(len(links), len(links)))
    shown: list[str] = []
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            break
        shown.append(line)
    block = "\n".join([_render_links_note(len(shown), len(links)), *shown])
    return block if len(block) <= max_chars else ""


def _render_links_note(shown: int, total: int) -> str:
    return f"链接（未全部显示：{shown} 个，共 {total} 个，含条目的链接）："


def _render_text(text: str, max_chars: int) -> str:
    plain = "\n".join(line for part in _LINE_BREAKS.split(text) if (line := _escape_line(part)))
    if len(plain) <= max_chars - len(_GAP):
        return plain
    note = f"（正文已截断，原文共 {len(plain)} 字）"
    left = max_chars - len(_GAP) - len(note) - 1
    if left >= _MIN_TEXT_CHARS:
        return f"{plain[:left]}\n{note}"
    return note if len(note) <= max_chars - len(_GAP) else ""


def _escape_line(text: str) -> str:
    """Return text of a page on one line, without control characters and with the marks of this form broken up."""
    plain = _strip_controls(text)
    for mark in _MARKS:
        plain = plain.replace(mark, f"{mark[:-1]}·{mark[-1]}")
    return plain


def _strip_controls(text: str) -> str:
    spaced = _SPACES.sub(" ", _LINE_BREAKS.sub(" ", text))
    return "".join(char for char in spaced if unicodedata.category(char) not in _HIDDEN_CATEGORIES).strip()


def _truncate(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"
