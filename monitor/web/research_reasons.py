"""Why something on the way of a research went by rule or was lost, in the words of the reader."""

import re
from collections.abc import Iterable

from monitor.briefing.wording import wording_for
from monitor.research.nodes.node import NO_MODEL
from monitor.web.language import text
from monitor.web.words import word


def _(english: str) -> str:
    """Marks a sentence for the catalogue."""
    return english


_NODE = re.compile(r"(?:structure|first_search|reflection|first_summary|reflection_summary)(?:, put right)?: ")
_REASONS: tuple[tuple[str, str], ...] = (
    (r"the answer cannot be used", _("the model's answer cannot be used")),
    (r"no sentence of the answer rests on the results", _("no sentence of the model's answer rests on the results")),
    (r"no query that can be searched for", _("the model named no words to search for")),
    (r"the same search was made before", _("the model wanted a search that was made already")),
    (r"there is no such tool|no tool that there is", _("the model chose a tool that there is not")),
    (r"\w+ without two dates", _("the model chose a search by date without two dates")),
    (r"\w+ with dates (?:in no|out of) order", _("the model gave dates out of order")),
    (r"bundles: late: .*", _("some results came late and were read last")),
    (r"by rule: (.*)", _("Written by rule, of sentences taken from the sources: {}.")),
    (r"(.*): nothing was found", _("Nothing was found for “{}”.")),
)
_LOST = re.compile(r"pages: (\d+) could not be read: (\w+)")
_SEARCH = re.compile(r"search: (\w+): (.*)", re.DOTALL)


def reasons_said(reasons: Iterable[str], language: str) -> list[str]:
    """Each reason once, in its order; that there is no model is none: the page says so above."""
    said = (_said(_NODE.sub("", reason), language) for reason in reasons if not reason.endswith(NO_MODEL))
    return list(dict.fromkeys(said))


def _said(reason: str, language: str) -> str:
    if lost := _LOST.fullmatch(reason):
        pages = text(language, _("pages that could not be read: {} ({})"))
        return pages.format(lost[1], word(language, "page_error", lost[2]))
    if failed := _SEARCH.fullmatch(reason):
        return text(language, _("the search service failed: {} ({})")).format(failed[2], failed[1])
    for pattern, sentence in _REASONS:
        if found := re.fullmatch(pattern, reason, re.DOTALL):
            return text(language, sentence).format(*found.groups())
    return wording_for(language).said(reason)
