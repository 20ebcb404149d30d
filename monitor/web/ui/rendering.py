"""Renders pages: templates in either language, notices after a redirect, and cacheable assets."""

import datetime as dt
import difflib
import hashlib
import re
from collections.abc import Container, Iterable, Sequence
from functools import cache, cached_property
from importlib.resources import files
from types import CodeType
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import jinja2
from babel.dates import format_timedelta
from babel.numbers import format_decimal
from fastapi import Depends, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from monitor import __version__
from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.exports.document import is_short
from monitor.i18n.catalogue import LANGUAGES, get_word, get_words, has_message, render, translate, translate_plural
from monitor.i18n.message import Message
from monitor.services.schedules import SchedulePattern, describe_schedule
from monitor.web.auth import Principal
from monitor.web.middleware import LANGUAGE_COOKIE, get_app_path, get_url_prefix, negotiate_language
from monitor.web.ui.reading import keep_days_whole, render_row, render_table_rows

_NOTICE_COOKIE = "monitor_notice"
_MAX_WORD_CHARS = 20
_YEAR_S = 365 * 86_400
# Characters that change the direction of writing would affect our own words too; HTML forbids the others.
_INVISIBLE_CHARS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class _CompiledTemplates(jinja2.BytecodeCache):
    """Keeps compiled templates for the next environment of this process."""

    def __init__(self) -> None:
        self._compiled: dict[str, tuple[str, CodeType | None]] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        checksum, code = self._compiled.get(bucket.key, ("", None))
        if checksum == bucket.checksum:
            bucket.code = code

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._compiled[bucket.key] = bucket.checksum, bucket.code


@cache
def _build_bytecode_caches() -> dict[str, _CompiledTemplates]:
    """Return one a language: the compiler applies filters to constants, and some speak that language."""
    return {language: _CompiledTemplates() for language in LANGUAGES}


class Templates:
    """The templates in each language; `prefix` is the path under which a proxy shows the service."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.prefix = get_url_prefix(settings.web.public_url)
        self.public_url = settings.web.public_url
        self.is_secure = (settings.web.public_url or "").startswith("https:")
        self._clock = clock
        self._zone = ZoneInfo(settings.timezone)
        self._environments = {language: self._build_environment(language) for language in LANGUAGES}

    def get_template(self, language: str, name: str) -> jinja2.Template:
        return self._environments[language].get_template(name)

    def get_today(self) -> dt.date:
        """Return the day that the service's clock shows."""
        return self._clock.now().astimezone(self._zone).date()

    def href(self, path: str) -> str:
        """Return a path as browsers reach it; an asset carries the hash of its content, so that it can be cached."""
        if path.startswith("/static/"):
            return f"{self.prefix}{path}?v={self._asset_hashes.get(path.removeprefix('/static/'), __version__)}"
        return f"{self.prefix}{path}"

    @cached_property
    def _asset_hashes(self) -> dict[str, str]:
        assets = [path for path in files("monitor.web.ui").joinpath("static").iterdir() if path.is_file()]
        return {asset.name: hashlib.sha256(asset.read_bytes()).hexdigest()[:12] for asset in assets}

    def _build_environment(self, language: str) -> jinja2.Environment:
        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("monitor.web.ui"),
            bytecode_cache=_build_bytecode_caches()[language],
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.i18n"],
        )
        environment.install_gettext_callables(  # type: ignore[attr-defined]
            lambda english: translate(language, english),
            lambda singular, plural, number: translate_plural(language, singular, plural, number),
            newstyle=True,
        )
        environment.globals.update(
            href=self.href,
            language=language,
            monitor_version=__version__,
            now=self._clock.now,
            options=_build_options,
            linked_row=render_row,
            table_rows=render_table_rows,
            same=lambda names: [(name, name) for name in names],
            get_today=self.get_today,
            word=lambda kind, value: get_word(language, kind, value),
            vocabulary=lambda kind: dict(get_words(language, kind)),
            # Text that was never a message, such as what a person wrote, stays as it is.
            say=lambda value: render(value, language) if isinstance(value, Message) else value or "",
        )
        environment.filters.update(
            day=_format_day,
            instant=self._format_instant,
            ago=lambda instant: self._format_relative_time(language, instant),
            number=lambda value: format_decimal(value, locale=language),
            host=_parse_host,
            truncate=_truncate,
            unbroken=keep_days_whole,
            pattern=SchedulePattern.parse,
            schedule=lambda cron, zone=None: render(describe_schedule(cron, zone), language),
        )
        environment.tests["short"] = is_short
        return environment

    def _format_instant(self, instant: dt.datetime | None) -> Markup:
        if instant is None:
            return Markup("–")
        shown = instant.astimezone(self._zone).strftime("%Y-%m-%d %H:%M")
        return Markup('<time datetime="{}">{}</time>').format(instant.isoformat(), shown)

    def _format_relative_time(self, language: str, instant: dt.datetime | None) -> Markup:
        if instant is None:
            return Markup("–")
        relative = format_timedelta(instant - self._clock.now(), add_direction=True, locale=language)
        exact = instant.astimezone(self._zone).strftime("%Y-%m-%d %H:%M")
        return Markup('<time datetime="{}" title="{}">{}</time>').format(instant.isoformat(), exact, relative)


