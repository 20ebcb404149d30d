"""The tools web.search and web.fetch, called by name with JSON arguments; each always answers with one shape.

`python -m monitor.search.tools web-search-input` prints the JSON Schema of an input or output.
"""

import datetime as dt
import json
import sys
import uuid
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from monitor.i18n.message import Message
from monitor.i18n.model import LANGUAGE
from monitor.page import Page, PageErrorCode
from monitor.pages.loader import PageLoader
from monitor.search.contract import (
    MAX_RESULTS,
    SEARCH_TOOL_NAME,
    MessageText,
    ProviderMeta,
    SearchErrorCode,
    SearchFailed,
    SearchInput,
    ToolResult,
    WebSearch,
    parse_input,
)
from monitor.search.responses import build_failure
from monitor.vocabulary import DateSource


@dataclass(frozen=True)
class SearchTool:
    search: WebSearch
    default_results: int = MAX_RESULTS

    async def call(self, tool: str, arguments: Any) -> ToolResult:
        """Answer a call; a wrong name or wrong arguments are errors of the answer."""
        try:
            if tool != SEARCH_TOOL_NAME:
                raise build_failure(
                    SearchErrorCode.TOOL_NOT_FOUND, "search.no_such_tool", tool=tool[:100], known=SEARCH_TOOL_NAME
                )
            given = parse_input(arguments)
        except SearchFailed as failed:
            return build_refusal(failed)
        return await self.search.search(given.to_query(), given.max_results or self.default_results)


def build_refusal(failed: SearchFailed) -> ToolResult:
    """Return the answer to a call that asked no backend."""
    meta = ProviderMeta(provider_name=SEARCH_TOOL_NAME, latency_ms=0, request_id=uuid.uuid4().hex)
    return ToolResult(items=[], provider_meta=meta, errors=[failed.error])


FETCH_TOOL_NAME = "web.fetch"
_TRANSIENT_CODES = (PageErrorCode.TIMEOUT, PageErrorCode.NETWORK, PageErrorCode.BAD_GATEWAY)
_RATE_LIMITED = "http_429"


class FetchInput(BaseModel):
    model_config = ConfigDict(extra="forbid")

    url: str = Field(min_length=1, max_length=8_000, strict=True)


class FetchToolError(BaseModel):
    """Why a page could not be read; `retryable` says whether another try may succeed."""

    type: PageErrorCode | Literal[SearchErrorCode.TOOL_NOT_FOUND]
    detail_code: str | None = None
    message: MessageText
    retryable: bool


class FetchToolResult(BaseModel):
    """The one shape of an answer: a page that could not be read has an error and no text.

    `final_url` is the address after redirects, which shows the real address of a result whose url leads over the
    search service. `date_source` says where `published_at` was found.
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

    def to_json(self, language: str = "en") -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_none=True, context={LANGUAGE: language})


@dataclass(frozen=True)
class WebFetchTool:
    """Fetches each page once, by its url or the one after redirects: the loader remembers both.

    So the loader must be that of one piece of work (`LoaderPool.for_run`).
    """

    loader: PageLoader

    async def call(self, tool: str, arguments: Any) -> FetchToolResult:
        """Answer a call; a wrong name, wrong arguments and failures to load the page are errors of the answer."""
        if tool != FETCH_TOOL_NAME:
            message = Message.of("search.no_such_tool", tool=tool[:100], known=FETCH_TOOL_NAME)
            return _build_refusal(SearchErrorCode.TOOL_NOT_FOUND, message)
        try:
            url = FetchInput.model_validate(arguments).url
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"]) or "input"
            message = Message.of("search.invalid_argument", name=name[:40], reason=first["msg"].rstrip("."))
            return _build_refusal(PageErrorCode.INVALID_URL, message)
        return FetchToolResult.from_page(await self.loader.load(url))


def _build_refusal(
    code: Literal[SearchErrorCode.TOOL_NOT_FOUND, PageErrorCode.INVALID_URL], message: Message
) -> FetchToolResult:
    return FetchToolResult(url="", final_url="", errors=[FetchToolError(type=code, message=message, retryable=False)])


def _list_errors(page: Page) -> list[FetchToolError]:
    if page.error is None:
        return []
    code, detail = page.error.code, page.error.detail_code
    retryable = code in _TRANSIENT_CODES or detail == _RATE_LIMITED
    return [FetchToolError(type=code, detail_code=detail, message=page.error.message, retryable=retryable)]


_SCHEMAS: dict[str, type[BaseModel]] = {
    "web-search-input": SearchInput,
    "web-search-output": ToolResult,
    "web-fetch-input": FetchInput,
    "web-fetch-output": FetchToolResult,
}


def render_tool_schema(name: str) -> str:
    """Return the JSON Schema of a tool's input or output, as docs/schemas keeps it."""
    schema = _SCHEMAS[name].model_json_schema(mode="serialization" if name.endswith("output") else "validation")
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(render_tool_schema(sys.argv[1]))
