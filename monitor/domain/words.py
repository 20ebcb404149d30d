"""The closed vocabularies of the product: contracts, section 1."""

from enum import StrEnum


class SourceKind(StrEnum):
    """What a source is: a site of sections, a feed, or a standing search."""

    SITE = "site"
    FEED = "feed"
    QUERY = "query"


class Render(StrEnum):
    """When a page is drawn in the browser."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class RunStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    DEGRADED = "degraded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether a run in this state has ended."""
        return self not in (RunStatus.QUEUED, RunStatus.RUNNING)


class Role(StrEnum):
    """What somebody who has signed in may do."""

    ADMIN = "admin"
    EDITOR = "editor"
    READER = "reader"


class Phase(StrEnum):
    """What a model is asked for: the four phases of a sweep, then the four steps of a research."""

    NAVIGATE = "navigate"
    CRAWL = "crawl"
    SUMMARISE = "summarise"
    RANK = "rank"
    PLAN = "plan"
    SEARCH = "search"
    MODELING = "modeling"
    REPORT = "report"


SWEEP_PHASES = (Phase.NAVIGATE, Phase.CRAWL, Phase.SUMMARISE, Phase.RANK)
"""The phases of a run, in their order."""


class SectionEnd(StrEnum):
    """Why the reading of a section ended."""

    END = "end"
    KNOWN = "known"
    EARLY = "early"
    MAX_PAGES = "max_pages"
    MAX_ITEMS = "max_items"
    ERROR = "error"

    @property
    def is_complete(self) -> bool:
        """Whether everything in range was reached."""
        return self in (SectionEnd.END, SectionEnd.KNOWN, SectionEnd.EARLY)


class Disposition(StrEnum):
    """What became of a candidate; each gets exactly one."""

    SAVED = "saved"
    KNOWN = "known"
    OUT_OF_RANGE = "out_of_range"
    FILTERED = "filtered"
    OVER_LIMIT = "over_limit"
    REFUSED = "refused"
    LEFT = "left"


class DateSource(StrEnum):
    """Where a publication date was read. A date is never invented."""

    LISTED = "listed"
    URL = "url"
    PAGE = "page"
    FEED = "feed"
    UNKNOWN = "unknown"


class ItemType(StrEnum):
    """The types of items, stored as these words."""

    POLICY = "政策"
    LAW = "法规"
    STANDARD = "标准"
    PLAN = "规划"
    NOTICE = "通知"
    ANNOUNCEMENT = "公告"
    INTERPRETATION = "解读"
    DATA = "数据"
    NEWS = "新闻"
    PERSONNEL = "人事"
    MEETING = "会议"
    OTHER = "其他"


class SummaryBy(StrEnum):
    MODEL = "model"
    EXTRACT = "extract"
    NONE = "none"


class SavedBy(StrEnum):
    """Who chose an item or a section."""

    AGENT = "agent"
    RULE = "rule"


class RankWish(StrEnum):
    """Where a person would have placed an item, and others like it."""

    HIGHER = "higher"
    LOWER = "lower"


class EventKind(StrEnum):
    """What a run tells of.

    A phase, how far it came; a section that begins, or ends; a page that was read; a model that is asked, or has
    answered; an item that was saved; something that fell back. `step` is anything else that is worth a sign of life,
    and is not kept.
    """

    STEP = "step"
    PHASE = "phase"
    SECTION = "section"
    PAGE = "page"
    ASKED = "asked"
    ANSWERED = "answered"
    SAVED = "saved"
    FALLBACK = "fallback"
