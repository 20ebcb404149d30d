"""Researches over HTTP: asked, looked at while they go, their plans approved, stopped, read, saved as documents."""

from typing import Annotated, Literal, get_args
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from monitor.app.research_reading import NotePage
from monitor.app.research_view import ResearchSummary, ResearchView
from monitor.bootstrap import App
from monitor.briefing.letter import MEDIA_TYPES
from monitor.domain.research import ResearchStatus
from monitor.research.shapes import PlanParagraph, ResearchOptions, Sampling, SearchConfig, Wire
from monitor.store.sessions import storable
from monitor.web.api.research_events import TASK, TaskId
from monitor.web.cursors import decode_instant, encode
from monitor.web.exporting import saved_as
from monitor.web.gate import Editor, Reader, scope
from monitor.web.problems import PROBLEMS

Form = Literal["md", "html", "docx", "pdf"]
NoteIndex = Annotated[int, Path(ge=0, le=2**31 - 1, description="The place of a note among the notes, from 0.")]
_STRICT = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")
_AGENTS = ("plan", "search", "modeling", "report")


def _said(text: str) -> str:
    """The text as it is kept; nothing but white space is nothing."""
    text = storable(text).strip()
    if not text:
        raise ValueError("it must not be empty")
    return text


def _of_agents(models: dict[str, str]) -> dict[str, str]:
    if unknown := models.keys() - set(_AGENTS):
        raise ValueError(f"there is no step {min(unknown)[:40]!r}: name {', '.join(_AGENTS)}")
    return {name: storable(model).strip() for name, model in models.items() if storable(model).strip()}


Question = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_said)]
Title = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_said)]
Models = Annotated[
    dict[str, Annotated[str, Field(max_length=200)]],
    Field(max_length=len(_AGENTS), description="A model for a step: plan, search, modeling, report."),
    AfterValidator(_of_agents),
]


class AskedConfig(SearchConfig):
    """Wishes for the search; an engine that is not known is told in the metadata's warnings."""

    model_config = _STRICT

    engines: list[Annotated[str, Field(max_length=100), AfterValidator(storable)]] = Field(
        default_factory=list, max_length=20
    )


class AskedSampling(Sampling):
    model_config = _STRICT


class AskedOptions(ResearchOptions):
    """Models and sampling of this research alone; `review_plan`: it waits until its plan was looked at."""

    model_config = _STRICT

    models: Models = Field(default_factory=dict)
    sampling: AskedSampling = Field(default_factory=AskedSampling)


class ResearchAsked(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "query": "稀土出口管制近一年有哪些变化？",
                    "config": {"engines": ["archive"], "maxResults": 20},
                    "options": {"models": {"report": "gpt-5"}, "sampling": {"temperature": 0.3}, "review_plan": True},
                }
            ]
        },
    )

    query: Question
    config: AskedConfig = Field(default_factory=AskedConfig)
    options: AskedOptions = Field(default_factory=AskedOptions)


class ResearchBegun(Wire):
    """The id of a research that was asked for."""

    task_id: str = Field(examples=[TASK])


class ResearchState(Wire):
    """How a research stands after what was asked."""

    task_id: str = Field(examples=[TASK])
    status: ResearchStatus


class ResearchList(BaseModel):
    """A page of the history, newest first, without the reports."""

    researches: list[ResearchSummary]
    next: str | None


class WantedParagraph(PlanParagraph):
    """A paragraph that the report is to have."""

    model_config = _STRICT

    title: Title
    content: Annotated[str, Field(max_length=2000), AfterValidator(storable)] = ""


class WantedPlan(BaseModel):
    """The plan by which the research goes on: its paragraphs take the place of those that were proposed."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"paragraphs": [{"title": "政策", "content": "出台了哪些管制措施"}]}]},
    )

    title: Title | None = None
    paragraphs: list[WantedParagraph] = Field(min_length=1, max_length=20)


class RemarkWire(BaseModel):
    """What a person says while a research goes; its summaries heed the latest remark."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "请侧重对下游企业的影响。"}]})

    text: Question


def router(app: App) -> APIRouter:
    """`/api/research` and what lies under it; the stream has a module of its own."""
    routes = APIRouter(prefix="/api/research", tags=["research"], responses=PROBLEMS)
    _add_all(routes, app)
    _add_steering(routes, app)
    _add_results(routes, app)
    return routes


_RUN_SCOPE = [Depends(scope("run"))]


