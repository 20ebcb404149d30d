"""A model server on loopback that answers `/embeddings`: texts that speak of one subject get vectors that lie close."""

import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from monitor.demo.serving import HOST, LoopbackRequest, LoopbackResponse, serve_loopback

DIMENSIONS = 256
SUBJECTS = {
    "solar": ("光伏", "太阳能", "solar", "sunlight"),
    "carbon": ("碳市场", "碳排放", "carbon"),
    "people": ("任免", "任命", "appoint"),
    "water": ("河湖", "水资源", "water"),
}


def draw_direction(seed: str, dimensions: int = DIMENSIONS) -> list[float]:
    source = random.Random(seed)  # noqa: S311 -- the same for the same text, nothing more
    return [source.gauss(0, 1) for _ in range(dimensions)]


def embed(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A direction for each subject that the text speaks of, and a smaller one of its own."""
    found = [name for name, words in SUBJECTS.items() if any(word in text.lower() for word in words)]
    parts = [draw_direction(name, dimensions) for name in found]
    own = draw_direction(text, dimensions)
    return [sum(part[place] for part in parts) + 0.5 * own[place] for place in range(dimensions)]


@dataclass
class EmbeddingServer:
    """`requests` holds what it was asked; `failing` is the status that it answers with instead."""

    api_key: str = "a-key-for-vectors"
    max_batch: int = 10
    failing: int | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        async with serve_loopback(self._respond, methods=("POST",)) as port:
            yield f"http://{HOST}:{port}/v1"

    def _respond(self, request: LoopbackRequest) -> LoopbackResponse:
        body = json.loads(request.body)
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        if request.target.partition("?")[0] != "/v1/embeddings":
            return _write(404, {"error": {"message": "not here"}})
        if request.headers.get("authorization") != f"Bearer {self.api_key}":
            return _write(401, {"error": {"message": "wrong key", "code": "invalid_api_key"}})
        if self.failing is not None:
            return _write(self.failing, {"error": {"message": "out of order", "code": "overloaded"}})
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        if len(texts) > self.max_batch:
            text = f"Value error, batch size is invalid, it should not be larger than {self.max_batch}."
            return _write(400, {"error": {"message": text, "code": "InvalidParameter"}})
        size = body.get("dimensions") or DIMENSIONS
        data = [
            {"object": "embedding", "index": place, "embedding": embed(text, size)} for place, text in enumerate(texts)
        ]
        data.reverse()  # the place stands in `index`, whatever their order
        usage = {"prompt_tokens": sum(map(len, texts)), "total_tokens": sum(map(len, texts))}
        return _write(200, {"object": "list", "data": data, "model": body["model"], "usage": usage})


def _write(status: int, value: Any) -> LoopbackResponse:
    return LoopbackResponse(status, "application/json", json.dumps(value).encode())
