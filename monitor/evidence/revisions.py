"""Whether a page was revised: two looks at it compared.

No difference is told that the site makes by itself, and a page that could not be seen says nothing.
"""

import datetime as dt
import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice

from monitor.domain.page import Page, PageErrorCode
from monitor.domain.revisions import Change, ChangeKind, Edit, Op, Part, Seen, SeenAttachment
from monitor.domain.words import DateSource
from monitor.evidence.addresses import address_of, is_home
from monitor.evidence.clauses import Kind, clauses
from monitor.evidence.differences import differences
from monitor.evidence.documents import attachment_edits
from monitor.evidence.paragraphs import Paragraph, key_of, lines_of, paragraphs

MOST_EDITS = 200
_LONGEST_QUOTE = 4000
_MANY_ROWS = 5
_HARDLY_ANY = 40
_LONGEST_NOTICE = 300
_LEAST_SHOWN = 12
_STILL_THERE = 0.5
_GONE = 0.3
_GONE_WORDS = re.compile(
    r"(?:页面|网页|文章|文件|内容|信息|文档|稿件|链接|栏目|公告|通知)[^。!?\n]{0,12}(?:不存在|已?被?删除|已?下线|已?下架|已?撤[下销回稿]|"
    r"已?失效|已?废止|已?停止执行|已?过期|找不到|未找到|无法找到)|(?:已被?|现予?|宣布)(?:废止|撤销|撤下|删除|下线)|找不到(?:该|您|你|此)|"
    r"(?:\b(?:page|document|publication|content|article|guidance|file)\b[^.!?\n]{0,40}\b(?:withdrawn|removed|deleted|"
    r"repealed|unavailable|archived|not (?:be )?found|does not exist|(?:no|not) (?:longer )?(?:available|exists?)))|"
    r"\b404\b|\bnot found\b",
    re.IGNORECASE,
)
_BETWEEN_LINKS = re.compile(r"[|｜>»·\\]+")
_PIECE = re.compile(r"[^,;:。、]{1,40}")
_MOST_SOUGHT = 300
_TITLE_TAIL = re.compile(r"\s*[_|｜\-–—>]")


def seen_of(page: Page, hashes: Mapping[str, str] | None = None) -> Seen:
    """What a look at a page saw; `hashes` are those of its attachments, by url, as far as they were fetched."""
    targets = {key_of(link.text) for link in page.links} | {""}
    links = dict.fromkeys(line.strip() for line in lines_of(page.text) if _is_of(targets, line))
    said = [line for line in page.lines if len(line) <= _LONGEST_NOTICE and not _is_of(targets, line)]
    known = hashes or {}
    return Seen(
        url=page.final_url,
        seen_at=page.fetched_at,
        title=page.title,
        published_on=page.published_on if page.date_source is DateSource.PAGE else None,
        text=page.text,
        notice="" if page.text else "\n".join(said)[:_LONGEST_QUOTE],
        # The heading of an article may be a link to itself.
        links=[line for line in links if line and not _begins_article(line)],
        beside=_marks(page),
        whole="".join(key_of(line) for line in page.lines),
        attachments=[
            SeenAttachment(**attachment.model_dump(), sha256=known.get(attachment.url))
            for attachment in page.attachments
        ],
        is_list=len(page.candidates) >= _MANY_ROWS,
        sha256=page.sha256,
        failure=page.error.code if page.error else None,
        reason=page.error.message if page.error else "",
    )


def _marks(page: Page) -> list[str]:
    """The marks of the lines outside of the text, where most pages have hundreds: 8 digits each."""
    text = _joined(page.text)
    return sorted(
        {_mark(paragraph.key) for paragraph in paragraphs("\n".join(page.lines)) if paragraph.key not in text}
    )


def _joined(text: str) -> str:
    return "".join(paragraph.key for paragraph in paragraphs(text))


def _mark(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:8]


def _is_of(targets: Collection[str], line: str) -> bool:
    """Whether a line is the text of a link, or of several with signs between them."""
    return key_of(line) in targets or all(key_of(part) in targets for part in _BETWEEN_LINKS.split(line))


def _begins_article(line: str) -> bool:
    return any(clause.kind is Kind.ARTICLE for clause in clauses([Paragraph.of(line)]))


