"""The tool web.fetch: one page by its url, read by the page loader, called like web.search.

`python -m monitor.search.fetching input|output` prints the JSON Schema of what goes in or comes out.
"""

import datetime as dt
import json
import sys
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from monitor.page import Page, PageErrorCode
from monitor.pages.loader import PageLoader
from monitor.search.contract import SearchErrorCode
from monitor.vocabulary import DateSource

FETCH_TOOL_NAME = "web.fetch"
_TRANSIENT_CODES = (PageErrorCode.TIMEOUT, PageErrorCode.NETWORK, PageErrorCode.BAD_GATEWAY)
_RATE_LIMITED = "http_429"


class FetchInput(BaseModel):
    model_config = ConfigDict(extra="forbid")

    url: str = Field(min_length=1, max_length=8_000, strict=True)


class FetchToolError(BaseModel):
    """Why a page could not be read; `retryable` says whether it may be there in a little while."""

    type: PageErrorCode | Literal[SearchErrorCode.TOOL_NOT_FOUND]
    detail_code: str | None = None
    message: str
    retryable: bool


class FetchToolResult(BaseModel):
    """The one shape of an answer: a page that could not be read has an error and no text.

    `final_url` is where redirects and signposts ended, so that a result of a search that leads over the search
    service shows its real address. `date_source` says where `published_at` was found.
    """

    url: str
    final_url: str
    title: str = ""
    text: str = ""
    published_at: dt.date | None = None
    date_source: DateSource = DateSource.UNKNOWN
    language: str | None = None
    content_type: str | None = None
    http_status: int | None = None
    fetched_at: dt.datetime | None = None
    errors: list[FetchToolError] = Field(default_factory=list)

    @classmethod
    def from_page(cls, page: Page) -> Self:
        """The answer that a page makes."""
        return cls(
            url=page.url,
            final_url=page.final_url,
            title=page.title,
            text=page.text,
            published_at=page.published_on,
            date_source=page.date_source,
            language=page.language,
            content_type=page.content_type,
            http_status=page.status,
            fetched_at=page.fetched_at,
            errors=_list_errors(page),
        )

    def to_json(self) -> dict[str, Any]:
        """As JSON: what is not known is left out."""
        return self.model_dump(mode="json", exclude_none=True)


class FetchTool:
    """web.fetch for whoever calls tools by name, within one piece of work.

    Each page is asked for once, whether it is named by the url that it was asked for under or by the one where that
    led: the loader remembers both, so it must be the loader of this work alone (`Loader.for_run`).
    """

    def __init__(self, loader: PageLoader) -> None:
        self._loader = loader

    async def call(self, tool: str, arguments: Any) -> FetchToolResult:
        """The answer to a call. A wrong name, wrong arguments and what goes wrong outside are errors of the answer."""
        if tool != FETCH_TOOL_NAME:
            message = f"There is no tool {tool[:100]!a} here, only {FETCH_TOOL_NAME}."
            return _build_refusal(SearchErrorCode.TOOL_NOT_FOUND, message)
        try:
            url = FetchInput.model_validate(arguments).url
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"]) or "input"
            return _build_refusal(PageErrorCode.INVALID_URL, f"{name[:40]!a} is wrong: {first['msg'].rstrip('.')}.")
        return FetchToolResult.from_page(await self._loader.load(url))


def render_fetch_schema(part: str) -> str:
    """What goes into the tool or comes out of it, as docs/schemas/web-fetch-input.json and -output.json keep it."""
    schema = (
        FetchInput.model_json_schema() if part == "input" else FetchToolResult.model_json_schema(mode="serialization")
    )
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _build_refusal(
    code: Literal[SearchErrorCode.TOOL_NOT_FOUND, PageErrorCode.INVALID_URL], message: str
) -> FetchToolResult:
    """The answer to a call that asked for no page."""
    return FetchToolResult(url="", final_url="", errors=[FetchToolError(type=code, message=message, retryable=False)])


def _list_errors(page: Page) -> list[FetchToolError]:
    if page.error is None:
        return []
    code, detail = page.error.code, page.error.detail_code
    retryable = code in _TRANSIENT_CODES or detail == _RATE_LIMITED
    return [FetchToolError(type=code, detail_code=detail, message=page.error.message, retryable=retryable)]


if __name__ == "__main__":
    sys.stdout.write(render_fetch_schema(sys.argv[1]))
