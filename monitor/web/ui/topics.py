"""The pages of topics: what clients and teams care about, who follows it, and what fits it and why."""

import datetime as dt
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from monitor.bootstrap import App
from monitor.db.sessions import sanitize_text
from monitor.db.tables.policies import TopicAlerts
from monitor.errors import UsageError
from monitor.i18n.catalogue import get_word
from monitor.services.cursors import decode_cursor, encode_cursor
from monitor.services.deadlines import DeadlineQuery
from monitor.services.topic_form import TopicForm, TopicPatch, TopicSchema, parse_topic_form
from monitor.vocabulary import RankDirection
from monitor.web.api.cursors import build_next_url
from monitor.web.api.items import ItemId
from monitor.web.api.topics import TopicId
from monitor.web.auth import AppDep, Editor, Reader
from monitor.web.middleware import sanitize_redirect_path
from monitor.web.ui.deadlines import build_calendar_url
from monitor.web.ui.rendering import FormText, PageRenderer, Renderer

_PAGE_SIZE = 50
_MAX_DEADLINES = 10
_MAX_COUNTED = 100
"""Of more deadlines, the page gives no number."""

_LINE_FIELDS = ("words", "exclusions")
_TICK_FIELDS = ("sources", "targets")

router = APIRouter(prefix="/topics")


async def _read_values(request: Request) -> dict[str, Any]:
    """Return a topic as its form gives it: words one per line or comma-separated, sources and targets as ticks."""
    form = await request.form()
    values: dict[str, Any] = {name: str(form.get(name, "")).strip() for name in ("name", "sentence", "alerts")}
    values |= {name: split_words(str(form.get(name, ""))) for name in _LINE_FIELDS}
    return values | {name: [str(value) for value in form.getlist(name)] for name in _TICK_FIELDS}


TopicValues = Annotated[dict[str, Any], Depends(_read_values)]


def split_words(text: str) -> list[str]:
    """Return the words of a field: one per line, or comma-separated of either script; a phrase may have spaces."""
    for sign in ",，、;；\r":
        text = text.replace(sign, "\n")
    return [word for line in text.split("\n") if (word := sanitize_text(line).strip())]


@router.get("")
async def topics(app: AppDep, renderer: Renderer, principal: Reader) -> Response:
    return renderer.render("topics/list.html", topics=await app.topics.list(by=principal))


@router.get("/new")
async def new(app: AppDep, renderer: Renderer, _: Editor) -> Response:
    return await _render_form(app, renderer, TopicForm.model_construct(name="").model_dump())


@router.post("")
async def create(
    app: AppDep, renderer: Renderer, principal: Editor, values: TopicValues, team: FormText = ""
) -> Response:
    try:
        team_id = await app.teams.resolve(team, principal)
        topic = await app.topics.create(parse_topic_form(values), team_id=team_id, by=principal)
    except UsageError as error:
        return await _render_form(app, renderer, values, error, team=team)
    return renderer.redirect(f"/topics/{topic.id}", notice="topic_added")


@router.get("/{topic_id}")
async def topic(
    app: AppDep,
    renderer: Renderer,
    principal: Reader,
    topic_id: TopicId,
    cursor: Annotated[str | None, Query(max_length=400)] = None,
) -> Response:
    shown = await app.topics.get(topic_id, by=principal)
    after = decode_cursor(cursor, dt.date, int)
    page = await app.topics.list_items(
        topic_id, limit=_PAGE_SIZE, after=None if after is None else (after[0], after[1])
    )
    deadlines, is_more = await app.deadlines.list_nearest(DeadlineQuery(topic=shown.name), _MAX_COUNTED)
    following = encode_cursor(*page.after) if page.after else None
    return renderer.render(
        "topics/show.html",
        topic=shown,
        feed=build_calendar_url(renderer, shown.calendar_key) if shown.calendar_key else None,
        page=page,
        is_first=cursor is None,
        next_url=build_next_url(f"/topics/{topic_id}", {}, following),
        deadlines=deadlines[:_MAX_DEADLINES],
        more_deadlines=0 if is_more else max(0, len(deadlines) - _MAX_DEADLINES),
    )


