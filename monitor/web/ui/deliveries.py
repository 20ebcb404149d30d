"""The pages of deliveries: the log, what was sent, and the targets with a test."""

import asyncio
import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import ValidationError

from monitor.bootstrap import App
from monitor.briefing.compose import Briefing, BriefingItem
from monitor.briefing.layout import build_document, group_items_by_heading
from monitor.briefing.words import get_briefing_messages
from monitor.config.group import describe_error_detail
from monitor.config.targets import TargetSettings
from monitor.db.sessions import sanitize_text
from monitor.db.tables.delivery import DeliveryStatus
from monitor.errors import Conflict
from monitor.exports.document import Document, find_numeric_columns
from monitor.exports.registry import BRIEFING_FORMATS
from monitor.i18n.catalogue import render
from monitor.i18n.message import OTHER, Message
from monitor.services.deliveries import DeliverySchema, TargetForm
from monitor.services.settings import InvalidSettings
from monitor.vocabulary import ItemType
from monitor.web.api import cursors
from monitor.web.auth import Admin, Editor, Principal, Reader
from monitor.web.problems import Problem
from monitor.web.ui.rendering import TemplateRenderer

_ERROR_MESSAGES = (
    (r"The mail server (\S+) was not reached: (.*)\.", "连不上邮件服务器 {0}：{1}"),
    (r"The mail server answered (\d+): (.*)\.", "邮件服务器答复 {0}：{1}"),
    (r"The mail server refused (.*)\.", "邮件服务器拒收：{0}"),
    (r"The mail server broke off: (.*)\.", "邮件服务器中断了连接：{0}"),
    (r"The mail server cannot do what is asked of it: (.*)\.", "邮件服务器不支持所需的功能：{0}"),
    (r"The mail server offers no TLS.*", "邮件服务器不支持 TLS，未发送密码；请改用 smtps://"),
    (r"The receiver answered (\d+)(?:: (.*))?\.", "接收方答复 {0}：{1}"),
    (r"The chat service did not answer within (.*) s\.", "聊天服务在 {0} 秒内没有答复"),
    (r"The chat service was not reached: (.*)\.", "连不上聊天服务：{0}"),
    (r"The chat service refused it: (.*)\.", "聊天服务拒收：{0}"),
    (r"Apprise did not hand it over\.", "Apprise 未能送达"),
    (r"Apprise broke off without a word\.", "Apprise 中断，没有说明原因"),
    (r"Apprise cannot read the url of this target.*", "Apprise 读不懂这个目标的网址"),
    (r"The try broke off; the log says why\.", "发送中途中断，原因见日志"),
    (r"An unexpected (\w+); the log tells more\.", "意外错误 {0}，详情见日志"),
    (
        r"The target (\S+) needs the environment variable (\S+), which is not set\.",
        "目标 {0} 需要环境变量 {1}，尚未设置",
    ),
    (r"There is no target '(.*)' in deliver\.targets.*", "设置里已没有目标 {0}"),
    (r"The briefing of this delivery is gone.*", "这次投递的简报已不在，或由其他版本写成"),
    (r"The alarms were forgotten before they could be told\.", "告警在发送之前已被清除"),
)


def has_delivery_in_progress(deliveries: Sequence[DeliverySchema], now: dt.datetime) -> bool:
    """Whether one of them is being made at this moment, so that it is worth to look again."""
    return any(
        delivery.status is DeliveryStatus.QUEUED and delivery.next_try_at is not None and delivery.next_try_at <= now
        for delivery in deliveries
    )


def translate_delivery_error(error: Message | None, language: str) -> str:
    """Return a reason of the log in the language; one without a code as it stands, where no pattern knows it."""
    if error is None:
        return ""
    text = str(error.args.get("text", "")) if error.code == OTHER and language == "zh" else ""
    for pattern, words in _ERROR_MESSAGES if text else ():
        if found := re.fullmatch(pattern, text, re.DOTALL):
            return words.format(*(group or "" for group in found.groups())).removesuffix("：")
    return get_briefing_messages(language).translate(error)


@dataclass(frozen=True)
class BriefingView:
    """The document, and the items of it by the numbers under which they stand there."""

    briefing: Briefing
    document: Document
    items: dict[int, BriefingItem]

    numeric_columns = staticmethod(find_numeric_columns)


