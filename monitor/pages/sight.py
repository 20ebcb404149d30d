"""Where on a page a reader looks for an article's day: around its headline, and not beside the article."""

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from monitor.pages.articletitle import fold
from monitor.pages.dates import Order
from monitor.pages.labels import Label, Labelled, label_before
from monitor.pages.outline import Element, Outline

_ASIDE = re.compile(
    r"(?:^|[\s_-])(?:related|sidebar|side|comments?|footer|nav|menu|recommend\w*|hot|rank\w*|latest|popular|"
    r"widget|teaser|trending|more)(?=$|[\s_-])"
)
# The foot of the article itself, where blogs say who wrote it and when.
_OWN_FOOT = re.compile(r"(?:^|[\s_-])(?:post|entry|article|asset|story|content)[_-]?footer(?=$|[\s_-])")
_HEADLINE_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "div", "p", "td", "span", "strong"})
_NOT_POSTED = re.compile(
    r"updated|modified|成文|生效|截止|aktualisier|mis à jour|actualizad|изменено|更新日|수정|last edit|"
    r"^\W*comments?\b|(?:latest|last) comment",
    re.IGNORECASE,
)
_SENTENCE_CHARS = 40
# A day alone in its line, in words: at the end of a Chinese document it is the day on which it was signed.
_SIGNED = re.compile(
    r"[\s（(]*(?:20\d\d|二[〇○零Ｏ0]..)\s*年\s*[\d一二三四五六七八九十]{1,3}\s*月\s*[\d一二三四五六七八九十]{1,3}\s*日[\s）)]*"
)


@dataclass(eq=False)
class Sight:
    """A page as the reader of the article called `title` sees it. `today` and `order` bound and settle its dates."""

    page: Outline
    title: str
    today: dt.date
    order: Order | None
    labelled: Sequence[Labelled] = field(default=())

    @cached_property
    def starts(self) -> list[int]:
        """Indexes of the texts behind the headline: of its h1 first, then of each place where the page repeats it."""
        found: dict[int, int] = {}
        for element in self._headlines:
            if not self._aside[element.index]:
                found[element.text_end] = min(found.get(element.text_end, 1), 0 if element.tag == "h1" else 1)
        return sorted(found, key=lambda index: (found[index], index))

    def is_aside(self, index: int) -> bool:
        """Whether a text stands beside the article."""
        return self._aside[self.page.text_owner[index]]

    def is_aside_element(self, element: Element) -> bool:
        """Whether an element lies beside the article."""
        return self._aside[element.index]

    def may_be_posted(self, index: int, start: int) -> bool:
        """Whether a text holds a number and nothing speaks against its being the day of posting.

        What stands beside the article, is called the day of a change or of making, or is the signature under
        sentences (between `start` and it) is not.
        """
        text = self.page.texts[index]
        if not any(char.isdigit() or char == "二" for char in text[:300]) or _NOT_POSTED.search(text[:300]):
            return False
        if self.is_aside(index) or label_before(self.page, index) is Label.MADE:
            return False
        if not _SIGNED.fullmatch(text):
            return True
        return all(len(above) < _SENTENCE_CHARS for above in self.page.texts[start:index])

    @cached_property
    def _headlines(self) -> list[Element]:
        """Elements that hold the title and nothing else."""
        folded = fold(self.title)
        return [element for element in self.page.elements if _is_headline(self.page, element, folded)]

    @cached_property
    def _aside(self) -> list[bool]:
        """For each element whether it lies beside the article.

        What holds a third of the page's texts is no aside, whatever its name; neither is what holds the headline, if
        the headline stands nowhere else.
        """
        flags = _asides(self.page, frozenset())
        if self._headlines and all(flags[element.index] for element in self._headlines):
            flags = _asides(self.page, _ancestors(self._headlines))
        return flags


def is_not_posted(text: str) -> bool:
    """Whether a text says that its day is one of change, making or coming into force."""
    return _NOT_POSTED.search(text) is not None


def _is_headline(page: Outline, element: Element, folded: str) -> bool:
    if len(folded) < 3 or element.tag not in _HEADLINE_TAGS or not 0 < element.text_end - element.text_start <= 6:
        return False
    raw = "".join(page.texts[element.text_start : element.text_end])
    if len(raw) < 0.5 * len(folded) or len(raw) >= 600:
        return False
    text = fold(raw)
    if text == folded:
        return True
    is_of_a_length = min(len(text), len(folded)) > 0.5 * max(len(text), len(folded))
    return element.tag in ("h1", "h2") and is_of_a_length and (text in folded or folded in text)


def _ancestors(elements: Sequence[Element]) -> frozenset[int]:
    found: set[int] = set()
    for element in elements:
        node: Element | None = element
        while node is not None and node.index not in found:
            found.add(node.index)
            node = node.parent
    return frozenset(found)


def _asides(page: Outline, own: frozenset[int]) -> list[bool]:
    """The flags, the parent's before the child's; the elements `own` belong to the article."""
    flags: list[bool] = []
    for element in page.elements:
        parent = element.parent
        if element.index in own or 3 * (element.text_end - element.text_start) >= len(page.texts):
            flags.append(False)
        else:
            flags.append((parent is not None and flags[parent.index]) or _is_beside(element))
    return flags


def _is_beside(element: Element) -> bool:
    if element.tag in ("nav", "footer", "aside"):
        return element.tag != "footer" or element.parent is None or element.parent.tag != "article"
    if element.tag == "body" or len(element.names) < 2:
        return False
    return _ASIDE.search(_OWN_FOOT.sub(" ", element.names)) is not None
