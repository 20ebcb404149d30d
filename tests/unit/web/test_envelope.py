"""What every request and answer goes through."""

from collections.abc import AsyncIterator

import httpx
from fastapi import FastAPI, Request

from monitor.web.middleware import MAX_BODY_BYTES, BodyLimitMiddleware, ResponseHeadersMiddleware


def client() -> httpx.AsyncClient:
    web = FastAPI()

    @web.post("/")
    async def take(request: Request) -> int:
        return len(await request.body())

    web.add_middleware(BodyLimitMiddleware)
    web.add_middleware(ResponseHeadersMiddleware, headers={"X-One": "ours"})
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=web), base_url="http://monitor.test")


async def in_pieces(size: int) -> AsyncIterator[bytes]:
    for _ in range(size // 65536 + 1):
        yield b"x" * 65536


async def test_a_body_that_is_too_long_is_refused_whether_it_says_so_or_not() -> None:
    async with client() as asked:
        told = await asked.post("/", content=b"x" * (MAX_BODY_BYTES + 1))
        untold = await asked.post("/", content=in_pieces(MAX_BODY_BYTES))
        assert (told.status_code, untold.status_code) == (413, 413)
        assert told.headers["content-type"] == "application/problem+json"
        assert untold.headers["x-one"] == "ours"


async def test_a_body_that_fits_is_taken_whole() -> None:
    async with client() as asked:
        assert (await asked.post("/", content=b"x" * MAX_BODY_BYTES)).json() == MAX_BODY_BYTES
