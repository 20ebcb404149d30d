"""What was fetched before, kept on disk: a page that did not change is asked about, and not carried again."""

import logging
import uuid
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import httpx
from hishel import AsyncSqliteStorage, CacheOptions, Entry, Request, Response
from hishel.httpx import AsyncCacheTransport

# The library refuses a file that another of its versions laid out, so the layout stands in the name.
FILE_NAME = "http-2.db"

MAX_BYTES = 268_435_456

MAX_BODY_BYTES = 10_485_760

# No other reader of an entry takes longer than a page may; what is older may go when room is needed.
_SOFT_DELETE_TTL_S = 60.0


class CachePolicy(StrEnum):
    """How an answer may be kept, and an older one used: `ASK` only after the site said that it still holds (304).

    `REUSE` takes an answer without asking while the site itself calls it fresh.
    """

    REVALIDATE = "ask"
    REUSE = "reuse"


class CachingTransport(httpx.AsyncBaseTransport):
    """Carries requests, and keeps the answers to those that name a `Keep` in their extension `keep`.

    It follows RFC 9111 as a browser's own cache does: what a site forbids to store is not stored, and an answer is
    used again as its `Keep` says. The folder holds one SQLite file, which
    outlives the process and may be shared by several; the least recently used goes when it would grow past
    `max_bytes`, and a body larger than `max_body_bytes` is not kept. Addresses are checked before a request comes
    here, and limits of size are applied to what leaves here: neither knows whether the wire was used.
    """

    def __init__(
        self,
        inner: httpx.AsyncBaseTransport,
        folder: Path,
        *,
        max_bytes: int = MAX_BYTES,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        # The library logs what it cannot store, with a traceback; a cache that fails costs only the saving.
        logging.getLogger("hishel").addHandler(logging.NullHandler())
        self._inner = inner
        storage = _RevalidatableStorage(
            database_path=folder / FILE_NAME,
            max_size=max_bytes,
            max_stream_size=max_body_bytes,
            soft_delete_ttl=_SOFT_DELETE_TTL_S,
        )
        self._cache_transport = AsyncCacheTransport(inner, storage=storage, rfc=CacheOptions(shared=False))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer, from the site or, where that may be, from the file."""
        keep = request.extensions.get("keep")
        if keep is None:
            return await self._inner.handle_async_request(request)
        if keep is CachePolicy.REVALIDATE:
            request.headers["cache-control"] = "no-cache"
        return await self._cache_transport.handle_async_request(request)

    async def aclose(self) -> None:
        """Closes the connections and the file."""
        await self._cache_transport.aclose()


def is_from_cache(extensions: Mapping[str, Any]) -> bool:
    """Whether an answer's body came from the file, asked about or not; `extensions` are the answer's."""
    status = extensions.get("caching")
    return isinstance(status, dict) and bool(status.get("from_cache"))


class _RevalidatableStorage(AsyncSqliteStorage):
    """Keeps no page that its site could not be asked about, because it would only push out others."""

    async def create_entry(
        self, request: Request, response: Response, key: str, *, ttl: float | None = None, tti: float | None = None
    ) -> Entry:
        has_validator = "etag" in response.headers or "last-modified" in response.headers
        if request.headers.get("cache-control") == "no-cache" and not has_validator:
            return Entry(id=uuid.uuid4(), request=request, response=response)
        return await super().create_entry(request, response, key, ttl=ttl, tti=tti)
