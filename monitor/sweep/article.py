"""What a run needs of an item's page, read in one go where the page is parsed."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from monitor.fetch.result import FetchResult
from monitor.page import Page, PageSnapshot
from monitor.verify.passages import ArticleClaims, ArticleSupport, find_article_support
from monitor.vocabulary import DateSource


@dataclass(frozen=True, slots=True)
class ArticleReading:
    """What a worker read from the page of the item at `url`; `sentences` are its extract, None where none was asked."""

    url: str
    snapshot: PageSnapshot
    sentences: Sequence[str] | None = None
    support: ArticleSupport | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleTask:
    """Reads the page of an item: its snapshot and, where they are wanted, an extract and what supports its claims.

    `language` is that of the extract; None where there shall be none.
    """

    url: str
    title: str
    date: dt.date | None = None
    date_source: DateSource = DateSource.UNKNOWN
    language: str | None = None
    links_evidence: bool = False

    def __call__(self, page: Page, result: FetchResult) -> ArticleReading:
        # Only workers read pages: the program itself needs none of this.
        from monitor.evidence.revisions import create_page_snapshot
        from monitor.sweep.extracts import extract_sentences

        snapshot, sentences, support = create_page_snapshot(page), None, None
        if self.language is not None:
            sentences = extract_sentences(self.title, page.text, self.language) if page.text.strip() else []
        if self.links_evidence:
            claims = ArticleClaims.of_item(
                title=self.title,
                date=self.date,
                date_source=self.date_source,
                published_on=page.stated_date,
                attachments=page.attachments,
                statements=sentences or (),
            )
            support = find_article_support(result, page.text, claims)
        return ArticleReading(self.url, snapshot, sentences, support)
