"""Parses a saved page as if it had just come from its url."""

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any

from monitor.extract.parse import parse_page
from monitor.i18n.model import reader_language
from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool
from monitor.page import Page, PageError, PageErrorCode


async def parse_saved_page(body: bytes, *, url: str, fetched_at: dt.datetime, workers: WorkerPool) -> Page:
    """Return the page of these bytes; what is wrong with it is its `error`."""
    try:
        return await workers.run(_parse, body, url, fetched_at)
    except IsolatedWorkFailed as failure:
        return _build_unparsed_page(url, fetched_at, failure)


async def dump_saved_page(
    body: bytes, identity: Mapping[str, Any], *, url: str, fetched_at: dt.datetime, workers: WorkerPool
) -> str:
    """Return the page of these bytes as a JSON object on one line that begins with `identity`."""
    try:
        return await workers.run(_parse_and_dump, body, identity, url, fetched_at, reader_language.get())
    except IsolatedWorkFailed as failure:
        return dump_page(_build_unparsed_page(url, fetched_at, failure), identity)


def dump_page(page: Page, identity: Mapping[str, Any]) -> str:
    return json.dumps({**identity, **page.model_dump(mode="json")}, ensure_ascii=False)


def _parse(body: bytes, url: str, fetched_at: dt.datetime) -> Page:
    return parse_page(body, url=url, final_url=url, status=None, content_type=None, fetched_at=fetched_at)


def _parse_and_dump(body: bytes, identity: Mapping[str, Any], url: str, fetched_at: dt.datetime, language: str) -> str:
    reader_language.set(language)
    return dump_page(_parse(body, url, fetched_at), identity)


def _build_unparsed_page(url: str, fetched_at: dt.datetime, failure: IsolatedWorkFailed) -> Page:
    error = PageError(code=PageErrorCode.PARSE, message=failure.message)
    return Page(url=url, final_url=url, fetched_at=fetched_at, error=error)