def _add_all(routes: APIRouter, app: App) -> None:
    @routes.post("", summary="Ask a question", status_code=202, dependencies=_RUN_SCOPE)
    async def ask(visitor: Editor, asked: ResearchAsked, response: Response) -> ResearchBegun:
        """Put a research into the queue. Watch it at `/api/research/{taskId}/events`."""
        task_id = await app.research.ask(asked.query, config=asked.config, options=asked.options, by=visitor.name)
        await app.audit.record(visitor.name, "research.start", task_id, query=asked.query)
        response.headers["Location"] = f"/api/research/{quote(task_id)}"
        return ResearchBegun(task_id=task_id)

    @routes.get("", summary="List researches")
    async def researches(
        visitor: Reader,
        q: Annotated[str, Query(max_length=200, description="Stands in the question.")] = "",
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        cursor: Annotated[str | None, Query(max_length=400, description="`next` of the page before.")] = None,
    ) -> ResearchList:
        del visitor
        found = await app.research.list(limit=limit + 1, after=decode_instant(cursor), text=q)
        last = found[limit - 1] if len(found) > limit else None
        following = encode(last.created_at.isoformat(), last.task_id) if last is not None else None
        return ResearchList(researches=found[:limit], next=following)

    @routes.get("/{task_id}", summary="Show a research")
    async def show(visitor: Reader, task_id: TaskId) -> ResearchView:
        """How far it is, and what it gave by then: plan, notes, blueprint, report, score, usage."""
        del visitor
        return await app.research.get(task_id)


def _add_steering(routes: APIRouter, app: App) -> None:
    @routes.put("/{task_id}/plan", summary="Approve a plan", status_code=202, dependencies=_RUN_SCOPE)
    async def approve(visitor: Editor, task_id: TaskId, wanted: WantedPlan) -> ResearchState:
        """Let a research that waits for it go on by this plan; 409 where it does not wait."""
        await app.research.approve(task_id, wanted.title or "", wanted.paragraphs, by=visitor.name)
        titles = [paragraph.title for paragraph in wanted.paragraphs]
        await app.audit.record(visitor.name, "research.plan", task_id, title=wanted.title, paragraphs=titles)
        return await _state(app, task_id)

    @routes.post("/{task_id}/remarks", summary="Make a remark", status_code=202)
    async def remark(visitor: Editor, task_id: TaskId, wanted: RemarkWire) -> ResearchState:
        """Say what the summaries still to be written are to heed; 409 where the research has ended."""
        await app.research.remark(task_id, wanted.text, by=visitor.name)
        await app.audit.record(visitor.name, "research.remark", task_id, text=wanted.text)
        return await _state(app, task_id)

    @routes.delete(
        "/{task_id}",
        summary="Cancel a research",
        status_code=202,
        dependencies=_RUN_SCOPE,
        responses={200: {"model": ResearchState, "description": "It is cancelled already."}},
    )
    async def cancel(visitor: Editor, task_id: TaskId, response: Response) -> ResearchState:
        """Ask it to stop: one that waits is cancelled at once (200), one under way soon (202). What it found stays."""
        status = await app.research.cancel(task_id, by=visitor.name)
        await app.audit.record(visitor.name, "research.cancel", task_id)
        response.status_code = 200 if status.is_final else 202
        return ResearchState(task_id=task_id, status=status)


def _add_results(routes: APIRouter, app: App) -> None:
    files = {MEDIA_TYPES[form]: {"schema": {"type": "string", "format": "binary"}} for form in get_args(Form)}

    @routes.get(
        "/{task_id}/report.{form}",
        summary="Export a report",
        response_class=Response,
        responses={200: {"description": "The document.", "content": files}},
    )
    async def report(visitor: Reader, task_id: TaskId, form: Form) -> Response:
        """The report as a document; 409 while there is none, 503 for a pdf where the server has no browser."""
        del visitor
        document = await app.research.document(task_id)
        content = await app.writing.document(document, form)
        name = "".join(char if char.isalnum() else "-" for char in document.title[:80]).strip("-")
        return saved_as(content, form, name=f"{name}.{form}", plain=f"research-{task_id}.{form}".replace(":", "-"))

    @routes.get("/{task_id}/notes/{index}", summary="Show what a note rests on")
    async def note(
        visitor: Reader,
        task_id: TaskId,
        index: NoteIndex,
        quote: Annotated[int, Query(ge=0, le=1000, description="Which of its quotes, from 0.")] = 0,
    ) -> NotePage:
        """The page as it was kept, as text, and where in it the quote stands."""
        del visitor
        return await app.research.passage(task_id, index, quote=quote)


async def _state(app: App, task_id: str) -> ResearchState:
    return ResearchState(task_id=task_id, status=(await app.research.row(task_id)).status)