def build_briefing_view(briefing: Briefing) -> BriefingView:
    in_order = [item for part in group_items_by_heading(briefing).values() for item in part]
    return BriefingView(briefing, build_document(briefing), dict(enumerate(in_order, start=1)))


PAGE_SIZE = 50


def router(app: App, renderer: TemplateRenderer) -> APIRouter:
    routes = APIRouter()

    @routes.get("/deliveries")
    async def deliveries(
        request: Request, visitor: Reader, target: str = "", cursor: Annotated[str | None, Query()] = None
    ) -> HTMLResponse:
        rows = await app.deliveries.list(
            target=target or None, before=decode_delivery_cursor(cursor), limit=PAGE_SIZE + 1
        )
        last = rows[PAGE_SIZE - 1] if len(rows) > PAGE_SIZE else None
        following = (
            urlencode({"target": target, "cursor": encode_delivery_cursor(last.planned_at, last.id)}) if last else None
        )
        return renderer.render_page(
            request,
            visitor,
            "deliveries/list.html",
            section="briefings",
            rows=rows[:PAGE_SIZE],
            target=target,
            targets=[(name, name) for name in app.targets.list_names()],
            next_url=f"/deliveries?{following}" if following else None,
            said=lambda told: translate_delivery_error(told, visitor.language),
            follow_url=_build_follow_url(request) if has_delivery_in_progress(rows, app.clock.now()) else None,
        )

    @routes.get("/deliveries/{delivery_id}/briefing")
    async def sent(request: Request, visitor: Reader, delivery_id: str) -> HTMLResponse:
        briefing = await app.deliveries.get_sent_briefing(delivery_id)
        return await asyncio.to_thread(
            lambda: renderer.render_page(
                request,
                visitor,
                "deliveries/briefing.html",
                section="briefings",
                view=build_briefing_view(briefing),
                delivery_id=delivery_id,
            )
        )

    @routes.post("/deliveries/{delivery_id}/retry")
    async def retry(visitor: Editor, delivery_id: str) -> Response:
        delivery = await app.deliveries.retry(delivery_id, wait=False)
        await app.audit.record(visitor.name, "delivery.retry", delivery_id)
        return renderer.redirect("/deliveries", notice=_get_notice(delivery.status))

    @routes.get("/settings/targets")
    async def targets(request: Request, visitor: Admin) -> HTMLResponse:
        return renderer.render_page(
            request,
            visitor,
            "deliveries/targets.html",
            section="settings",
            rows=await app.targets.list(),
            said=lambda told: translate_delivery_error(told, visitor.language),
        )

    @routes.post("/settings/targets/{name}/test")
    async def test(visitor: Admin, name: str) -> Response:
        delivery = await app.deliveries.send_test(name)
        await app.audit.record(visitor.name, "target.test", name, status=str(delivery.status))
        is_sent = delivery.status is DeliveryStatus.SENT
        return renderer.redirect("/settings/targets", notice="test_sent" if is_sent else "test_failed")

    return routes


def _build_follow_url(request: Request) -> str:
    """The list itself, which a page asks for again while a delivery is being made."""
    return "/deliveries" + (f"?{request.url.query}" if request.url.query else "")


def decode_delivery_cursor(cursor: str | None) -> tuple[dt.datetime, str] | None:
    """The planned time and the id of the last delivery that was seen."""
    key = cursors.decode_cursor(cursor, str, str)
    if key is None:
        return None
    try:
        at = dt.datetime.fromisoformat(key[0]).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        raise Problem(400, "The cursor is none of ours: begin the list without one.") from None
    return at, sanitize_text(key[1])


def encode_delivery_cursor(planned_at: dt.datetime, delivery_id: str) -> str:
    return cursors.encode_cursor(planned_at.isoformat(), delivery_id)


def _get_notice(status: DeliveryStatus) -> str:
    return {DeliveryStatus.SENT: "delivery_sent", DeliveryStatus.FAILED: "delivery_failed"}.get(
        status, "delivery_queued"
    )


_LIST_FIELDS = ("to", "sources", "tags", "keywords")

_CHECKBOX_FIELDS = ("types", "formats")

_NUMBER_FIELDS = ("days", "top", "deadline_minutes")

_TEXT_FIELDS = ("url", "secret", "sender", "schedule", "timezone", "language", "quiet")


