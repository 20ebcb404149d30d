"""How pages are made: templates, their language, and what they are sent with."""

import datetime as dt
import hashlib
import re
from functools import cached_property
from http import HTTPStatus
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import jinja2
from babel.dates import format_timedelta
from babel.numbers import format_decimal
from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup

from monitor import __version__
from monitor.ports import Clock
from monitor.settings import Settings
from monitor.web.language import LANGUAGES, language_of, text, text_of_number
from monitor.web.notices import NOTICES
from monitor.web.whereabouts import own_path, prefix_of
from monitor.web.words import word

if TYPE_CHECKING:
    from monitor.web.gate import Visitor

NOTICE_COOKIE = "monitor_notice"
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

# What turns the direction of writing would turn our own words behind it too; the others no HTML file can hold.
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Look:
    """Makes pages in either language; `prefix` is the path under which a proxy shows the service."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.prefix = prefix_of(settings.web.public_url)
        self.is_secure = (settings.web.public_url or "").startswith("https:")
        self._clock = clock
        self._zone = ZoneInfo(settings.timezone)
        self._environments = {language: self._environment(language) for language in LANGUAGES}

    def page(
        self,
        request: Request,
        visitor: "Visitor | None",
        template: str,
        *,
        section: str = "",
        status: int = HTTPStatus.OK,
        **context: Any,
    ) -> HTMLResponse:
        """A page; `section` is the entry of the navigation that it belongs to."""
        language = visitor.language if visitor else language_of(request, None)
        notice = NOTICES.get(request.cookies.get(NOTICE_COOKIE, ""))
        body = (
            self._environments[language]
            .get_template(template)
            .render(
                visitor=visitor,
                section=section,
                path=own_path(request),
                query=str(request.url.query),
                attention=getattr(request.state, "attention", 0),
                notice=text(language, notice) if notice else "",
                **context,
            )
        )
        page = HTMLResponse(_UNSEEN.sub("", body), status)
        page.headers["Content-Language"] = "zh-CN" if language == "zh" else "en"
        if notice:
            page.delete_cookie(NOTICE_COOKIE, path=self.prefix or "/")
        return page

    def back(self, path: str, *, notice: str | None = None) -> RedirectResponse:
        """To a page of ours after something was done; `notice` is a key of `notices.py`."""
        answer = RedirectResponse(self.href(path), status_code=HTTPStatus.SEE_OTHER)
        if notice is not None:
            if notice not in NOTICES:
                raise KeyError(notice)
            answer.set_cookie(
                NOTICE_COOKIE,
                notice,
                max_age=60,
                path=self.prefix or "/",
                secure=self.is_secure,
                httponly=True,
                samesite="lax",
            )
        return answer

    def href(self, path: str) -> str:
        """A path of ours as browsers reach it; an asset with the mark of its content, so that it can be kept."""
        if path.startswith("/static/"):
            return f"{self.prefix}{path}?v={self._marks.get(path.removeprefix('/static/'), __version__)}"
        return f"{self.prefix}{path}"

    def text(self, visitor: "Visitor | None", english: str) -> str:
        """A sentence in the visitor's language."""
        return text(visitor.language if visitor else LANGUAGES[0], english)

    @cached_property
    def _marks(self) -> dict[str, str]:
        assets = [path for path in files("monitor.web").joinpath("static").iterdir() if path.is_file()]
        return {asset.name: hashlib.sha256(asset.read_bytes()).hexdigest()[:12] for asset in assets}

    def _environment(self, language: str) -> jinja2.Environment:
        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("monitor.web"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.i18n"],
        )
        environment.install_gettext_callables(  # type: ignore[attr-defined]
            lambda english: text(language, english),
            lambda singular, plural, number: text_of_number(language, singular, plural, number),
            newstyle=True,
        )
        environment.globals.update(
            href=self.href,
            language=language,
            monitor_version=__version__,
            now=self._clock.now,
            word=lambda kind, value: word(language, kind, value),
        )
        environment.filters.update(
            day=_day,
            instant=self._instant,
            ago=lambda instant: self._ago(language, instant),
            number=lambda value: format_decimal(value, locale=language),
            host=_host,
        )
        return environment

    def _instant(self, instant: dt.datetime | None) -> Markup:
        if instant is None:
            return Markup("–")
        shown = instant.astimezone(self._zone).strftime("%Y-%m-%d %H:%M")
        return Markup('<time datetime="{}">{}</time>').format(instant.isoformat(), shown)

    def _ago(self, language: str, instant: dt.datetime | None) -> Markup:
        if instant is None:
            return Markup("–")
        told = format_timedelta(instant - self._clock.now(), add_direction=True, locale=language)
        exact = instant.astimezone(self._zone).strftime("%Y-%m-%d %H:%M")
        return Markup('<time datetime="{}" title="{}">{}</time>').format(instant.isoformat(), exact, told)


def _day(day: dt.date | None) -> Markup:
    return Markup("–") if day is None else Markup('<time datetime="{0}">{0}</time>').format(day.isoformat())


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
