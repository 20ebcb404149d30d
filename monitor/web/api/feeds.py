"""Feeds and calendars for other programs, their private addresses, and the keys of these.

Every feed stands under `/feeds`, for whoever signs in, and under `/feeds/private/{key}`, for readers that cannot.
"""

import asyncio
import datetime as dt
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from email.utils import format_datetime
from typing import Annotated, Any, Literal
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel, Field

from monitor.bootstrap import App
from monitor.briefing.render import build_item_feed, build_saved_briefings_feed
from monitor.db.tables.people import FeedKey
from monitor.db.visibility import set_eyes
from monitor.exports.atom import Feed, render_atom
from monitor.exports.json_feed import render_json_feed
from monitor.exports.opml import OPML_MEDIA_TYPE, OpmlOutline, render_opml
from monitor.i18n.catalogue import translate
from monitor.i18n.model import reader_language
from monitor.services.deadlines import CALENDAR_MEDIA_TYPE
from monitor.services.feed_keys import MAX_FEED_KEY_CHARS, MAX_FEED_KEY_LABEL_CHARS
from monitor.vocabulary import Role
from monitor.web.api.deadlines import DeadlineParameters
from monitor.web.api.items import ItemParameters, parse_view
from monitor.web.api.people import require_session
from monitor.web.auth import AppDep, Principal, Reader, load_principal, require_role
from monitor.web.middleware import Problem, get_app_path, get_client_address, is_tag_named, negotiate_language
from monitor.web.problems import PROBLEM_RESPONSES

_ATOM, _JSON_FEED = "application/atom+xml", "application/feed+json"
_WRITERS: dict[str, Callable[[Feed], bytes]] = {_ATOM: render_atom, _JSON_FEED: render_json_feed}
_HEADERS = {
    "Cache-Control": "private, no-cache",  # kept by who asked, and asked about each time
    "Vary": "Accept-Language, Authorization, Cookie",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}

Language = Annotated[Literal["zh", "en"] | None, Query(description="The language of our own words in it")]
_BriefingLimit = Annotated[int, Query(ge=1, le=50)]


class FeedParameters(ItemParameters):
    lang: Literal["zh", "en"] | None = Field(None, description="The language of our own words in it")
    limit: int = Field(100, ge=1, le=500)


async def _sign_in_by_key(
    app: AppDep, request: Request, key: Annotated[str, Path(max_length=MAX_FEED_KEY_CHARS)]
) -> None:
    """Read as the person whose key this is, and as no more than a reader; 404 for a key that is none."""
    person = await app.feed_keys.authenticate(key)
    language = negotiate_language(request, person.language)
    reader_language.set(language)
    teams = await app.teams.find_eyes(person)
    set_eyes(teams)
    request.state.principal = Principal(
        person.name,
        Role.READER,
        frozenset({"read"}),
        address=get_client_address(request),
        teams=teams,
        language=language,
    )


async def _get_principal(request: Request) -> Principal:
    principal = await load_principal(request)
    if principal is None:
        raise Problem(401, "sign_in.required")
    return principal


FeedReader = Annotated[Principal, Depends(_get_principal)]
"""Who reads a feed; the router has seen to it that they may."""

router = APIRouter(
    prefix="/feeds", tags=["feeds"], responses=PROBLEM_RESPONSES, dependencies=[Depends(require_role(Role.READER))]
)
private_router = APIRouter(
    prefix="/feeds/private/{key}", tags=["feeds"], responses=PROBLEM_RESPONSES, dependencies=[Depends(_sign_in_by_key)]
)
calendar_router = APIRouter(prefix="/feeds", tags=["feeds"], responses=PROBLEM_RESPONSES)
key_router = APIRouter(prefix="/api/v1/me/feed-keys", tags=["feeds"], responses=PROBLEM_RESPONSES)


def _describe_file(media_type: str, description: str) -> dict[str, Any]:
    return {
        "response_class": Response,
        "responses": {
            200: {"content": {media_type: {}}, "description": description},
            304: {"description": "What `If-None-Match` names is still the same"},
        },
    }


_ATOM_FILE = _describe_file(_ATOM, "An Atom feed")
_JSON_FILE = _describe_file(_JSON_FEED, "A JSON Feed")
_CALENDAR_FILE = _describe_file(CALENDAR_MEDIA_TYPE, "An iCalendar file")
_OPML_FILE = _describe_file(OPML_MEDIA_TYPE, "A list of feeds")


@private_router.get(
    "/items.atom", name="get_private_items_atom", summary="Items as a feed, by a private address", **_ATOM_FILE
)
@router.get("/items.atom", summary="Items as a feed", **_ATOM_FILE)
async def get_items_atom(
    app: AppDep, request: Request, reader: FeedReader, asked: Annotated[FeedParameters, Query()]
) -> Response:
    """The newest items that are meant, filtered as the list is."""
    return await _answer_feed(app, request, await _build_item_feed(app, reader, asked), _ATOM)


