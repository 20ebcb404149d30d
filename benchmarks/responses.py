"""What every page and list costs that a reader, an editor or an administrator can open, in a large archive."""

import json
import re
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from zoneinfo import ZoneInfo

import httpx
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel

from benchmarks.archive_data import format_run_id
from benchmarks.response_data import (
    DIMENSIONS,
    EMBEDDING_MODEL,
    QUESTION_ID,
    RESEARCH_ID,
    SECRET,
    build_share,
    fill_database,
)
from benchmarks.service import start_service_process
from monitor.bootstrap import open_app
from monitor.clock import SystemClock
from monitor.config.model import Settings
from monitor.db.migrate import upgrade
from monitor.db.queries.filters import ItemFilter
from monitor.demo.serving import HOST, LoopbackRequest, LoopbackResponse, serve_loopback
from monitor.errors import WorkFailed
from monitor.services.audit import COMMAND_LINE
from monitor.vocabulary import Role
from monitor.web.api.briefings import ComposeRequest, build_briefing_query
from monitor.web.app import create_web_app

DEFAULT_REPEATS = 20

_PASSWORD = "long enough for a benchmark"  # noqa: S105 -- of an archive that is thrown away
_PORT = 18_750
_LOWEST_FAULT = HTTPStatus.TOO_MANY_REQUESTS
_TODAY_BAR_MS, _SEARCH_BAR_MS, _PAGE_BAR_MS, _BAR_MS = 250, 300, 150, 1000
_NEEDS_MORE = re.compile(
    r"/events$|/(teach|recipes)\b|{(trial_id|addition_id|evaluation_id|index|note_index|number|webhook_id)}|^/sign-in$"
)
"""Streams that do not end, pages that load one of another site, and what such an archive has not."""

_BY_MEANING = "query=nothing-has-this-word&backend=archive"
"""What this finds was found by its vector."""

_ITEM_VIEWS = (
    "source=示例部 0001",
    "section=栏目1",
    "tag=tag7",
    "type=通知",
    "tier=1",
    "topic=专题1",
    "stage=final",
    "since={day}",
    "until={day}",
    "unread=true",
    "later=true",
    "starred=true",
    "changed=true",
    "late=true",
    "hidden=both",
    "language=en",
    "document_number=示发〔2026〕5号",
    "sort=importance",
    "sort=importance&unread=true",
    "q=储能",
    "q=储能&unread=true",
    "q=光伏 电价",
    "q=nothing-has-this-word",
)
_PARAMETERS = {
    "source_id": 1,
    "run_id": format_run_id(1, 0),
    "policy_id": 1,
    "topic_id": 1,
    "deadline_id": 2,
    "profile_id": 1,
    "delivery_id": "bench-0",
    "task_id": RESEARCH_ID,
    "question_id": QUESTION_ID,
    "body_id": "cn-mee",
    "name": "admin",
    "team": "组1",
    "code": "item.not_found",
    "operation_id": "list_items",
    "key": SECRET,
    "token": SECRET,
    "form": "md",
}
_NAMES = {
    "/api/v1/prompts": {"name": "navigate"},
    "/settings/prompts": {"name": "navigate"},
    "/settings/targets": {"name": "bench"},
    "/feeds/deadlines": {"key": "1-admin"},
}
"""What a parameter is under these paths."""

_VIEWS: dict[str, tuple[str, ...]] = {
    "/items": _ITEM_VIEWS,
    "/api/v1/items": _ITEM_VIEWS,
    "/search": ("q=储能", "q=示例部", "q=管理办法", "q=nothing-has-this-word", "q=储能&type=items"),
    "/api/v1/find": ("q=储能", "q=示例部", "q=管理办法"),
    "/api/v1/find/suggestions": ("q=储",),
    "/api/v1/search": (
        "query=储能&backend=archive",
        "query=储能&backend=archive&start=2026-11-01&end={day}",
        _BY_MEANING,
    ),
    "/sources": ("q=示例", "tag=tag7"),
    "/runs": ("status=failed", "source=示例部 0001"),
    "/policies": ("q=管理办法", "stage=final"),
    "/api/v1/policies": ("q=管理办法",),
    "/briefings/now": ("days=1",),
    "/health/blocks": ("days=1",),
    "/health/costs": ("days=1",),
    "/calendar": ("month={day:.7}",),
    "/research": ("q=储能",),
    "/audit": ("person=admin",),
}

