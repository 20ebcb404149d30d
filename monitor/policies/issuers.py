"""Who issued a document and when it was made: its foot, its head, its labelled lines, its title."""

import re

from monitor.policies.chinese_issuers import read_chinese_signature
from monitor.policies.document_text import DocumentText, fold
from monitor.policies.english_issuers import read_english_signature
from monitor.policies.signatures import Signature

_MAX_SHORT_CHARS = 4
_SITE = re.compile("(?:网|网站|平台|频道|客户端|公报|宪报|日报|晚报|新闻)$")


def read_signature(document: DocumentText, *, issuer: str | None, is_issued: bool) -> Signature:
    """Return the signature of a document; `issuer` is what its page names, `is_issued` whether it is a document."""
    read = read_chinese_signature if document.is_chinese else read_english_signature
    found = read(document, is_issued=is_issued)
    if issuer and is_issued and (not found.issuers or _is_weak(document, found, issuer)):
        is_site = document.is_chinese and _SITE.search(fold(issuer))
        return found if is_site else Signature([issuer], found.made_on, None, found.made_at)
    return found


def _is_weak(document: DocumentText, found: Signature, issuer: str) -> bool:
    """Whether the page's issuer says more than what a title or a first line shows: a short name, a single body."""
    if document.is_chinese:
        return found.issuers_at is None and len(found.issuers) == 1 and len(found.issuers[0]) <= _MAX_SHORT_CHARS
    return (found.issuers_at is None or len(found.issuers) == 1) and not _is_acronym_of_other(issuer, found)


def _is_acronym_of_other(issuer: str, found: Signature) -> bool:
    """Whether the page has only letters for a body that the document names in full."""
    return bool(found.issuers) and issuer.isupper() and " " not in issuer and not found.issuers[0].isupper()
