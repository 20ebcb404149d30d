"""Whether a page was revised: two snapshots compared, without the changes that a site makes by itself."""

import datetime as dt
import hashlib
import re
import unicodedata
from collections.abc import Collection, Sequence
from itertools import islice
from operator import attrgetter
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from monitor.evidence.paragraphs import (
    ClauseKind,
    TextParagraph,
    build_text_key,
    split_clauses,
    split_lines,
    split_paragraphs,
)
from monitor.i18n.message import Message
from monitor.page import (
    AttachmentSnapshot,
    ChangeKind,
    EditOperation,
    Page,
    PageChange,
    PageEdit,
    PageErrorCode,
    PagePart,
    PageSnapshot,
)
from monitor.urls import url_key
from monitor.vocabulary import DateSource

_SESSION_ID = re.compile(r";jsessionid=[^/?#]*", re.IGNORECASE)

_TRANSIENT_PARAMETER = re.compile(
    r"_|t|ts|v|r|rnd|rand(?:om)?|time(?:stamp)?|sid|session_?(?:id)?|phpsessid|token|csrf\w*|sign(?:ature)?|nonce|"
    r"expires?|key|auth\w*|x-\w+(?:-\w+)*",
    re.IGNORECASE,
)


def build_address_key(url: str) -> str:
    """The key of a url without session, time or signature in its query."""
    parts, query = _split_url(url)
    return url_key(parts._replace(query=urlencode(query)).geturl())


def _split_url(url: str) -> tuple[SplitResult, list[tuple[str, str]]]:
    """Split a url, and list the parameters that name something."""
    parts = urlsplit(_SESSION_ID.sub("", url))
    return parts, [(name, value) for name, value in parse_qsl(parts.query) if not _TRANSIENT_PARAMETER.fullmatch(name)]


def _is_home_page(url: str) -> bool:
    return not re.sub(r"/(?:index|default|home|main)(?:\.\w{2,5})?$", "/", urlsplit(url).path).strip("/")


_FILE_SIZE = re.compile(
    r"[(\[]?\s?\d[\d.,]*\s?(?:[KMG]i?B|[KM]|bytes)\b\s?[)\]]?|[(\[]?(?:下载|浏览|点击)(?:次数|量)?\s?:?\s?\d[\d,]*\s?次?[)\]]?",
    re.IGNORECASE,
)
_EXTENSION = re.compile(r"\.[a-z]{2,4}$", re.IGNORECASE)


def diff_attachments(before: Sequence[AttachmentSnapshot], after: Sequence[AttachmentSnapshot]) -> list[PageEdit]:
    """Compare the documents of a page, matched by hash, address, file name or title."""
    old, new = list(before), list(after)
    pairs: list[tuple[AttachmentSnapshot, AttachmentSnapshot]] = []
    for get_key in (attrgetter("sha256"), _get_address_key, _get_file_name, _normalize_title):
        for attachment in list(old):
            key = get_key(attachment)
            other = next((candidate for candidate in new if key and get_key(candidate) == key), None)
            if other is not None:
                pairs.append((attachment, other))
                old.remove(attachment)
                new.remove(other)
    changed = [
        PageEdit(op=EditOperation.CHANGED, part=PagePart.ATTACHMENT, before=left.title, after=right.title)
        for left, right in pairs
        if _is_replaced(left, right)
    ]
    gone = [PageEdit(op=EditOperation.REMOVED, part=PagePart.ATTACHMENT, before=attachment.title) for attachment in old]
    added = [PageEdit(op=EditOperation.ADDED, part=PagePart.ATTACHMENT, after=attachment.title) for attachment in new]
    return changed + gone + added


def _get_address_key(one: AttachmentSnapshot) -> str:
    return build_address_key(one.url)


def _get_file_name(one: AttachmentSnapshot) -> str:
    """The last part of the path and the parameters; empty where that is no file's name."""
    parts, query = _split_url(one.url)
    name = "?".join([unquote(parts.path).rsplit("/", 1)[-1], *sorted(value for _, value in query)])
    return name if _EXTENSION.search(name) else ""


