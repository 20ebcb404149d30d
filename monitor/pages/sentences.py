"""Links in running text, which are no rows of a list, and how much a text says."""

import re

from monitor.pages.outline import Element, Outline

_SENTENCE = 24
_WIDE = re.compile(r"[^\u0000-\u2e80]+")


def text_weight(text: str) -> int:
    """Length of a text for the eye: an ideograph says as much as two letters."""
    compact = "".join(text.split())
    return len(compact) if compact.isascii() else 2 * len(compact) - len(_WIDE.sub("", compact))


def is_inline(page: Outline, link: Element) -> bool:
    """Whether words go before a link: so many of the same element that it stands in a sentence, or at its end."""
    if link.parent is None or not _follows_text(page, link, link.parent):
        return False
    for element in reversed(page.elements[link.parent.index + 1 : link.index]):
        if element.text_start < link.text_start:
            break
        if element.tag in ("br", "hr"):
            return False
    return text_weight(page.texts[link.text_start - 1]) >= _SENTENCE or is_within_sentence(page, link)


def is_within_sentence(page: Outline, link: Element) -> bool:
    """Whether the sentence in which a link stands begins with a word before it and goes on behind it."""
    after = link.text_end
    if (
        link.parent is None
        or not _follows_text(page, link, link.parent)
        or after >= len(page.texts)
        or page.text_owner[after] != link.parent.index
    ):
        return False
    word, rest = page.texts[link.text_start - 1].rstrip()[-1:], page.texts[after].lstrip()
    return word.isalpha() and (rest[:1].islower() or rest[:1] in "，、") and text_weight(rest) >= _SENTENCE


def _follows_text(page: Outline, link: Element, parent: Element) -> bool:
    return link.text_start > 0 and page.text_owner[link.text_start - 1] == parent.index