_TODAY = ComposeRequest(days=1, language="zh")

ReportStep = Callable[[str], None]


class PageCost(BaseModel):
    """What the requests of a page took in ms; `cpu` is processor time of the service, all threads.

    `bar_ms` is what the 95th percentile of that time may be.
    """

    page: str
    role: str
    p50_ms: float
    p95_ms: float
    max_ms: float
    cpu_p50_ms: float
    cpu_p95_ms: float
    cpu_max_ms: float
    size_kb: float
    bar_ms: int

    @property
    def is_above_bar(self) -> bool:
        return self.cpu_p95_ms > self.bar_ms


class ResponseBenchmarkResult(BaseModel):
    """`not_found` are pages that a role may not open or that lack a parameter, with their status.

    `broken` are those over which the service failed, `not_asked` routes.
    """

    items: int
    database: str
    filled_in_s: float
    pages: list[PageCost]
    not_found: list[str]
    broken: list[str]
    not_asked: list[str]


async def measure(
    items: int,
    *,
    folder: Path | None,
    url: str | None,
    only: str,
    roles: Sequence[Role] = tuple(Role),
    repeats: int = DEFAULT_REPEATS,
    on_step: ReportStep,
) -> ResponseBenchmarkResult:
    """All figures; the archive in the folder, or at the url, is filled once."""
    with tempfile.TemporaryDirectory(prefix="monitor-bench-") as made:
        base = folder or Path(made)
        base.mkdir(parents=True, exist_ok=True)
        async with _serve_embeddings() as embeddings:
            settings = _configure(base, url, embeddings)
            on_step("filling")
            began = time.monotonic()
            await _fill(base, settings, items)
            filled_in_s = round(time.monotonic() - began, 1)
            paths, not_asked = await _list_paths(settings)
            paths = [path for path in paths if re.search(only, path)]
            pages: list[PageCost] = []
            failed: dict[bool, list[str]] = {True: [], False: []}
            async with start_service_process(base, "web") as pid:
                for role in roles:
                    async with _sign_in(role) as client:
                        for path in paths:
                            on_step(f"{role} {path}")
                            cost = await _measure_page(client, path, role, pid, repeats)
                            if isinstance(cost, PageCost):
                                pages.append(cost)
                            else:
                                failed[cost >= _LOWEST_FAULT].append(f"{cost} {role} {path}")
        return ResponseBenchmarkResult(
            items=items,
            database="postgresql" if url else "sqlite",
            filled_in_s=filled_in_s,
            pages=pages,
            not_found=failed[False],
            broken=failed[True],
            not_asked=not_asked,
        )


def _configure(folder: Path, url: str | None, embeddings: str) -> Settings:
    given = {
        "data_dir": str(folder),
        "database_url": url or f"sqlite:///{folder}/monitor.db",
        "timezone": "Asia/Shanghai",
        "web": {"port": _PORT},
        "work": {"scheduler": False},
        "deliver": {"targets": [{"name": "bench", "url": "https://hook.example.org/"}]},
        "llm": {"enabled": False, "embeddings": {"model": EMBEDDING_MODEL, "base_url": embeddings}},
    }
    (folder / "config.yaml").write_text(json.dumps(given))
    return Settings.model_validate(given)


@asynccontextmanager
async def _serve_embeddings() -> AsyncIterator[str]:
    """A server that has one vector for all texts, so that what is measured is our part."""
    vector = [((7 * place) % 13 - 6) / 13 for place in range(DIMENSIONS)]

    def respond(request: LoopbackRequest) -> LoopbackResponse:
        texts = json.loads(request.body)["input"]
        count = 1 if isinstance(texts, str) else len(texts)
        data = [{"index": place, "embedding": vector} for place in range(count)]
        return LoopbackResponse(200, "application/json", json.dumps({"data": data}).encode())

    async with serve_loopback(respond, methods=("POST",)) as port:
        yield f"http://{HOST}:{port}/v1"