def _normalize_title(one: AttachmentSnapshot) -> str:
    """The title without the file's size, extension and number of downloads."""
    return build_text_key(_EXTENSION.sub("", _FILE_SIZE.sub("", unicodedata.normalize("NFKC", one.title)).strip()))


def _is_replaced(one: AttachmentSnapshot, other: AttachmentSnapshot) -> bool:
    if one.sha256 is not None and other.sha256 is not None:
        return one.sha256 != other.sha256
    is_same_file = _get_address_key(one) == _get_address_key(other) or (
        _get_file_name(one) != "" and _get_file_name(one) == _get_file_name(other)
    )
    return not is_same_file or _normalize_title(one) != _normalize_title(other)


MAX_EDITS = 200
_MAX_QUOTE_CHARS = 4000
_MIN_LIST_ROWS = 5
_MIN_TEXT_CHARS = 40
_MAX_NOTICE_CHARS = 300
_MIN_SHOWN_CHARS = 12
_STILL_THERE = 0.5
_MAX_KEPT_SHARE_WHEN_GONE = 0.3

_WITHDRAWAL_NOTICE = re.compile(
    r"(?:页面|网页|文章|文件|内容|信息|文档|稿件|链接|栏目|公告|通知)[^。!?\n]{0,12}(?:不存在|已?被?删除|已?下线|已?下架|已?撤[下销回稿]|"
    r"已?失效|已?废止|已?停止执行|已?过期|找不到|未找到|无法找到)|(?:已被?|现予?|宣布)(?:废止|撤销|撤下|删除|下线)|找不到(?:该|您|你|此)|"
    r"(?:\b(?:page|document|publication|content|article|guidance|file)\b[^.!?\n]{0,40}\b(?:withdrawn|removed|deleted|"
    r"repealed|unavailable|archived|not (?:be )?found|does not exist|(?:no|not) (?:longer )?(?:available|exists?)))|"
    r"\b404\b|\bnot found\b",
    re.IGNORECASE,
)

_LINK_SEPARATORS = re.compile(r"[|｜>»·\\]+")
_TEXT_PIECE = re.compile(r"[^,;:。、]{1,40}")
_MAX_SEARCHED_PIECES = 300
_TITLE_TAIL = re.compile(r"\s*[_|｜\-–—>]")


def create_page_snapshot(page: Page) -> PageSnapshot:
    targets = {build_text_key(link.text) for link in page.links} | {""}
    links = dict.fromkeys(line.strip() for line in split_lines(page.text) if _is_link_line(targets, line))
    lines = [line for line in page.lines if len(line) <= _MAX_NOTICE_CHARS and not _is_link_line(targets, line)]
    return PageSnapshot(
        url=page.final_url,
        seen_at=page.fetched_at,
        title=page.title,
        published_on=page.published_on if page.date_source is DateSource.PAGE else None,
        text=page.text,
        notice="" if page.text else "\n".join(lines)[:_MAX_QUOTE_CHARS],
        # The heading of an article may be a link to itself.
        links=[line for line in links if line and not _begins_article(line)],
        beside=_hash_surrounding_lines(page),
        whole="".join(build_text_key(line) for line in page.lines),
        attachments=[AttachmentSnapshot(**attachment.model_dump()) for attachment in page.attachments],
        is_list=len(page.candidates) >= _MIN_LIST_ROWS,
        sha256=page.sha256,
        failure=page.error.code if page.error else None,
        reason=page.error.message if page.error else None,
    )


def _hash_surrounding_lines(page: Page) -> list[str]:
    """The hashes of the lines outside of the text; 8 digits each, for most pages have hundreds."""
    text = _join_paragraph_keys(page.text)
    return sorted(
        {_hash_key(paragraph.key) for paragraph in split_paragraphs("\n".join(page.lines)) if paragraph.key not in text}
    )


def _join_paragraph_keys(text: str) -> str:
    return "".join(paragraph.key for paragraph in split_paragraphs(text))


