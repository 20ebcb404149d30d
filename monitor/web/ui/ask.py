"""The pages of questions to the archive: the form with what was asked before, and an answer with its passages."""

from typing import Annotated, Any

from fastapi import APIRouter, Form, Response
from pydantic import ValidationError

from monitor.bootstrap import App
from monitor.errors import NotFound, UsageError
from monitor.i18n.message import Message
from monitor.services.asking import MAX_ASKED_CHARS, AskFilters
from monitor.web.api.ask import QuestionId
from monitor.web.auth import RUN_SCOPE, AppDep, Principal, Reader
from monitor.web.ui.rendering import FilterText, FormText, PageRenderer, Renderer

TIERS = (1, 2, 3, 4, 5)

router = APIRouter(prefix="/ask")


@router.get("")
async def form(app: AppDep, renderer: Renderer, principal: Reader, q: FilterText = "") -> Response:
    return await _render_form(app, renderer, principal, {"question": q})


@router.post("", dependencies=[RUN_SCOPE])
async def ask(
    app: AppDep,
    renderer: Renderer,
    principal: Reader,
    question: FormText = "",
    source: FormText = "",
    topic: FormText = "",
    since: FormText = "",
    until: FormText = "",
    tier: Annotated[list[str], Form()] = [],  # noqa: B006  FastAPI copies it
) -> Response:
    """Begin to answer, and lead to the page that follows it."""
    tiers = [level for level in tier if level]
    given = {"source": source, "topic": topic, "since": since, "until": until, "tiers": tiers}
    try:
        filters = AskFilters.model_validate({name: value or None for name, value in given.items() if value})
        question_id = await app.asking.start(question, filters, by=principal)
    except (ValidationError, UsageError, NotFound) as error:
        trouble = Message.of("ask.bad_filters") if isinstance(error, ValidationError) else error.message
        return await _render_form(app, renderer, principal, {"question": question, **given}, trouble)
    return renderer.redirect(f"/ask/{question_id}")


@router.get("/{question_id}")
async def answer(app: AppDep, renderer: Renderer, principal: Reader, question_id: QuestionId) -> Response:
    return renderer.render("ask/answer.html", section="ask", question=await app.asking.get(question_id, by=principal))


@router.post("/{question_id}/remove")
async def remove(app: AppDep, renderer: Renderer, principal: Reader, question_id: QuestionId) -> Response:
    await app.asking.remove(question_id, by=principal)
    return renderer.redirect("/ask", notice="question_removed")


async def _render_form(
    app: App, renderer: PageRenderer, principal: Principal, asked: dict[str, Any], trouble: Message | None = None
) -> Response:
    return renderer.render(
        "ask/form.html",
        status=400 if trouble else 200,
        asked={"source": "", "topic": "", "since": "", "until": "", "tiers": [], **asked},
        trouble=trouble,
        sources=await app.store.items.list_source_names(),
        topics=[topic.name for topic in await app.store.topics.list()],
        tiers=TIERS,
        most=MAX_ASKED_CHARS,
        has_model=app.settings.llm.is_on,
        questions=await app.asking.list(by=principal),
    )
