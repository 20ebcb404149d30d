"""What it costs to keep a page as evidence, beside bare httpx with lexbor on the same pages in the same run.

Every approach fetches the same number of pages and parses them to a tree. The processor's time counts, of all threads:
waiting for the disk is not work, and other programs on the machine slow down seconds more than they do that.
"""

import asyncio
import datetime as dt
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from pydantic import BaseModel
from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import event
from sqlalchemy.engine import Engine

from benchmarks.page_site import start_bench_site
from monitor.clock import SystemClock
from monitor.config.model import NetworkSettings, PagesSettings
from monitor.db.database import Store
from monitor.db.tables.collection import Run, Source
from monitor.evidence.records import EvidenceArchive
from monitor.evidence.storage import FileStorage
from monitor.extract.encoding import decode
from monitor.fetch.client import HttpClient
from monitor.fetch.guard import Guard
from monitor.fetch.politeness import Politeness
from monitor.fetch.result import FetchResult
from monitor.vocabulary import FetchMode, RunStatus

_ROUNDS = 5
_FOLDERS = ("listed", "articles")

LoadPage = Callable[[str], Awaitable[None]]
ReportStep = Callable[[str], None]


class KeepCost(BaseModel):
    """What one approach costs a page; `ratio` is the part of the first one's speed, the median over the rounds.

    `transactions`, `files` and `bytes` are those of one page: of the database, in the folder of evidence, and both.
    """

    approach: str
    processor_ms: float
    ratio: float
    pages_per_s: float
    transactions: float
    files: float
    bytes: float


async def measure(today: dt.date, *, pages: int, at_once: int, on_step: ReportStep) -> list[KeepCost]:
    async with start_bench_site(today) as (bases, _):
        with tempfile.TemporaryDirectory(prefix="monitor-keep-") as folder:
            bench = _KeepBenchmark(bases[0], Path(folder), pages, at_once)
            return await bench.run(on_step)


class _KeepBenchmark:
    def __init__(self, base: str, folder: Path, pages: int, at_once: int) -> None:
        self._base = base
        self._folder = folder
        self._pages = pages
        self._at_once = at_once
        self._network = NetworkSettings(allowed_private_hosts=[base.removeprefix("http://")])
        self._clock = SystemClock()
        self._transactions = 0

    async def run(self, on_step: ReportStep) -> list[KeepCost]:
        event.listen(Engine, "commit", self._count_commit)
        try:
            async with (
                httpx.AsyncClient(trust_env=False) as bare,
                HttpClient(network=self._network, guard=Guard.from_settings(self._network)) as client,
                self._open_archive() as archive,
            ):

                async def by_httpx(url: str) -> None:
                    LexborHTMLParser((await bare.get(url)).content).css("a")

                approaches = {
                    "bare httpx + lexbor": by_httpx,
                    "ours: fetch + lexbor": self._build_fetch(client, None, is_new=False),
                    "ours: and kept as evidence": self._build_fetch(client, archive, is_new=True),
                    "ours: of bytes that are held": self._build_fetch(client, archive, is_new=False),
                }
                return await self._compare(approaches, on_step)
        finally:
            event.remove(Engine, "commit", self._count_commit)

    async def _compare(self, approaches: dict[str, LoadPage], on_step: ReportStep) -> list[KeepCost]:
        rounds: dict[str, list[_Round]] = {approach: [] for approach in approaches}
        for load in approaches.values():
            await self._measure_round(load)  # imports, connections, and bodies that are held from now on
        for number in range(_ROUNDS):
            for approach, load in approaches.items():
                on_step(f"round {number + 1} of {_ROUNDS}: {approach}")
                rounds[approach].append(await self._measure_round(load))
        bare = next(iter(rounds.values()))
        return [_summarise(approach, own, bare, self._pages) for approach, own in rounds.items()]

    async def _measure_round(self, load: LoadPage) -> "_Round":
        async def work(worker: int) -> None:
            for number in range(worker, self._pages, self._at_once):
                await load(f"{self._base}/{_FOLDERS[number % len(_FOLDERS)]}/{number}")

        files, held = self._measure_folder()
        transactions, began, started = self._transactions, time.process_time(), time.perf_counter()
        await asyncio.gather(*(work(worker) for worker in range(self._at_once)))
        processor_s, seconds = time.process_time() - began, time.perf_counter() - started
        files_after, held_after = self._measure_folder()
        return _Round(
            processor_s=processor_s,
            seconds=seconds,
            transactions=self._transactions - transactions,
            files=files_after - files,
            bytes=held_after - held,
        )

    def _build_fetch(self, client: HttpClient, archive: EvidenceArchive | None, *, is_new: bool) -> LoadPage:
        """Load a page's bytes as the product does, keep them, and parse them as the bare library does."""
        politeness = Politeness(client=client, pages=PagesSettings(delay_s=0, max_concurrency=self._at_once))
        recorder = None if archive is None else archive.create_recorder("run-1", attempt=1)
        count = 0

        async def get(url: str) -> None:
            nonlocal count
            count += 1
            async with politeness.acquire(url):
                response = await client.fetch(url)
            body = response.body + f"<!-- {count} -->".encode() if is_new else response.body
            if recorder is not None:
                result = FetchResult(
                    url=url,
                    mode=FetchMode.HTTP,
                    at=self._clock.now(),
                    final_url=response.final_url,
                    status=response.status,
                    headers=response.headers,
                    body=body,
                )
                await recorder.keep(result)
            LexborHTMLParser(decode(body, response.content_type)[0]).css("a")

        return get

    @asynccontextmanager
    async def _open_archive(self) -> AsyncIterator[EvidenceArchive]:
        async with Store.open(f"sqlite:///{self._folder / 'monitor.db'}") as store:
            await store.check()
            now = self._clock.now()
            source = await store.sources.add(Source(name="bench", url=self._base, created_at=now))
            run = Run(id="run-1", source_id=source.id, source="bench", planned_at=now, status=RunStatus.RUNNING)
            await store.runs.create(run)
            yield EvidenceArchive(store=store, storage=FileStorage(str(self._folder / "kept")))

    def _count_commit(self, _: object) -> None:
        self._transactions += 1

    def _measure_folder(self) -> tuple[int, int]:
        """How many files of evidence there are, and the bytes of them and of the database."""
        files = [file for file in self._folder.rglob("*") if file.is_file()]
        return sum(file.name.endswith(".gz") for file in files), sum(file.stat().st_size for file in files)


class _Round(BaseModel):
    processor_s: float
    seconds: float
    transactions: int
    files: int
    bytes: int


def _summarise(approach: str, own: Sequence[_Round], bare: Sequence[_Round], pages: int) -> KeepCost:
    return KeepCost(
        approach=approach,
        processor_ms=1000 * statistics.median(entry.processor_s for entry in own) / pages,
        ratio=statistics.median(other.processor_s / entry.processor_s for entry, other in zip(own, bare, strict=True)),
        pages_per_s=pages / min(entry.seconds for entry in own),
        transactions=statistics.median(entry.transactions for entry in own) / pages,
        files=statistics.median(entry.files for entry in own) / pages,
        bytes=statistics.median(entry.bytes for entry in own) / pages,
    )
