"""Which documents on a page came, went or were replaced."""

import re
import unicodedata
from collections.abc import Callable, Sequence

from monitor.domain.revisions import Edit, Op, Part, SeenAttachment
from monitor.evidence.addresses import address_of, file_name_of
from monitor.evidence.paragraphs import key_of

_SIZE = re.compile(
    r"[(\[]?\s?\d[\d.,]*\s?(?:[KMG]i?B|[KM]|bytes)\b\s?[)\]]?|[(\[]?(?:下载|浏览|点击)(?:次数|量)?\s?:?\s?\d[\d,]*\s?次?[)\]]?",
    re.IGNORECASE,
)
_EXTENSION = re.compile(r"\.[a-z]{2,4}$", re.IGNORECASE)


def attachment_edits(before: Sequence[SeenAttachment], after: Sequence[SeenAttachment]) -> list[Edit]:
    """What happened to the documents of a page.

    One is known again by its hash, its address, its file's name or its title. It changed if its hash is another one;
    where a hash is unknown, if file and title are not both the same.
    """
    old, new = list(before), list(after)
    pairs: list[tuple[SeenAttachment, SeenAttachment]] = []
    for same in (_same_hash, _by(_address), _by(_file), _by(_title)):
        for one in list(old):
            other = next((candidate for candidate in new if same(one, candidate)), None)
            if other is not None:
                pairs.append((one, other))
                old.remove(one)
                new.remove(other)
    changed = [
        Edit(op=Op.CHANGED, part=Part.ATTACHMENT, before=one.title, after=other.title)
        for one, other in pairs
        if _is_another(one, other)
    ]
    gone = [Edit(op=Op.REMOVED, part=Part.ATTACHMENT, before=one.title) for one in old]
    added = [Edit(op=Op.ADDED, part=Part.ATTACHMENT, after=one.title) for one in new]
    return changed + gone + added


def _same_hash(one: SeenAttachment, other: SeenAttachment) -> bool:
    return one.sha256 is not None and one.sha256 == other.sha256


def _by(name: Callable[[SeenAttachment], str]) -> Callable[[SeenAttachment, SeenAttachment], bool]:
    return lambda one, other: bool(name(one)) and name(one) == name(other)


def _address(one: SeenAttachment) -> str:
    return address_of(one.url)


def _file(one: SeenAttachment) -> str:
    name = file_name_of(one.url)
    return name if _EXTENSION.search(name) else ""


def _title(one: SeenAttachment) -> str:
    """The title without the size of the file, how often it was fetched, and its extension."""
    return key_of(_EXTENSION.sub("", _SIZE.sub("", unicodedata.normalize("NFKC", one.title)).strip()))


def _is_another(one: SeenAttachment, other: SeenAttachment) -> bool:
    if one.sha256 is not None and other.sha256 is not None:
        return one.sha256 != other.sha256
    is_same_file = _address(one) == _address(other) or (_file(one) != "" and _file(one) == _file(other))
    return not is_same_file or _title(one) != _title(other)