def compare(before: Seen, after: Seen) -> Change:
    """What became of a page between two looks.

    A page that answers that it is not there, says so in place of its text, or leads to the home page or to a list, is
    `withdrawn`; one that leads to another address with its words is `moved`; one that shows nothing, or a few words
    under another title, is `unreachable`: a wall, a page to sign in.
    """
    if after.failure is PageErrorCode.NOT_FOUND:
        return Change(kind=ChangeKind.WITHDRAWN, kept=0, reason=after.reason or "the page is not there")
    if after.failure is not None:
        return Change(kind=ChangeKind.UNREACHABLE, kept=0, reason=after.reason or str(after.failure))
    old, new = _words(before, after), _words(after, before)
    kept = _kept(old, new)
    is_empty = not new and not after.attachments
    if (kept < _GONE or is_empty) and (says := _what_stands_instead(before, after, old, new)) is not None:
        return says
    edits = [*_of_title(before, after), *_of_date(before, after), *differences(old, new)]
    documents = attachment_edits(before.attachments, after.attachments)
    kind = ChangeKind.CHANGED if edits else ChangeKind.ATTACHMENTS if documents else ChangeKind.NONE
    edits += documents
    if _is_elsewhere(before.url, after.url):
        kind = ChangeKind.MOVED
        edits.insert(0, Edit(op=Op.CHANGED, part=Part.ADDRESS, before=before.url, after=after.url))
    return Change(
        kind=kind,
        edits=[_shortened(edit) for edit in edits[:MOST_EDITS]],
        more_edits=max(0, len(edits) - MOST_EDITS),
        kept=kept,
    )


def _words(seen: Seen, other: Seen) -> list[Paragraph]:
    """The paragraphs of the document: no links that stand among them, no repetition of the title.

    Nor what the other look saw outside of the text: where that begins and ends is not found alike each time.
    """
    beside = set(other.beside)
    own = paragraphs(seen.text, without={key_of(line) for line in [*seen.links, seen.title]})
    text = _joined(other.text) if other.whole else ""

    def is_outside(key: str) -> bool:
        return _mark(key) in beside or (len(key) >= _LEAST_SHOWN and key in other.whole and key not in text)

    return [one for one in own if not is_outside(one.key)]


def _kept(old: Sequence[Paragraph], new: Sequence[Paragraph]) -> float:
    """The share of the old words that still stand, clause of sentence by clause."""
    pieces, stand = _pieces(old), set(_pieces(new))
    words = "".join(one.key for one in new)
    missing = dict.fromkeys(piece for piece in pieces if piece not in stand)
    stand.update(piece for piece in islice(missing, _MOST_SOUGHT) if piece in words)
    total = sum(map(len, pieces))
    return sum(len(piece) for piece in pieces if piece in stand) / total if total else 1.0


def _pieces(text: Sequence[Paragraph]) -> list[str]:
    return [piece for one in text for piece in _PIECE.findall(one.key)]


def _what_stands_instead(
    before: Seen, after: Seen, old: Sequence[Paragraph], new: Sequence[Paragraph]
) -> Change | None:
    """What a page means that holds hardly anything of the old words; None where it may be a new text."""
    words = "\n".join(one.text for one in new)
    told = "\n".join((after.title, words, after.notice))
    if len(words) <= _LONGEST_NOTICE and (notice := _GONE_WORDS.search(told)):
        return Change(kind=ChangeKind.WITHDRAWN, kept=0, reason=_line_around(told, notice.start()))
    is_elsewhere = _is_elsewhere(before.url, after.url)
    if is_elsewhere and (is_home(after.url) or after.is_list):
        return Change(kind=ChangeKind.WITHDRAWN, kept=0, reason=f"it leads to {after.url}")
    is_other = not _same_title(before.title, after.title)
    if is_other and (is_elsewhere or len(words) <= _LONGEST_NOTICE):
        return Change(kind=ChangeKind.UNREACHABLE, kept=0, reason=f"another page is shown: {after.title[:100]}")
    had = sum(len(one.text) for one in old)
    if len(words) < _HARDLY_ANY <= had or (not words and not after.attachments and (had or before.attachments)):
        return Change(kind=ChangeKind.UNREACHABLE, kept=0, reason="the page shows hardly any text")
    return None


def _line_around(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    return text[start:].split("\n", 1)[0].strip()[:200]


def _is_elsewhere(before: str, after: str) -> bool:
    return address_of(before) != address_of(after)


def _of_title(before: Seen, after: Seen) -> list[Edit]:
    if not before.title or not after.title or _same_title(before.title, after.title):
        return []
    return [Edit(op=Op.CHANGED, part=Part.TITLE, before=before.title, after=after.title)]


def _same_title(one: str, other: str) -> bool:
    """Whether two titles are one; the name of the site may stand behind either."""
    if key_of(one) == key_of(other):
        return True
    short, long = sorted((one.strip(), other.strip()), key=len)
    return bool(short) and long.startswith(short) and _TITLE_TAIL.match(long[len(short) :]) is not None


def _of_date(before: Seen, after: Seen) -> list[Edit]:
    """A corrected day of publication; a day that is always today's is the page's clock."""
    was, now = before.published_on, after.published_on
    if was is None or now is None or was == now:
        return []
    if _is_about(was, before.seen_at) and _is_about(now, after.seen_at):
        return []
    return [Edit(op=Op.CHANGED, part=Part.DATE, before=str(was), after=str(now))]


def _is_about(day: dt.date, instant: dt.datetime) -> bool:
    """Whether a day is an instant's, in whatever zone the site counts."""
    return abs((day - instant.date()).days) <= 1


def _shortened(edit: Edit) -> Edit:
    return edit.model_copy(update={"before": edit.before[:_LONGEST_QUOTE], "after": edit.after[:_LONGEST_QUOTE]})
