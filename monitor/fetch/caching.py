"""The HTTP cache: hishel's, over our transport. Only a client that has a cache folder imports it."""

import logging
import uuid
from pathlib import Path

import hishel
import httpx
from hishel.httpx import AsyncCacheTransport

from monitor.fetch.client import CachePolicy

CACHE_FILE = "http-2.db"
_CACHE_MAX_BYTES = 268_435_456
_CACHE_MAX_BODY_BYTES = 10_485_760
# Nobody reads an entry for longer than a page may take; an older one may be removed when room is needed.
_CACHE_SOFT_DELETE_TTL_S = 60.0


class CachingTransport(httpx.AsyncBaseTransport):
    """Stores the responses to requests that carry a `CachePolicy` in their extension `cache_policy`.

    Follows RFC 9111 as a browser's cache does. The folder holds one SQLite file, which outlives the process and may be
    shared by several; the least recently used entries go when it is full. The guard checks URLs before a request comes
    here, and limits of size apply to what leaves here: neither knows whether the network was used.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, folder: Path) -> None:
        # hishel logs what it cannot store, with a traceback; a cache that fails only costs time.
        logging.getLogger("hishel").addHandler(logging.NullHandler())
        self._inner = inner
        storage = _RevalidatableStorage(
            database_path=folder / CACHE_FILE,
            max_size=_CACHE_MAX_BYTES,
            max_stream_size=_CACHE_MAX_BODY_BYTES,
            soft_delete_ttl=_CACHE_SOFT_DELETE_TTL_S,
        )
        self._cache = AsyncCacheTransport(inner, storage=storage, rfc=hishel.CacheOptions(shared=False))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        policy = request.extensions.get("cache_policy")
        if policy is None:
            return await self._inner.handle_async_request(request)
        if policy is CachePolicy.REVALIDATE:
            request.headers["cache-control"] = "no-cache"
        return await self._cache.handle_async_request(request)

    async def aclose(self) -> None:
        await self._cache.aclose()


class _RevalidatableStorage(hishel.AsyncSqliteStorage):
    """Stores no page that its site cannot confirm later, because it would only push out others."""

    async def create_entry(
        self,
        request: hishel.Request,
        response: hishel.Response,
        key: str,
        *,
        ttl: float | None = None,
        tti: float | None = None,
    ) -> hishel.Entry:
        has_validator = "etag" in response.headers or "last-modified" in response.headers
        if request.headers.get("cache-control") == "no-cache" and not has_validator:
            return hishel.Entry(id=uuid.uuid4(), request=request, response=response)
        return await super().create_entry(request, response, key, ttl=ttl, tti=tti)
