"""A page as the service sees it: text, links, candidates, or the error in their place (contracts, section 3).

And what a later look at it is compared with.
"""

import datetime as dt
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.recipe import ListRecipe
from monitor.site_memory import NO_MARKS, PageMarks, SiteRepeats
from monitor.vocabulary import DateSource


class PageErrorCode(StrEnum):
    """Why a page could not be seen. `FORBIDDEN` means refused by us."""

    INVALID_URL = "InvalidUrl"
    NOT_FOUND = "NotFound"
    TIMEOUT = "Timeout"
    NETWORK = "NetworkError"
    BAD_GATEWAY = "BadGateway"
    TOO_LARGE = "TooLarge"
    UNSUPPORTED_TYPE = "UnsupportedType"
    PARSE = "ParseError"
    FORBIDDEN = "Forbidden"
    WEB_BLOCKED = "WebBlocked"


class PageError(MessageModel):
    """The reason that a page is empty; `detail_code` says which kind of block it was."""

    code: PageErrorCode
    detail_code: str | None = None
    message: Message

    @property
    def kind(self) -> str:
        """The code with its detail: `WebBlocked/http_403`."""
        return f"{self.code}/{self.detail_code}" if self.detail_code else str(self.code)

    @property
    def reason(self) -> Message:
        """The error as a run records it; `cause.page_blocked` says by its `detail` which kind of block it was."""
        if self.code is PageErrorCode.WEB_BLOCKED and self.detail_code:
            return Message("cause.page_blocked", {"detail": self.detail_code, "error": self.message})
        return Message("cause.page_error", {"kind": self.kind, "error": self.message})


class Link(BaseModel):
    """An anchor of the page, its url absolute."""

    text: str
    url: str


class Attachment(BaseModel):
    """A document that hangs on a page; `type` is its lower-case extension without the dot."""

    title: str
    url: str
    type: str


MAX_TITLE_CHARS = 1_000
"""A longer title is cut: many rules read titles, and nobody writes one that is half as long."""


def _cut_title(title: str) -> str:
    return title[:MAX_TITLE_CHARS]


Title = Annotated[str, AfterValidator(_cut_title)]


class Candidate(BaseModel):
    """A link on a list page that could be an item; `record` is what was kept of that page, if anything."""

    title: Title
    url: str
    date: dt.date | None = None
    date_source: DateSource = DateSource.UNKNOWN
    is_repost: bool = False
    attachments: list[Attachment] = Field(default_factory=list)
    record: str | None = Field(default=None, exclude_if=lambda record: record is None)


class ExpectedPage(StrEnum):
    """What the caller expects of a page; a page that is expected to be a list is one on weaker signs."""

    LIST = "list"
    ARTICLE = "article"
    UNKNOWN = "unknown"


class PageHints(BaseModel):
    """What the caller knows of a page before it is read; `examples` are urls of rows of the list that is meant.

    `wants_others`: the next likely lists are wanted even where the first one is sure. `memory` is what repeats on the
    host's other pages; with it, be it empty, the page gets its marks.
    """

    model_config = ConfigDict(frozen=True)

    expected: ExpectedPage = ExpectedPage.UNKNOWN
    recipe: ListRecipe | None = None
    examples: tuple[str, ...] = ()
    wants_others: bool = False
    memory: SiteRepeats | None = None


NO_HINTS = PageHints()


SURE_LIST_SCORE = 0.6
"""A list that scores less is held against the page's next likely ones."""


class PageList(BaseModel):
    """One of the lists that a page could be read as; `score` is the probability that it is the list that is meant."""

    score: float
    candidates: list[Candidate]


class ArticleFacts(BaseModel):
    """What an article says of itself, from the parser to the row of its item.

    A field that `db.tables.collection.Item` has under the same name is written to it as it is.
    """

    title: Title = ""
    published_on: dt.date | None = None
    date_source: DateSource = DateSource.UNKNOWN
    language: str | None = None
    attachments: list[Attachment] = Field(default_factory=list)
    issuer: str | None = None
    document_number: str | None = None

    @property
    def stated_date(self) -> dt.date | None:
        """The date that the page itself states, not one that only its url holds."""
        return self.published_on if self.date_source is DateSource.PAGE else None