class PageRenderer:
    """Answers one request: with a page in the reader's language, or with a redirect."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._templates: Templates = request.app.state.templates
        self.href = self._templates.href
        self._cookie_options: dict[str, Any] = {
            "path": self._templates.prefix or "/",
            "secure": self._templates.is_secure,
            "httponly": True,
        }

    @property
    def _principal(self) -> Principal | None:
        principal: Principal | None = getattr(self._request.state, "principal", None)
        return principal

    @property
    def language(self) -> str:
        return self._principal.language if self._principal else negotiate_language(self._request)

    def render(self, template: str, *, section: str | None = None, status: int = 200, **context: Any) -> HTMLResponse:
        """Render a page; `section` is its entry in the navigation, by default the template's folder."""
        notice = f"notice.{self._request.cookies.get(_NOTICE_COOKIE, '')}"
        has_notice = has_message(self.language, notice)
        body = self._templates.get_template(self.language, template).render(
            principal=self._principal,
            section=template.partition("/")[0] if section is None else section,
            path=get_app_path(self._request),
            query=str(self._request.url.query),
            attention=getattr(self._request.state, "attention", 0),
            team_names=getattr(self._request.state, "team_names", {}),
            notice=Message(notice) if has_notice else None,
            **context,
        )
        page = HTMLResponse(_INVISIBLE_CHARS.sub("", body), status)
        page.headers["Content-Language"] = "zh-CN" if self.language == "zh" else "en"
        if has_notice:
            self.delete_cookie(page, _NOTICE_COOKIE)
        return page

    def redirect(self, path: str, *, notice: str | None = None) -> RedirectResponse:
        """Redirect to a page of ours; `notice` names the message that it shows, `notice.<name>` of the catalogue."""
        response = RedirectResponse(self.href(path), status_code=303)
        if notice is not None:
            if not has_message("en", f"notice.{notice}"):
                raise KeyError(notice)
            self.set_cookie(response, _NOTICE_COOKIE, notice, max_age_s=60)
        return response

    def get_today(self) -> dt.date:
        return self._templates.get_today()

    def build_url(self, path: str) -> str:
        """Return the whole address of a path of ours, as a program outside needs it."""
        root = self._templates.public_url or f"{self._request.url.scheme}://{self._request.url.netloc}"
        return f"{root.rstrip('/')}{path}"

    def gettext(self, english: str) -> str:
        return translate(self.language, english)

    def set_cookie(self, response: Response, name: str, value: str, *, max_age_s: int) -> None:
        response.set_cookie(name, value, max_age=max_age_s, samesite="lax", **self._cookie_options)

    def delete_cookie(self, response: Response, name: str) -> None:
        response.delete_cookie(name, **self._cookie_options)


async def get_renderer(request: Request) -> PageRenderer:
    return PageRenderer(request)


def set_language(response: Response, renderer: PageRenderer, language: str | None) -> None:
    """Have the browser remember a language for the pages before sign-in, or forget it."""
    if language is None:
        renderer.delete_cookie(response, LANGUAGE_COOKIE)
    else:
        renderer.set_cookie(response, LANGUAGE_COOKIE, language, max_age_s=_YEAR_S)


Renderer = Annotated[PageRenderer, Depends(get_renderer)]
FormText = Annotated[str, Form()]
FormFlag = Annotated[bool, Form()]
FilterText = Annotated[str, Query(max_length=200)]


def _build_options(values: Iterable[tuple[object, str]], chosen: Container[object]) -> Markup:
    """Return the options of a field: of a thousand sources a macro would take ten times as long."""
    options = []
    for value, shown in values:
        selected = " selected" if value in chosen else ""
        options.append(f'<option value="{escape(value)}"{selected}>{escape(shown)}</option>')
    return Markup("".join(options))  # noqa: S704  each value is escaped


def _truncate(text: str, max_chars: int) -> str:
    """Cut a text to so many characters with an ellipsis, between words where it has words."""
    if len(text) <= max_chars:
        return text
    kept = text[: max_chars - 1]
    before, space, _ = kept.rpartition(" ")
    is_near = len(kept) - len(before) <= _MAX_WORD_CHARS
    return f"{(before if space and is_near else kept).rstrip(' ,;:，；：、（(')}…"


def _format_day(day: dt.date | None) -> Markup:
    return Markup("–") if day is None else Markup('<time datetime="{0}">{0}</time>').format(day.isoformat())


def _parse_host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


class DiffSegment(NamedTuple):
    """A piece of a changed text: it stayed (`same`), stood there before (`gone`) or stands there now (`new`)."""

    kind: str
    text: str


def diff_tokens(before: Sequence[str], after: Sequence[str]) -> list[DiffSegment]:
    segments: list[DiffSegment] = []
    for op, begin, end, first, last in difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if op == "equal":
            segments.append(DiffSegment("same", "".join(before[begin:end])))
        else:
            segments += [
                DiffSegment("gone", "".join(before[begin:end])),
                DiffSegment("new", "".join(after[first:last])),
            ]
    return [segment for segment in segments if segment.text]
