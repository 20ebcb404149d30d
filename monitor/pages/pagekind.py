"""Whether a page that holds a list is that list, or an article with a list beside it."""

from collections.abc import Sequence
from itertools import pairwise

from monitor.domain.page import Candidate
from monitor.pages.metadata import Metadata
from monitor.pages.outline import Outline
from monitor.pages.prose import prose_weights

_LONGEST_SUMMARY = 800


def is_list_page(page: Outline, metadata: Metadata, candidates: Sequence[Candidate]) -> bool:
    """Whether the dated list on a page outweighs its sentences, those in the list's own rows aside.

    Sentences between two rows are a row's summary, unless they are as long as an article; so may those of the longest
    stretch be, between a list above it and one below. A page that calls itself an article is one.
    """
    is_dated = 2 * sum(candidate.date is not None for candidate in candidates) >= len(candidates)
    if not candidates or not is_dated or metadata.says_article:
        return False
    prose = prose_weights(page)
    urls = {candidate.url for candidate in candidates}
    places = sorted({anchor.element.text_start for anchor in page.anchors if anchor.url in urls})
    between = [sum(prose[start:end]) for start, end in pairwise(places)]
    of_list = sum(weight for weight in sorted(between)[:-1] if weight <= _LONGEST_SUMMARY)
    return sum(len(candidate.title) for candidate in candidates) + of_list > sum(prose) - of_list