def target_router(app: App, renderer: TemplateRenderer) -> APIRouter:
    routes = APIRouter(prefix="/settings/targets")

    async def show(
        request: Request,
        visitor: Principal,
        target: TargetSettings | None,
        values: Mapping[str, Any],
        errors: Mapping[str, str],
    ) -> Response:
        return renderer.render_page(
            request,
            visitor,
            "settings/target.html",
            section="settings",
            target=target,
            values=values,
            errors=errors,
            types=list(ItemType),
            formats=list(BRIEFING_FORMATS),
            sources=[source.name for source in await app.store.sources.list()],
            status=HTTPStatus.BAD_REQUEST if errors else HTTPStatus.OK,
        )

    @routes.get("/new")
    async def new(request: Request, visitor: Admin) -> Response:
        return await show(request, visitor, None, {"name": "", **TargetForm().model_dump()}, {})

    @routes.post("")
    async def add(request: Request, visitor: Admin) -> Response:
        values = await _parse_values(request)
        name = str(values["name"])
        try:
            change = await app.target_editing.add(name, _build_form(values), by=visitor.name)
        except (InvalidSettings, Conflict) as error:
            return await show(request, visitor, None, values, _format_errors(error))
        await app.audit.record(visitor.name, "target.add", name, after=change.after)
        return renderer.redirect("/settings/targets", notice="target_saved")

    @routes.get("/{name}/edit")
    async def edit(request: Request, visitor: Admin, name: str) -> Response:
        """A target as it is, without its secrets."""
        target = app.target_editing.get(name)
        return await show(request, visitor, target, target.model_dump() | {"url": "", "secret": ""}, {})

    @routes.post("/{name}/edit")
    async def store(request: Request, visitor: Admin, name: str) -> Response:
        target, values = app.target_editing.get(name), await _parse_values(request)
        try:
            change = await app.target_editing.edit(name, _build_form(values), by=visitor.name)
        except InvalidSettings as refused:
            return await show(request, visitor, target, values, _format_errors(refused))
        await app.audit.record(visitor.name, "target.edit", name, before=change.before, after=change.after)
        return renderer.redirect("/settings/targets", notice="target_saved")

    @routes.post("/{name}/remove")
    async def remove(visitor: Admin, name: str) -> Response:
        """Remove a target; the page asks before."""
        change = await app.target_editing.remove(name, by=visitor.name)
        await app.audit.record(visitor.name, "target.remove", name, before=change.before)
        return renderer.redirect("/settings/targets", notice="target_removed")

    return routes


async def _parse_values(request: Request) -> dict[str, Any]:
    """What was typed, in the shapes of the form; what is no number stays as it is, to be refused with its reason."""
    form = await request.form()
    typed = {name: str(form.get(name, "")).strip() for name in ("name", *_TEXT_FIELDS, *_LIST_FIELDS, *_NUMBER_FIELDS)}
    values: dict[str, Any] = {name: typed[name] for name in ("name", *_TEXT_FIELDS)}
    for name in _LIST_FIELDS:
        parts = typed[name].replace("，", ",").replace("、", ",").replace("\r", "").replace("\n", ",").split(",")
        values[name] = [part.strip() for part in parts if part.strip()]
    for name in _CHECKBOX_FIELDS:
        values[name] = [str(one) for one in form.getlist(name)]
    for name in _NUMBER_FIELDS:
        values[name] = int(typed[name]) if typed[name].isdecimal() else typed[name]
    values["alarms"] = form.get("alarms") == "true"
    return values


def _build_form(values: Mapping[str, Any]) -> TargetForm:
    """The form; what was left empty has its default."""
    try:
        return TargetForm.model_validate(
            {name: value for name, value in values.items() if name != "name" and value != ""}
        )
    except ValidationError as error:
        raise InvalidSettings(
            {str(one["loc"][0]): render(describe_error_detail(one, shows_place=False), "en") for one in error.errors()}
        ) from None


def _format_errors(error: Exception) -> dict[str, str]:
    """The sentences by field; what is about the whole stands beside none of them."""
    if not isinstance(error, InvalidSettings):
        return {"name": str(error)}
    fields = {"name", *TargetForm.model_fields}
    return {field if field in fields else "": sentence for field, sentence in error.complaints.items()}
