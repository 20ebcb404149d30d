"""The API of web.search and web.fetch."""

import datetime as dt
import re
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse
from pydantic import AwareDatetime, BaseModel, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from monitor.i18n.model import reader_language
from monitor.page import PageErrorCode
from monitor.search.contract import ToolResult
from monitor.search.tools import FetchToolResult
from monitor.web.auth import SPENDING, AppDep, Reader
from monitor.web.problems import build_problem_responses

_REFUSED_ADDRESSES = (PageErrorCode.INVALID_URL, PageErrorCode.FORBIDDEN)


def _build_text_validator(form: str, example: str) -> BeforeValidator:
    """A text of this form only: a number, which could be seconds since 1970, is refused."""

    def check(given: Any) -> Any:
        if isinstance(given, int | float) or (isinstance(given, str) and not re.fullmatch(form, given)):
            raise PydanticCustomError("text.wrong_form", "wrong form", {"example": example})
        return given

    return BeforeValidator(check)


Day = Annotated[dt.date, _build_text_validator(r"\d{4}-\d\d-\d\d", "2026-02-03")]
"""A day in a url."""

Instant = Annotated[AwareDatetime, _build_text_validator(r"\d{4}-\d\d-\d\d[Tt ].+", "2026-02-03T08:00:00Z")]
"""An instant with its zone in a url."""


@dataclass(frozen=True, slots=True)
class SearchParameters:
    """The arguments of web.search in a url; `start` and `end` are a time range in days, both included.

    `backend` names those that are asked, with commas between.
    """

    query: str = ""
    max_results: str | None = None
    lang: str | None = None
    locale: str | None = None
    time_range: str | None = None
    start: str | None = None
    end: str | None = None
    site_filter: str | None = None
    need_summary: str | None = None
    trace_id: str | None = None
    budget_ms: str | None = None
    backend: str | None = None

    def to_arguments(self) -> dict[str, Any]:
        given = asdict(self)
        span = {name: day for name in ("start", "end") if (day := given.pop(name)) is not None}
        given["time_range"] = self.time_range or span or None
        for name in ("max_results", "budget_ms"):
            given[name] = _parse_number(given[name])
        given["need_summary"] = {"true": True, "false": False}.get(self.need_summary or "", self.need_summary)
        return {name: value for name, value in given.items() if value is not None and name != "backend"}


def _parse_number(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else text


class FetchRequest(BaseModel):
    url: str = Field(min_length=1, max_length=8000, examples=["https://www.nea.gov.cn/"])


router = APIRouter(prefix="/api/v1", tags=["search"], responses=build_problem_responses(401, 403, 422, 503))


@router.get(
    "/search",
    summary="Search the web",
    dependencies=[SPENDING],
    response_model=ToolResult,
    responses={code: {"model": ToolResult} for code in (400, 502)},
)
async def search_web(app: AppDep, asked: Annotated[SearchParameters, Depends()], _: Reader) -> JSONResponse:
    """web.search: 400 for a question that breaks its contract, 502 where no backend gave an answer."""
    found = await app.search.search(asked.to_arguments(), backend=asked.backend)
    status = 200 if found.items or not found.errors else 400 if found.is_refused else 502
    return JSONResponse(found.to_json(reader_language.get()), status_code=status)


@router.post(
    "/fetch",
    summary="Read a web page",
    dependencies=[SPENDING],
    response_model=FetchToolResult,
    # A body that is no JSON is refused before it is looked at.
    responses={400: {**build_problem_responses(400)[400], "model": FetchToolResult}, 502: {"model": FetchToolResult}},
)
async def fetch_page(app: AppDep, asked: FetchRequest, _: Reader) -> JSONResponse:
    """web.fetch: 400 for an address that is none or not allowed, 502 for a page that could not be read."""
    page = await app.search.fetch(asked.url)
    is_refused = any(error.type in _REFUSED_ADDRESSES for error in page.errors)
    status = 400 if is_refused else 502 if page.errors else 200
    return JSONResponse(page.to_json(reader_language.get()), status_code=status)