def _hash_key(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:8]


def _is_link_line(targets: Collection[str], line: str) -> bool:
    """Whether a line is the text of a link, or of several with separators."""
    return build_text_key(line) in targets or all(
        build_text_key(part) in targets for part in _LINK_SEPARATORS.split(line)
    )


def _begins_article(line: str) -> bool:
    return any(clause.kind is ClauseKind.ARTICLE for clause in split_clauses([TextParagraph.from_text(line)]))


def compare_snapshots(before: PageSnapshot, after: PageSnapshot) -> PageChange:
    """Return what became of a page between two visits.

    A page that is not there, says so in place of its text, or leads to the home page or a list, is `withdrawn`; one at
    another address with its words is `moved`; one that shows nothing, or a few words under another title, as a login
    page, is `unreachable`.
    """
    if after.failure is PageErrorCode.NOT_FOUND:
        return PageChange(kind=ChangeKind.WITHDRAWN, kept=0, reason=after.reason or Message("cause.not_there"))
    if after.failure is not None:
        return PageChange(kind=ChangeKind.UNREACHABLE, kept=0, reason=after.reason or Message.other(str(after.failure)))
    old, new = _extract_own_paragraphs(before, after), _extract_own_paragraphs(after, before)
    kept = _compute_kept_share(old, new)
    is_empty = not new and not after.attachments
    if (kept < _MAX_KEPT_SHARE_WHEN_GONE or is_empty) and (
        replacement := _detect_replacement(before, after, old, new)
    ) is not None:
        return replacement
    from monitor.evidence.differences import diff_paragraphs  # its library is for workers

    edits = [*_diff_title(before, after), *_diff_date(before, after), *diff_paragraphs(old, new)]
    documents = diff_attachments(before.attachments, after.attachments)
    kind = ChangeKind.CHANGED if edits else ChangeKind.ATTACHMENTS if documents else ChangeKind.NONE
    edits += documents
    if _is_different_address(before.url, after.url):
        kind = ChangeKind.MOVED
        edits.insert(0, PageEdit(op=EditOperation.CHANGED, part=PagePart.ADDRESS, before=before.url, after=after.url))
    return PageChange(
        kind=kind,
        edits=[_shorten_edit(edit) for edit in edits[:MAX_EDITS]],
        more_edits=max(0, len(edits) - MAX_EDITS),
        kept=kept,
    )


def compare_texts(before: str, after: str) -> PageChange:
    """Return how one text became another, as a draft its final version: by article where it is a regulation."""
    from monitor.evidence.differences import diff_paragraphs  # its library is for workers

    old, new = split_paragraphs(before), split_paragraphs(after)
    edits = diff_paragraphs(old, new)
    return PageChange(
        kind=ChangeKind.CHANGED if edits else ChangeKind.NONE,
        edits=[_shorten_edit(edit) for edit in edits[:MAX_EDITS]],
        more_edits=max(0, len(edits) - MAX_EDITS),
        kept=_compute_kept_share(old, new),
    )


def _extract_own_paragraphs(snapshot: PageSnapshot, other: PageSnapshot) -> list[TextParagraph]:
    """The document's paragraphs without links, its title, and what the other snapshot has outside of the text."""
    beside = set(other.beside)
    own = split_paragraphs(snapshot.text, without={build_text_key(line) for line in [*snapshot.links, snapshot.title]})
    text = _join_paragraph_keys(other.text) if other.whole else ""

    def is_surrounding(key: str) -> bool:
        return _hash_key(key) in beside or (len(key) >= _MIN_SHOWN_CHARS and key in other.whole and key not in text)

    return [paragraph for paragraph in own if not is_surrounding(paragraph.key)]


def _compute_kept_share(old: Sequence[TextParagraph], new: Sequence[TextParagraph]) -> float:
    """The share of the old words that are still there, counted by pieces of sentences."""
    pieces, stand = _split_pieces(old), set(_split_pieces(new))
    words = "".join(paragraph.key for paragraph in new)
    missing = dict.fromkeys(piece for piece in pieces if piece not in stand)
    stand.update(piece for piece in islice(missing, _MAX_SEARCHED_PIECES) if piece in words)
    total = sum(map(len, pieces))
    return sum(len(piece) for piece in pieces if piece in stand) / total if total else 1.0