@router.get("/{topic_id}/edit")
async def show_form(app: AppDep, renderer: Renderer, principal: Editor, topic_id: TopicId) -> Response:
    shown = await app.topics.get(topic_id, by=principal)
    return await _render_form(app, renderer, _get_values(shown), topic_id=topic_id)


@router.post("/{topic_id}/edit")
async def edit(app: AppDep, renderer: Renderer, principal: Editor, topic_id: TopicId, values: TopicValues) -> Response:
    await app.topics.get(topic_id, by=principal)
    try:
        patch = TopicPatch.model_validate(parse_topic_form(values).model_dump())
        await app.topics.update(topic_id, patch, by=principal)
    except UsageError as error:
        return await _render_form(app, renderer, values, error, topic_id=topic_id)
    return renderer.redirect(f"/topics/{topic_id}", notice="saved")


@router.get("/{topic_id}/remove")
async def ask(app: AppDep, renderer: Renderer, principal: Editor, topic_id: TopicId) -> Response:
    return renderer.render("topics/remove.html", topic=await app.topics.get(topic_id, by=principal))


@router.post("/{topic_id}/remove")
async def remove(app: AppDep, renderer: Renderer, principal: Editor, topic_id: TopicId) -> Response:
    await app.topics.remove(topic_id, by=principal)
    return renderer.redirect("/topics", notice="topic_removed")


@router.post("/{topic_id}/follow")
async def follow(
    app: AppDep, renderer: Renderer, principal: Reader, topic_id: TopicId, back: FormText = ""
) -> Response:
    await app.topics.follow(topic_id, by=principal)
    return renderer.redirect(_choose_return_path(back, topic_id), notice="topic_followed")


@router.post("/{topic_id}/unfollow")
async def unfollow(
    app: AppDep, renderer: Renderer, principal: Reader, topic_id: TopicId, back: FormText = ""
) -> Response:
    await app.topics.unfollow(topic_id, by=principal)
    return renderer.redirect(_choose_return_path(back, topic_id), notice="topic_unfollowed")


@router.post("/{topic_id}/items/{item_id}")
async def mark(
    app: AppDep,
    renderer: Renderer,
    principal: Reader,
    topic_id: TopicId,
    item_id: ItemId,
    wish: FormText = "",
    back: FormText = "",
) -> Response:
    """Say that an item is one of the topic or not; anything but higher and lower takes that back."""
    chosen = RankDirection(wish) if wish in set(RankDirection) else None
    await app.topics.mark(topic_id, item_id, chosen, by=principal)
    notice = "topic_marked" if chosen else "feedback_taken_back"
    return renderer.redirect(_choose_return_path(back, topic_id), notice=notice)


def _choose_return_path(back: str, topic_id: int) -> str:
    return sanitize_redirect_path(back) if back else f"/topics/{topic_id}"


def _get_values(topic: TopicSchema) -> dict[str, Any]:
    return topic.model_dump(include=set(TopicForm.model_fields))


async def _render_form(
    app: App,
    renderer: PageRenderer,
    values: Mapping[str, Any],
    error: UsageError | None = None,
    *,
    topic_id: int | None = None,
    team: str = "",
) -> Response:
    """Show the form of a topic; what is wrong stands beside its field where it is of one."""
    field = str(error.message.args.get("field", "")) if error and error.message.code == "topic.bad_field" else ""
    return renderer.render(
        "topics/edit.html",
        status=400 if error else 200,
        topic_id=topic_id,
        team=team,
        values=values,
        errors={field: error.message} if error else {},
        sources=await app.store.items.list_source_names(),
        targets=await app.targets.list_names(),
        alert_options=[(alerts, get_word(renderer.language, "topic_alerts", alerts)) for alerts in TopicAlerts],
    )