class Page(ArticleFacts):
    """One page. Urls are absolute http(s) without fragments and tracking parameters; candidates stand in page order.

    `lines` are all that the page shows, main text or not; `site` is what names the site on it, as it stands there.
    `is_cut_short`: the list goes on in this very page, by a button or by scrolling, further than it was asked for.
    `record` is the id under which a run kept what it saw. `reading` is what the caller had read from it besides.
    `lists` are the best three lists that the page could be read as, best first; `candidates` are those of the first,
    if it is sure enough. `recipe` tells these candidates from the page's other links; `recipe_fit` says how well the
    recipe that the caller gave fits the page, from 0 to 1. `marks` are what the memory of the site keeps of it.
    """

    url: str
    final_url: str
    status: int | None = None
    content_type: str | None = None
    encoding: str | None = None
    rendered: bool = False
    text: str = ""
    lines: list[str] = Field(default_factory=list, exclude=True, repr=False)
    site: str = Field(default="", exclude=True, repr=False)
    links: list[Link] = Field(default_factory=list)
    candidates: list[Candidate] = Field(default_factory=list)
    lists: list[PageList] = Field(default_factory=list, exclude=True, repr=False)
    recipe: ListRecipe | None = Field(default=None, exclude=True, repr=False)
    recipe_fit: float | None = Field(default=None, exclude=True, repr=False)
    marks: PageMarks = Field(default=NO_MARKS, exclude=True, repr=False)
    next_page: str | None = None
    is_cut_short: bool = False
    fetched_at: dt.datetime
    sha256: str | None = None
    record: str | None = Field(default=None, exclude=True)
    reading: object = Field(default=None, exclude=True, repr=False)
    error: PageError | None = None


def is_feed_page(page: Page) -> bool:
    """Whether a page is a feed or a sitemap: it has entries and shows nothing."""
    return page.error is None and bool(page.candidates) and not page.lines


class ChangeKind(StrEnum):
    """How a page differs from what it was; `none` and `unreachable` are no revisions."""

    NONE = "none"
    CHANGED = "changed"
    ATTACHMENTS = "attachments"
    WITHDRAWN = "withdrawn"
    MOVED = "moved"
    RESTORED = "restored"
    UNREACHABLE = "unreachable"

    @property
    def is_revision(self) -> bool:
        return self not in (ChangeKind.NONE, ChangeKind.UNREACHABLE)


class EditOperation(StrEnum):
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"
    RENUMBERED = "renumbered"


class PagePart(StrEnum):
    TITLE = "title"
    DATE = "date"
    ADDRESS = "address"
    ARTICLE = "article"
    PARAGRAPH = "paragraph"
    ATTACHMENT = "attachment"


class PageEdit(BaseModel):
    """One difference. `article` is the article's number (第七条, Section 4(b)) now, or before it was removed.

    `before` and `after` are the paragraphs of a changed article or attachment that differ, or the two numbers of a
    renumbered one.
    """

    op: EditOperation
    part: PagePart
    article: str | None = None
    before: str = ""
    after: str = ""


class PageChange(BaseModel):
    """How two looks at a page differ. `kept` is the share of the old words that remain.

    `more_edits` counts the edits that are not listed. `reason` says why a page counts as withdrawn or unreachable.
    """

    kind: ChangeKind
    edits: list[PageEdit] = Field(default_factory=list)
    more_edits: int = 0
    kept: float = 1.0
    reason: Message | None = None

    def list_articles(self, op: EditOperation) -> list[str]:
        """The numbers of the articles to which this was done, each once, in order."""
        edits = [edit for edit in self.list_edits(PagePart.ARTICLE) if edit.op is op]
        return list(dict.fromkeys(edit.article for edit in edits if edit.article))

    def list_edits(self, part: PagePart) -> list[PageEdit]:
        return [edit for edit in self.edits if edit.part is part]


class AttachmentSnapshot(Attachment):
    """A document on a page; `sha256` is None where it was not fetched."""

    sha256: str | None = None


class PageSnapshot(BaseModel):
    """What one look at a page saw, as far as a later look is compared with it.

    `url` is where redirects ended, `published_on` the date that the page states. `notice` is what a page without a text
    says; `links` are the lines of the text that are only links; `beside` are the marks of the lines outside of the
    text. `whole`, which is not stored, is all that the page shows. `failure`: it could not be seen.
    """

    url: str
    seen_at: dt.datetime
    title: str = ""
    published_on: dt.date | None = None
    text: str = ""
    notice: str = ""
    links: list[str] = Field(default_factory=list)
    beside: list[str] = Field(default_factory=list)
    whole: str = Field(default="", exclude=True, repr=False)
    attachments: list[AttachmentSnapshot] = Field(default_factory=list)
    is_list: bool = False
    sha256: str | None = None
    failure: PageErrorCode | None = None
    reason: Message | None = None
