"""Who issued a document and when it was made: its foot, its head, its labelled lines, its title."""

import re

from monitor.policies.chinese_issuers import read_chinese_signature
from monitor.policies.document_text import DocumentText, fold
from monitor.policies.english_issuers import names_body, read_english_signature, write_in_full
from monitor.policies.signatures import Signature

_MAX_SHORT_CHARS = 4
_SITE = re.compile("(?:网|网站|平台|频道|客户端|公报|宪报|日报|晚报|新闻)$")


def read_signature(document: DocumentText, *, issuer: str | None, is_issued: bool) -> Signature:
    """Return the signature of a document; `issuer` is what its page names, `is_issued` whether it is a document."""
    if not document.is_chinese:
        return _read_english(document, issuer, is_issued=is_issued)
    found = read_chinese_signature(document, is_issued=is_issued)
    if issuer and is_issued and (not found.issuers or _is_weak(found)):
        return found if _SITE.search(fold(issuer)) else Signature([issuer], found.made_on, None, found.made_at)
    return found


def _read_english(document: DocumentText, issuer: str | None, *, is_issued: bool) -> Signature:
    found = read_english_signature(document, is_issued=is_issued)
    if issuer is None:
        return found
    name = write_in_full(document, issuer)
    if not is_issued:
        is_used = names_body(document, name)
    else:
        is_weak = found.issuers_at is None and not _is_acronym_of_other(name, found)
        is_longer = len(found.issuers) == 1 and found.issuers[0] in name and name in document.original
        is_used = not found.issuers or is_weak or is_longer
    return Signature([name], found.made_on, None, found.made_at) if is_used else found


def _is_weak(found: Signature) -> bool:
    """Whether the page's issuer says more than what a title shows: a short name."""
    return found.issuers_at is None and len(found.issuers) == 1 and len(found.issuers[0]) <= _MAX_SHORT_CHARS


def _is_acronym_of_other(issuer: str, found: Signature) -> bool:
    """Whether the page has only letters for a body that the document names in full."""
    return bool(found.issuers) and issuer.isupper() and " " not in issuer and not found.issuers[0].isupper()
