"""Who issued a document and when it was made: its foot, its head, its labelled lines, its title."""

from monitor.policies.chinese_issuers import read_chinese_signature
from monitor.policies.document_text import DocumentText
from monitor.policies.english_issuers import read_english_signature
from monitor.policies.signatures import Signature


def read_signature(document: DocumentText, *, issuer: str | None, is_issued: bool) -> Signature:
    """Return the signature of a document; `issuer` is what its page names, `is_issued` whether it is a document."""
    read = read_chinese_signature if document.is_chinese else read_english_signature
    found = read(document, is_issued=is_issued)
    is_weak = found.issuers_at is None or (not document.is_chinese and len(found.issuers) == 1)
    is_stated = issuer and is_issued and (not found.issuers or (is_weak and not _is_acronym_of_other(issuer, found)))
    if issuer and is_stated:
        found = Signature([issuer], found.made_on, None, found.made_at)
    return found


def _is_acronym_of_other(issuer: str, found: Signature) -> bool:
    """Whether the page has only letters for a body that the document names in full."""
    return bool(found.issuers) and issuer.isupper() and " " not in issuer and not found.issuers[0].isupper()
