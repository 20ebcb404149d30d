"""What a research takes and gives, in the names of its protocol: camelCase as JSON, snake_case here."""

from enum import StrEnum
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic.alias_generators import to_camel

from monitor.i18n.catalogue import get_word, get_words, render
from monitor.i18n.message import Message
from monitor.i18n.model import LANGUAGE, reader_language
from monitor.vocabulary import JudgedBy, ReasonCode, Verdict

ContentT = TypeVar("ContentT")


class CamelCaseSchema(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True)


class StepMetadata(CamelCaseSchema):
    """How a step went: its time, the tokens of its model calls, whether a rule did the model's work, and why.

    `refused` counts what was rejected, by kind: quotes, figures, sentences, urls and so on. In JSON, `reason` and
    `warnings` are sentences in the reader's language; `reasonMessage` and `warningMessages` have their codes.
    """

    duration_ms: int = 0
    tokens: int = 0
    is_fallback: bool = False
    reason: Annotated[Message | None, WithJsonSchema({"type": "string"})] = None
    warnings: Annotated[list[Message], WithJsonSchema({"type": "array", "items": {"type": "string"}})] = Field(
        default_factory=list
    )
    refused: dict[str, int] = Field(default_factory=dict)

    @model_serializer(mode="wrap")
    def _write_messages(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo):  # type: ignore[no-untyped-def]
        data = handler(self)
        data |= {
            "reason": None,
            "warnings": [],
            "reasonMessage": None if self.reason is None else self.reason.to_json(),
            "warningMessages": [warning.to_json() for warning in self.warnings],
        }
        return render_messages(data, (info.context or {}).get(LANGUAGE) or reader_language.get())

    @model_validator(mode="before")
    @classmethod
    def _read_messages(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        read = dict(data)
        reason = read.pop("reasonMessage", None) or read.get("reason") or None
        warnings = read.pop("warningMessages", None) or read.get("warnings") or []
        return read | {"reason": reason, "warnings": warnings}


def render_messages(data: Any, language: str) -> Any:
    """Return JSON with the sentences of messages in a language, wherever their codes stand beside them.

    The codes of `reason` and `warnings` stay; that of an error's `message` is no part of the protocol and is dropped.
    """
    if isinstance(data, list):
        return [render_messages(entry, language) for entry in data]
    if not isinstance(data, dict):
        return data
    rendered = {name: render_messages(value, language) for name, value in data.items()}
    if "reasonMessage" in data:
        reason = data["reasonMessage"]
        rendered["reason"] = render(Message.from_json(reason), language) if reason else ""
    if "warningMessages" in data:
        rendered["warnings"] = [render(Message.from_json(warning), language) for warning in data["warningMessages"]]
    if "messageCode" in data:
        message = {"code": rendered.pop("messageCode"), "args": rendered.pop("messageArgs")}
        rendered["message"] = render(Message.from_json(message), language)
    return rendered


def describe_fallback(reason: Message) -> dict[str, Any]:
    """Return what a progress event says of a fallback; `render_messages` translates it."""
    return {"node": "fallback", "reason": render(reason, "en"), "reasonMessage": reason.to_json()}


class PlanParagraph(CamelCaseSchema):
    title: str
    content: str


class PlanMetadata(StepMetadata):
    report_title: str = ""
    paragraphs: list[PlanParagraph] = Field(default_factory=list)


class Plan(CamelCaseSchema):
    """The plan: `content` is the brief for people, `metadata.paragraphs` what the next steps work by."""

    content: str
    metadata: PlanMetadata = Field(default_factory=PlanMetadata)


class SearchConfig(CamelCaseSchema):
    engines: list[str] = Field(default_factory=list, max_length=20)
    max_results: int | None = Field(default=None, ge=1, le=100)
    timeout_ms: int | None = Field(default=None, ge=100, le=600_000)


class SearchStrategy(CamelCaseSchema):
    """The queries in the order in which they were made, and the backends that answered."""

    primary_query: str
    queries: list[str] = Field(default_factory=list)
    engines: list[str] = Field(default_factory=list)
    notes: str = ""


class DocumentSource(CamelCaseSchema):
    """Where in a reader's own document something stands: a page of a PDF or a sheet of a workbook.

    `number` is that of the document among those of its research.
    """

    number: int
    name: str
    uploaded_by: str
    page: int | None = None
    sheet: str | None = None

    def format_title(self, language: str) -> str:
        words = get_words(language, "document_place")
        kind = "page" if self.page is not None else "sheet" if self.sheet is not None else "whole"
        return words[kind].format(name=self.name, page=self.page, sheet=self.sheet)

    def format_origin(self, language: str) -> str:
        return get_word(language, "document_place", "uploaded").format(person=self.uploaded_by)


class NoteEvidence(CamelCaseSchema):
    """A quote that stands verbatim, white space aside, in the page at `source`; how far it can be relied on, 0 to 1."""

    quote: str
    source: str
    confidence: float = Field(ge=0, le=1)


class ResearchNote(CamelCaseSchema):
    """What one page contributes to one paragraph (`topic`), and the quotes that support it."""

    summary: str
    evidence: list[NoteEvidence] = Field(default_factory=list)
    topic: str
    source_url: str
    engine: str


def list_quotes(note: ResearchNote) -> list[str]:
    return [evidence.quote for evidence in note.evidence]


class RawResult(CamelCaseSchema):
    title: str
    url: str
    snippet: str
    engine: str


class SearchAgentResult(CamelCaseSchema):
    strategy: SearchStrategy
    notes: list[ResearchNote] = Field(default_factory=list)
    raw_results: list[RawResult] = Field(default_factory=list)
    metadata: StepMetadata = Field(default_factory=StepMetadata)


class Driver(CamelCaseSchema):
    """A driver of the model; `evidence_refs` are indexes into the notes, counted from 0."""

    name: str
    description: str
    evidence_refs: list[int] = Field(default_factory=list)


class Relationship(CamelCaseSchema):
    """How one driver acts on another; unless a page says so, an inference from the notes of both."""

    from_: str = Field(alias="from")
    to: str
    type: str = "influence"
    confidence: float = Field(ge=0, le=1)


class Scenario(CamelCaseSchema):
    name: str
    assumptions: list[str] = Field(default_factory=list)
    outcomes: list[str] = Field(default_factory=list)
    confidence: float = Field(ge=0, le=1)


class Metric(CamelCaseSchema):
    name: str
    estimate: float
    unit: str = ""
    confidence: float = Field(ge=0, le=1)


class StatementReason(CamelCaseSchema):
    """Why a statement is not borne out: a code of `ReasonCode`, with words of the statement and the page."""

    code: ReasonCode
    args: dict[str, str] = Field(default_factory=dict)


class JudgedStatement(CamelCaseSchema):
    """A sentence as it stands, with its verdict and the passage that bears it.

    In a report `section` is its heading and `sources` are the report's, from 1; in a blueprint they are the driver's
    name and notes, from 1. An assessment says what follows from the findings that it cites; it is not checked itself.
    """

    text: str
    section: str = ""
    sources: list[int] = Field(default_factory=list)
    is_assessment: bool = False
    verdict: Verdict
    by: JudgedBy = JudgedBy.CODE
    passage: str = ""
    reasons: list[StatementReason] = Field(default_factory=list)


class BlueprintMetadata(StepMetadata):
    """How the blueprint was made, and the verdicts on the descriptions of its drivers and on its relationships."""

    statements: list[JudgedStatement] = Field(default_factory=list)


class ModelBlueprint(CamelCaseSchema):
    model_type: str = "causal_graph"
    core_drivers: list[Driver] = Field(default_factory=list)
    relationships: list[Relationship] = Field(default_factory=list)
    scenarios: list[Scenario] = Field(default_factory=list)
    metrics: list[Metric] = Field(default_factory=list)
    metadata: BlueprintMetadata = Field(default_factory=BlueprintMetadata)


class OutlineEntry(CamelCaseSchema):
    heading: str
    bullets: list[str] = Field(default_factory=list)


class ReportSource(CamelCaseSchema):
    """A source of the report: the one at place i, from 0, is cited as [i + 1]; `note_index` is its note's place."""

    title: str
    url: str
    note_index: int


class UnansweredSection(CamelCaseSchema):
    """A planned section of which nothing can be said: what was searched for, and why nothing is said.

    `reason` is `no_results`, `no_pages` (results that could not be read) or `no_statements` (none that a page bears).
    """

    title: str
    queries: list[str] = Field(default_factory=list)
    reason: str


class DisagreeingValue(CamelCaseSchema):
    """What one source says of a metric; `note_index` is the place of the note that quotes it."""

    value: str
    note_index: int
    quote: str


class Disagreement(CamelCaseSchema):
    """A metric of one period for which sources have different values, in the order of the notes."""

    metric: str
    period: str
    values: list[DisagreeingValue]


class ReportMetadata(StepMetadata):
    """How the report was made, and what is known of its statements."""

    streamed: bool = True
    planned: int = 0
    statements: list[JudgedStatement] = Field(default_factory=list)
    unanswered: list[UnansweredSection] = Field(default_factory=list)
    disagreements: list[Disagreement] = Field(default_factory=list)


class ResearchReport(CamelCaseSchema):
    markdown: str
    outline: list[OutlineEntry] = Field(default_factory=list)
    sources: list[ReportSource] = Field(default_factory=list)
    metadata: ReportMetadata = Field(default_factory=ReportMetadata)


class ReportScore(CamelCaseSchema):
    """How far a finished report can be trusted; shares are 0 to 1, None where there is nothing to share.

    `quote_fidelity`: quotes that stand in the kept bytes of the page that they are from. `figure_fidelity`: figures and
    dates of the report that stand in a note cited beside them. `citation_coverage`: sentences of the report that cite.
    `independent_hosts`: hosts cited. `official_share`: citations of government, regulators and public bodies.

    Statements are counted as they were said, the dropped ones too: `supported_share` is what code and the second
    reader found supported of all that summaries and report said. `assessments` stand apart and are no part of it. Of
    the `planned` sections `answered` have findings; `disagreements` are metrics with different values in their sources.
    """

    supported_by_code: int = 0
    supported_by_model: int = 0
    unchecked: int = 0
    contradicted: int = 0
    unsupported: int = 0
    supported_share: float | None = None
    assessments: int = 0
    planned: int = 0
    answered: int = 0
    disagreements: int = 0

    quotes: int = 0
    quote_fidelity: float | None = None
    figures: int = 0
    figure_fidelity: float | None = None
    sentences: int = 0
    citation_coverage: float | None = None
    independent_hosts: int = 0
    official_share: float | None = None
    refused: dict[str, int] = Field(default_factory=dict)


class SamplingOptions(CamelCaseSchema):
    """How the model is sampled; None is the setting of the service."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)


class ResearchOptions(CamelCaseSchema):
    """`models` by step (plan, search, modeling, report); `review_plan` waits for a person before the search begins.

    Without `enabled` no model is asked.
    """

    enabled: bool = True
    models: dict[str, str] = Field(default_factory=dict, max_length=10)
    sampling: SamplingOptions = Field(default_factory=SamplingOptions)
    review_plan: bool = Field(default=False, alias="review_plan")


class AgentOutput(BaseModel, Generic[ContentT]):
    content: ContentT
    metadata: StepMetadata


class StepType(StrEnum):
    PLAN = "plan"
    DEEP_SEARCH = "deep_search"
    MODELING = "modeling"
    REPORTING = "reporting"


STEP_IDS = dict(zip(StepType, ("plan", "search", "model", "report"), strict=True))
"""The older names of the steps, which the events carry too."""

STEP_WEIGHTS = {StepType.PLAN: 0.05, StepType.DEEP_SEARCH: 0.6, StepType.MODELING: 0.1, StepType.REPORTING: 0.25}
"""How much of the whole a step is; together 1."""

StepStatus = Literal["start", "progress", "complete", "error"]


class StepEvent(CamelCaseSchema):
    """An event of a research. A step that begins anew, after a crash, says `start` once more, and its chunks are void.

    `payload` holds `chunk` (more text), `result` (the step's document, with its last event), `metadata`, `error`.
    """

    step_id: str
    step_type: StepType
    status: StepStatus
    progress: float = Field(ge=0, le=1)
    label: str
    payload: dict[str, Any] = Field(default_factory=dict)


def build_step_event(
    step: StepType, status: StepStatus, progress: float, *, language: str, payload: dict[str, Any]
) -> StepEvent:
    return StepEvent(
        step_id=STEP_IDS[step],
        step_type=step,
        status=status,
        progress=progress,
        label=get_word(language, "step_label", step),
        payload=payload,
    )


def build_error_payload(code: str, reason: Message) -> dict[str, Any]:
    """Return the payload of a research's last event, `cancelled` or `failed`; `render_messages` translates it."""
    stored = reason.to_json()
    message = {"message": render(reason, "en"), "messageCode": stored["code"], "messageArgs": stored["args"]}
    return {"error": {"code": code, **message}, "result": None}


def compute_progress(step: StepType, share: float) -> float:
    """Return how much of the whole is done when so much of a step is, 0 to 1; three decimals."""
    before = sum(STEP_WEIGHTS[entry] for entry in list(StepType)[: list(StepType).index(step)])
    return round(min(before + STEP_WEIGHTS[step] * min(max(share, 0.0), 1.0), 1.0), 3)
