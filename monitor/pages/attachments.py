"""Documents that hang on a page."""

import re
from urllib.parse import parse_qsl, unquote, urlsplit

from monitor.domain.page import Attachment
from monitor.pages.outline import Outline, squeeze

DOCUMENT_TYPES = frozenset(
    {
        *("pdf", "ofd", "ceb", "rtf", "txt", "epub", "odt", "ods", "odp"),
        *("doc", "docx", "docm", "dot", "wps", "xls", "xlsx", "xlsm", "xlsb", "et", "csv", "xml"),
        *("ppt", "pptx", "pps", "ppsx", "dps", "zip", "rar", "7z", "tar", "gz", "mp3", "mp4"),
    }
)
_AMBIGUOUS = frozenset({"xml", "txt", "mp3", "mp4", "gz", "tar"})
# Most links name no document; those that cannot are told from their letters, without taking them apart.
_MAY_NAME_ONE = re.compile(rf"%|\.[+\s]*(?:{'|'.join(sorted(DOCUMENT_TYPES))})", re.IGNORECASE)
_DOWNLOADS = re.compile(r"download|attach|file|upload|/doc|fujian", re.IGNORECASE)
_IN_TEXT = re.compile(
    r"\.(pdf|docx?|xlsx?|pptx?|zip|rar|ofd|wps|csv)\b|[\[(（]\s*(pdf|docx?|xlsx?|word|excel)\b", re.IGNORECASE
)
_BY_WORD = {"word": "doc", "excel": "xls"}
_SAYS_NOTHING = re.compile(
    r"^(?:点击)?(?:下载|查看|download|view|open|pdf|doc|附件|here|アクセス)?[\s.…。]*$", re.IGNORECASE
)


def document_type(url: str) -> str | None:
    """The type of the document that a url names, its lower-case extension; None where the url is a page's.

    Download scripts name the file in a query field (`?file=a.pdf`, `filename=b.docx`).
    """
    if not _MAY_NAME_ONE.search(url):
        return None
    parts = urlsplit(url)
    names = [unquote(parts.path).rsplit("/", 1)[-1], *(value for _, value in parse_qsl(parts.query))]
    for name in names:
        extension = name.rsplit(".", 1)[-1].lower().strip() if "." in name else ""
        if extension in DOCUMENT_TYPES and not (extension in _AMBIGUOUS and name != names[0]):
            return extension
    return None


def find_attachments(page: Outline) -> list[Attachment]:
    """The documents that a page links to, in page order, each url once; titles without the extension's repetition."""
    found: dict[str, Attachment] = {}
    for anchor in page.anchors:
        kind = document_type(anchor.url) or _type_in_text(anchor.text, anchor.url)
        if kind is None:
            continue
        title = anchor.text
        if _SAYS_NOTHING.match(title):
            title = squeeze(anchor.element.attributes.get("title") or "") or title or _file_name(anchor.url)
        known = found.get(anchor.url)
        if known is None:
            found[anchor.url] = Attachment(title=title, url=anchor.url, type=kind)
        elif len(title) > len(known.title):
            found[anchor.url] = known.model_copy(update={"title": title})
    return list(found.values())


def _type_in_text(text: str, url: str) -> str | None:
    """The type that the link's text names, for download scripts whose urls name none."""
    found = _IN_TEXT.search(text)
    if not found or not _DOWNLOADS.search(url):
        return None
    word = (found[1] or found[2]).lower()
    return _BY_WORD.get(word, word)


def _file_name(url: str) -> str:
    return unquote(urlsplit(url).path).rsplit("/", 1)[-1]