async def _fill(folder: Path, settings: Settings, items: int) -> None:
    """Fill the archive where that was not done, and compose the briefing of the day, as somebody asked for it."""
    mark, now = folder / "filled", SystemClock().now()
    if not mark.exists():
        fill_database(settings.database_url, items, people=list(Role), now=now, zone=ZoneInfo(settings.timezone))
    upgrade(settings.database_url)
    async with open_app(settings) as app:
        today = await build_briefing_query(app, _TODAY, COMMAND_LINE)
        if not mark.exists():
            for role in Role:
                await app.people.set_password(role, _PASSWORD, by=COMMAND_LINE)
            draft = await app.drafts.save(today, by=COMMAND_LINE)
            await app.store.briefing_shares.add(build_share(draft.row.id, now))
        await app.kept_briefings.compose(today)
    mark.touch()


async def _list_paths(settings: Settings) -> tuple[list[str], list[str]]:
    """Every path that a GET route has in this archive, as it is and with filters; and the routes that have none."""
    today = SystemClock().now().astimezone(ZoneInfo(settings.timezone)).date()
    async with open_app(settings) as app:
        (newest,), (draft,) = await app.store.items.list(ItemFilter(), limit=1), await app.drafts.list(limit=1)
        found = {
            route.path or ""
            for route in iter_route_contexts(create_web_app(app).routes)
            if "GET" in (route.methods or ())
        }
        routes = sorted({re.sub(r":\w+}", "}", route) for route in found})
    values = _PARAMETERS | {"item_id": newest.id, "briefing_id": draft.id}
    asked = [route for route in routes if not _NEEDS_MORE.search(route)]
    paths = []
    for route in asked:
        names = next((names for prefix, names in _NAMES.items() if route.startswith(prefix)), {})
        path = route.format_map(values | names)
        paths += [path, *(f"{path}?{view.format(day=today)}" for view in _VIEWS.get(route, ()))]
    return paths, [route for route in routes if route not in asked]


@asynccontextmanager
async def _sign_in(role: Role) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Accept-Language": "zh"}
    async with httpx.AsyncClient(
        base_url=f"http://{HOST}:{_PORT}", headers=headers, timeout=120, trust_env=False
    ) as client:
        answer = await client.post("/sign-in", data={"name": role, "password": _PASSWORD})
        if answer.status_code != 303:
            raise WorkFailed(f"{role} could not sign in: {answer.status_code}")
        yield client


async def _measure_page(client: httpx.AsyncClient, path: str, role: Role, pid: int, repeats: int) -> PageCost | int:
    """Ask for a page; the status where that is not 200."""
    answer = await client.get(path)  # what is kept between requests is there from now on
    times, cpu_times = [], []
    for _ in range(repeats if answer.status_code == HTTPStatus.OK else 0):
        began, began_cpu = time.perf_counter(), _read_processor_ms(pid)
        answer = await client.get(path)
        times.append((time.perf_counter() - began) * 1000)
        cpu_times.append(_read_processor_ms(pid) - began_cpu)
        if answer.status_code != HTTPStatus.OK:
            break
    if answer.status_code != HTTPStatus.OK:
        return answer.status_code
    if path.endswith(_BY_MEANING) and not answer.json()["items"]:
        raise WorkFailed("The archive was not searched by vectors.")
    return PageCost(
        page=path,
        role=role,
        p50_ms=round(statistics.median(times), 1),
        p95_ms=round(_compute_p95(times), 1),
        max_ms=round(max(times), 1),
        cpu_p50_ms=round(statistics.median(cpu_times), 1),
        cpu_p95_ms=round(_compute_p95(cpu_times), 1),
        cpu_max_ms=round(max(cpu_times), 1),
        size_kb=round(len(answer.content) / 1000, 1),
        bar_ms=_get_bar(path, answer.headers["content-type"]),
    )


def _compute_p95(figures: Sequence[float]) -> float:
    return statistics.quantiles(figures, n=20, method="inclusive")[-1]


def _get_bar(path: str, content_type: str) -> int:
    """Files, lists and calendars of the API have the bar of every request."""
    if path == "/":
        return _TODAY_BAR_MS
    if "backend=archive" in path:
        return _SEARCH_BAR_MS
    return _PAGE_BAR_MS if content_type.startswith("text/html") else _BAR_MS


def _read_processor_ms(pid: int) -> float:
    """For how long the threads of a process that live have kept a processor busy."""
    return sum(int(file.read_text().split()[0]) for file in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e6