def _split_pieces(text: Sequence[TextParagraph]) -> list[str]:
    return [piece for paragraph in text for piece in _TEXT_PIECE.findall(paragraph.key)]


def _detect_replacement(
    before: PageSnapshot, after: PageSnapshot, old: Sequence[TextParagraph], new: Sequence[TextParagraph]
) -> PageChange | None:
    """What a page is that has hardly any of the old words; None where it may be a new text."""
    words = "\n".join(paragraph.text for paragraph in new)
    shown = "\n".join((after.title, words, after.notice))
    if len(words) <= _MAX_NOTICE_CHARS and (notice := _WITHDRAWAL_NOTICE.search(shown)):
        return PageChange(kind=ChangeKind.WITHDRAWN, kept=0, reason=Message.other(_get_line_at(shown, notice.start())))
    is_elsewhere = _is_different_address(before.url, after.url)
    if is_elsewhere and (_is_home_page(after.url) or after.is_list):
        return PageChange(kind=ChangeKind.WITHDRAWN, kept=0, reason=Message.of("cause.leads_to", url=after.url))
    is_other = not _is_same_title(before.title, after.title)
    if is_other and (is_elsewhere or len(words) <= _MAX_NOTICE_CHARS):
        return PageChange(
            kind=ChangeKind.UNREACHABLE, kept=0, reason=Message.of("cause.other_page", title=after.title[:100])
        )
    had = sum(len(paragraph.text) for paragraph in old)
    if len(words) < _MIN_TEXT_CHARS <= had or (not words and not after.attachments and (had or before.attachments)):
        return PageChange(kind=ChangeKind.UNREACHABLE, kept=0, reason=Message("cause.hardly_any_text"))
    return None


def _get_line_at(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    return text[start:].split("\n", 1)[0].strip()[:200]


def _is_different_address(before: str, after: str) -> bool:
    return build_address_key(before) != build_address_key(after)


def _diff_title(before: PageSnapshot, after: PageSnapshot) -> list[PageEdit]:
    """A new title; where both pages show both, only the reading has changed: one is the site's name."""
    if not before.title or not after.title or _is_same_title(before.title, after.title):
        return []
    was, now = build_text_key(before.title), build_text_key(after.title)
    if was in after.whole and (_hash_key(now) in before.beside or now in _join_paragraph_keys(before.text)):
        return []
    return [PageEdit(op=EditOperation.CHANGED, part=PagePart.TITLE, before=before.title, after=after.title)]


def _is_same_title(one: str, other: str) -> bool:
    """Whether two titles are the same, but for the name of the site behind either."""
    if build_text_key(one) == build_text_key(other):
        return True
    short, long = sorted((one.strip(), other.strip()), key=len)
    return bool(short) and long.startswith(short) and _TITLE_TAIL.match(long[len(short) :]) is not None


def _diff_date(before: PageSnapshot, after: PageSnapshot) -> list[PageEdit]:
    """A corrected day of publication; a day that is always today's is the page's clock."""
    was, now = before.published_on, after.published_on
    if was is None or now is None or was == now:
        return []
    if _is_near_day(was, before.seen_at) and _is_near_day(now, after.seen_at):
        return []
    return [PageEdit(op=EditOperation.CHANGED, part=PagePart.DATE, before=str(was), after=str(now))]


def _is_near_day(day: dt.date, instant: dt.datetime) -> bool:
    """Whether a day is that of an instant in some time zone."""
    return abs((day - instant.date()).days) <= 1


def _shorten_edit(edit: PageEdit) -> PageEdit:
    return edit.model_copy(update={"before": edit.before[:_MAX_QUOTE_CHARS], "after": edit.after[:_MAX_QUOTE_CHARS]})