@private_router.get(
    "/items.json", name="get_private_items_json_feed", summary="Items as JSON Feed, by a private address", **_JSON_FILE
)
@router.get("/items.json", summary="Items as JSON Feed", **_JSON_FILE)
async def get_items_json_feed(
    app: AppDep, request: Request, reader: FeedReader, asked: Annotated[FeedParameters, Query()]
) -> Response:
    """The same entries under the same ids as the Atom feed."""
    return await _answer_feed(app, request, await _build_item_feed(app, reader, asked), _JSON_FEED)


@private_router.get(
    "/briefings.atom",
    name="get_private_briefings_atom",
    summary="Saved briefings as a feed, by a private address",
    **_ATOM_FILE,
)
@router.get("/briefings.atom", summary="Saved briefings as a feed", **_ATOM_FILE)
async def get_briefings_atom(
    app: AppDep, request: Request, reader: FeedReader, lang: Language = None, limit: _BriefingLimit = 20
) -> Response:
    """The newest saved briefings, an entry each; those that are archived are left out."""
    return await _answer_feed(app, request, await _build_briefing_feed(app, lang or reader.language, limit), _ATOM)


@private_router.get(
    "/briefings.json",
    name="get_private_briefings_json_feed",
    summary="Saved briefings as JSON Feed, by a private address",
    **_JSON_FILE,
)
@router.get("/briefings.json", summary="Saved briefings as JSON Feed", **_JSON_FILE)
async def get_briefings_json_feed(
    app: AppDep, request: Request, reader: FeedReader, lang: Language = None, limit: _BriefingLimit = 20
) -> Response:
    """The same entries under the same ids as the Atom feed."""
    return await _answer_feed(app, request, await _build_briefing_feed(app, lang or reader.language, limit), _JSON_FEED)


@private_router.get(
    "/deadlines.ics",
    name="get_private_deadlines_calendar",
    summary="Deadlines as a calendar, by a private address",
    **_CALENDAR_FILE,
)
@router.get("/deadlines.ics", summary="Deadlines as a calendar", **_CALENDAR_FILE)
async def get_deadlines_calendar(
    app: AppDep,
    request: Request,
    reader: FeedReader,
    asked: Annotated[DeadlineParameters, Query()],
    lang: Language = None,
) -> Response:
    """The deadlines that are meant, filtered as the list is; an event keeps its UID when its day moves."""
    body = await app.deadlines.build_calendar(asked.to_query(), language=lang or reader.language)
    return answer_if_changed(request, body, CALENDAR_MEDIA_TYPE)


@calendar_router.get("/deadlines/{key}.ics", summary="The calendar of a topic that somebody follows", **_CALENDAR_FILE)
async def get_topic_calendar(
    app: AppDep, request: Request, key: Annotated[str, Path(max_length=64)], lang: Language = None
) -> Response:
    """The deadlines of the items that fit the topic. The key is the sign-in: calendars know no other."""
    body = await app.deadlines.build_private_calendar(key, language=lang or negotiate_language(request))
    return answer_if_changed(request, body, CALENDAR_MEDIA_TYPE)


@private_router.get(
    "/all.opml", name="get_private_feeds_opml", summary="All feeds as OPML, by a private address", **_OPML_FILE
)
@router.get("/all.opml", summary="All feeds as OPML", **_OPML_FILE)
async def get_feeds_opml(app: AppDep, request: Request, reader: FeedReader, lang: Language = None) -> Response:
    """Items, briefings and deadlines, then a feed for each topic that you follow and each view that you saved.

    The addresses in it are of the kind of its own: a list that is read with a key names feeds with that key.
    """
    language = lang or reader.language
    root = build_public_url(app, request, get_app_path(request).removesuffix("/all.opml"))
    outlines = [
        OpmlOutline(title=feed.title, url=f"{root}/{feed.path}", is_feed=not feed.is_calendar)
        for feed in await list_feeds(app, reader, language)
    ]
    body = render_opml(f"Monitor · {translate(language, 'Feeds')}", outlines)
    return answer_if_changed(request, body, OPML_MEDIA_TYPE)


@dataclass(frozen=True, slots=True)
class FeedLink:
    """A feed that is of use to a person; `path` stands below `/feeds` or the private address."""

    title: str
    path: str
    is_calendar: bool = False


async def list_feeds(app: App, principal: Principal, language: str) -> list[FeedLink]:
    """Return what everybody can read, and the feeds of the topics and views of whoever asks."""
    followed = await app.topics.list_followed(by=principal)
    views = [(view.name, parse_view(view.filters)) for view in await app.marks.list_views(by=principal)]
    return [
        FeedLink(translate(language, "Items"), "items.atom"),
        FeedLink(translate(language, "Briefings"), "briefings.atom"),
        FeedLink(translate(language, "Deadlines"), "deadlines.ics", is_calendar=True),
        *(FeedLink(topic.name, f"items.atom?{urlencode({'topic': topic.id})}") for topic in followed),
        *(
            FeedLink(name, f"items.atom?{urlencode(view.list_active(), doseq=True)}")
            for name, view in views
            if view is not None
        ),
    ]


