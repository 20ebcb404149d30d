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


class BodyState(StrEnum):
    """How far a body of the catalogue has come on its way to being a source."""

    WAITING = "waiting"
    RUNNING = "running"
    ADDED = "added"
    TAKEN = "taken"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return self not in (BodyState.WAITING, BodyState.RUNNING)


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


class Visibility(StrEnum):
    """Who may read what somebody made: its maker alone, or everybody who may sign in."""

    PRIVATE = "private"
    OPEN = "open"


class Phase(StrEnum):
    """What a model is asked for: the phases of a sweep, the steps of a research, second readings, and vectors."""

    NAVIGATE = "navigate"
    CRAWL = "crawl"
    SUMMARISE = "summarise"
    RANK = "rank"
    PLAN = "plan"
    SEARCH = "search"
    MODELING = "modeling"
    REPORT = "report"
    VERIFY = "verify"
    EMBED = "embed"


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


class DocumentKind(StrEnum):
    """What a document is, as far as its summary and its rank depend on it."""

    POLICY = "policy"
    CONSULTATION = "consultation"
    ENFORCEMENT = "enforcement"
    STATISTICS = "statistics"
    INTERPRETATION = "interpretation"
    PERSONNEL = "personnel"
    MEETING = "meeting"
    STANDARD = "standard"


class PolicyStage(StrEnum):
    """Where a document stands in the life of its policy."""

    PLAN = "plan"
    DRAFT = "draft"
    CONSULTATION = "consultation"
    FINAL = "final"
    INTERPRETATION = "interpretation"
    QA = "qa"
    PILOT = "pilot"
    IMPLEMENTATION = "implementation"
    ENFORCEMENT = "enforcement"
    AMENDMENT = "amendment"
    REPEAL = "repeal"


class DeadlineKind(StrEnum):
    """What begins or ends on the day of a deadline."""

    COMMENTS_UNTIL = "comments_until"
    IN_FORCE = "in_force"
    VALID_UNTIL = "valid_until"
    APPLY_BY = "apply_by"
    COMPLY_BY = "comply_by"


class RelationType(StrEnum):
    """What a document does to another one."""

    REPLACES = "replaces"
    REPEALS = "repeals"
    AMENDS = "amends"
    BASED_ON = "based_on"
    INTERPRETS = "interprets"
    IMPLEMENTS = "implements"


class JoinedBy(StrEnum):
    """Why a document belongs to a policy: what it shares with it, or a person's decision."""

    NUMBER = "number"
    TITLE = "title"
    RELATION = "relation"
    NAME = "name"
    HAND = "hand"


class KeyRole(StrEnum):
    """What a name or number is to a document: its own, that of one it is about, or one that it mentions in passing."""

    OWN = "own"
    CITED = "cited"
    MENTIONED = "mentioned"


class ItemChangeKind(StrEnum):
    """What a reader needs to know of a change between two revisions of an item."""

    DEADLINE_MOVED = "deadline_moved"
    FIGURE_CHANGED = "figure_changed"
    ARTICLE_CHANGED = "article_changed"
    ATTACHMENT_CHANGED = "attachment_changed"
    WITHDRAWN = "withdrawn"
    TEXT_CHANGED = "text_changed"


class SummaryBy(StrEnum):
    MODEL = "model"
    EXTRACT = "extract"
    NONE = "none"


class Verdict(StrEnum):
    """Whether the passages that a statement may rest on say what it says: contracts, section 9."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNSUPPORTED = "unsupported"
    UNCHECKED = "unchecked"

    @property
    def is_kept(self) -> bool:
        """Whether a statement with this verdict may be shown."""
        return self in (Verdict.SUPPORTED, Verdict.UNCHECKED)


class JudgedBy(StrEnum):
    CODE = "code"
    MODEL = "model"


class ReasonCode(StrEnum):
    """Why a statement is not supported."""

    NUMBER = "number"
    DATE = "date"
    UNIT = "unit"
    POLARITY = "polarity"
    DIRECTION = "direction"
    BOUND = "bound"
    MODALITY = "modality"
    PERIOD = "period"
    WHOSE_FIGURE = "whose_figure"
    SUBJECT_OBJECT = "subject_object"
    ISSUER = "issuer"
    ACTOR = "actor"
    QUOTE = "quote"
    STAGE = "stage"
    VALIDITY = "validity"
    QUANTIFIER = "quantifier"
    ATTRIBUTION = "attribution"
    CITATION = "citation"
    ECHO = "echo"
    CUT_OFF = "cut_off"


class SavedBy(StrEnum):
    """Who chose an item or a section."""

    AGENT = "agent"
    RULE = "rule"


class MarkAction(StrEnum):
    """What a person does with an item of a list; all but hiding is theirs alone."""

    READ = "read"
    UNREAD = "unread"
    LATER = "later"
    NOT_LATER = "not_later"
    STAR = "star"
    UNSTAR = "unstar"
    HIDE = "hide"
    UNHIDE = "unhide"


class ItemOrder(StrEnum):
    """How a list of items is sorted: by publication, or by tier and then by publication."""

    NEWEST = "newest"
    IMPORTANCE = "importance"


class RankDirection(StrEnum):
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


LOAD_MORE_WORDS = (
    r"(?:点击|點擊|上拉|下拉|滑动|滑動|滚动|滾動)?(?:加载|加載|载入|載入|查看|显示|顯示|展开|展開|浏览|瀏覽)(?:更多|下一?[页頁])"
    r"(?:内容|內容|信息|资讯|新闻|新聞|文章|结果|結果|数据|公告|通知)?"
    r"|点击更多|點擊更多|もっと(?:見る|読む|表示)(?:する)?|さらに(?:表示|読み込む)|더\s?보기|mehr (?:laden|anzeigen)"
    r"|afficher plus|charger plus|cargar más|ver más|mostrar más|carregar mais"
    r"|(?:load|show|view|see) more(?: [a-z]+)?"
)
"""What a button says that shows more of a list in the same page: a pattern for Python and JavaScript alike."""


class FetchMode(StrEnum):
    """How an address was asked: as a page over HTTP, drawn in the browser, as a document to keep, or for its data.

    Data is what a program reads, as JSON and feeds: it is asked for without cookies, as anybody may.
    """

    HTTP = "http"
    RENDERED = "drawn"
    DOCUMENT = "document"
    DATA = "data"