async def _build_item_feed(app: App, principal: Principal, asked: FeedParameters) -> Feed:
    found = await app.archive.list_items(asked.to_query(principal.owner), asked.limit)
    zone, home = ZoneInfo(app.settings.timezone), _get_home(app)
    feed = await asyncio.to_thread(build_item_feed, found, asked.lang or principal.language, zone)
    meant = urlencode(sorted(asked.list_active().items()), doseq=True)
    personal = principal.owner if asked.unread or asked.later or asked.starred else ""
    return replace(feed, name=f"items {home} {meant} {personal}", url=f"{home}/items" if home else None)


async def _build_briefing_feed(app: App, language: str, limit: int) -> Feed:
    kept = await app.drafts.list_newest(limit)
    return await asyncio.to_thread(build_saved_briefings_feed, kept, language, app.settings.web.public_url)


def _get_home(app: App) -> str:
    return (app.settings.web.public_url or "").rstrip("/")


def build_public_url(app: App, request: Request, path: str) -> str:
    """Return the whole address of a path of ours: below the public address where one is set."""
    return f"{_get_home(app) or f'{request.url.scheme}://{request.url.netloc}'}{path}"


async def _answer_feed(app: App, request: Request, feed: Feed, media_type: str) -> Response:
    query = f"?{request.url.query}" if request.url.query else ""
    own = replace(feed, self_url=build_public_url(app, request, f"{get_app_path(request)}{query}"))
    body = await asyncio.to_thread(_WRITERS[media_type], own)
    return answer_if_changed(request, body, media_type, changed_at=feed.updated if feed.entries else None)


def answer_if_changed(
    request: Request, body: bytes, media_type: str, *, changed_at: dt.datetime | None = None
) -> Response:
    """Answer 304 where the reader names what it would get again.

    `If-Modified-Since` alone is not honoured: an item that fits a topic since today may be of last week, and a reader
    that only asks by time would never get it.
    """
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {**_HEADERS, "ETag": tag}
    if changed_at is not None:
        headers["Last-Modified"] = format_datetime(changed_at.astimezone(dt.UTC), usegmt=True)
    if is_tag_named(tag, request.headers.get("if-none-match", "")):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=f"{media_type}; charset=utf-8", headers=headers)


class FeedKeyForm(BaseModel, extra="forbid", json_schema_extra={"examples": [{"label": "Miniflux"}]}):
    """Which reader a key is for."""

    label: str = Field(min_length=1, max_length=MAX_FEED_KEY_LABEL_CHARS)


class FeedKeySchema(BaseModel, from_attributes=True):
    """A key; its secret is not on record."""

    id: int
    label: str = Field(examples=["Miniflux"])
    created_at: dt.datetime
    last_used_at: dt.datetime | None


class FeedAddressSchema(BaseModel):
    title: str = Field(examples=["Items"])
    url: str


class NewFeedKeySchema(FeedKeySchema):
    """A new key with its addresses, which are shown this once; `opml` lists the feeds."""

    opml: str
    feeds: list[FeedAddressSchema]


class FeedKeyListSchema(BaseModel):
    """Your keys, newest first; at most 20, so the list is whole."""

    feed_keys: list[FeedKeySchema]
    next: None = None


@key_router.get("", summary="List the keys of your private feeds")
async def list_feed_keys(app: AppDep, principal: Reader) -> FeedKeyListSchema:
    """Newest first. Only for people: a program reads feeds with its token."""
    require_session(principal)
    return FeedKeyListSchema(feed_keys=_build_schemas(await app.feed_keys.list(by=principal)))


@key_router.post("", summary="Make private addresses of your feeds", status_code=201)
async def create_feed_key(app: AppDep, principal: Reader, request: Request, wanted: FeedKeyForm) -> NewFeedKeySchema:
    """Whoever has such an address reads the feed as you do, without an account, until the key is revoked."""
    require_session(principal)
    return await make_feed_key(app, request, principal, wanted.label)


@key_router.delete("/{key_id}", summary="Revoke a key of your private feeds", status_code=204)
async def revoke_feed_key(app: AppDep, principal: Reader, key_id: Annotated[int, Path(ge=1, le=2**31 - 1)]) -> None:
    """Its addresses answer 404 from then on."""
    require_session(principal)
    await app.feed_keys.revoke(key_id, by=principal)


async def make_feed_key(app: App, request: Request, principal: Principal, label: str) -> NewFeedKeySchema:
    """Make a key for whoever asks, with the addresses that it opens."""
    key, token = await app.feed_keys.create(label, by=principal)
    root = build_public_url(app, request, f"/feeds/private/{token}")
    feeds = await list_feeds(app, principal, principal.language)
    return NewFeedKeySchema(
        **FeedKeySchema.model_validate(key).model_dump(),
        opml=f"{root}/all.opml",
        feeds=[FeedAddressSchema(title=feed.title, url=f"{root}/{feed.path}") for feed in feeds],
    )


def _build_schemas(keys: Sequence[FeedKey]) -> list[FeedKeySchema]:
    return [FeedKeySchema.model_validate(key) for key in keys]
