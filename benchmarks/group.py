"""What it costs to group a day's documents and to compose them: the command, with two sizes of a made-up day."""

import datetime as dt
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from sqlalchemy import insert
from sqlmodel import SQLModel

from monitor.db import migrate
from monitor.db.engines import DatabaseAddress, open_migration_engine
from monitor.db.tables.collection import Item, ItemPageText, Run, Source
from monitor.dedupe.clusters import DocumentCluster, cluster_items
from monitor.urls import url_key
from monitor.vocabulary import DateSource, ItemType, RunStatus, SummaryBy

_SOURCES = 200
_BATCH = 2000
_SYLLABLES = (
    "能源电力市场监管项目管理建设发展改革企业投资价格收费服务安全生产"
    "环境保护节约用水土地资源交通运输财政税务金融统计农业工业信息技术"
)
_PLACES = ("江城", "海州", "云山", "平湖", "青川", "石岭", "临河", "白沙", "东原", "南浦")
_WORDS = ("market", "carbon", "energy", "policy", "storage", "power", "grid", "price", "supply", "reserve", "tariff")
_TEXT_WORDS = 450


class GroupingFigures(BaseModel):
    """What one size of a day took, in seconds of processor time, and what became of its documents.

    `wrong` counts the groups of two documents, `found` is the share of copies that stand below their document.
    """

    items: int
    documents: int
    group_s: float
    brief_s: float
    seconds: float
    groups: int
    wrong: int
    found: float


@dataclass(frozen=True)
class SampleDocument:
    """An item of the day: `document` is the same for all places of one document."""

    number: int
    document: int
    title: str
    text: str
    source: int
    type: ItemType = ItemType.NOTICE
    document_number: str | None = None


def measure(items: int, *, today: dt.date, on_step: Callable[[str], None]) -> list[GroupingFigures]:
    """Return the figures of a day of so many items, and of one of twice as many."""
    figures = []
    for count in (items, 2 * items):
        on_step(f"making {count} items")
        samples = list(generate_day(count))
        with tempfile.TemporaryDirectory(prefix="monitor-bench-") as folder:
            _fill_database(f"sqlite:///{folder}/data/monitor.db", Path(folder), samples, today)
            on_step(f"grouping {count} items")
            clusters, group_s = _group(samples, today)
            on_step(f"composing {count} items")
            began = time.monotonic()
            brief_s = _write_briefing(Path(folder))
            seconds = time.monotonic() - began
            shown = json.loads((Path(folder) / "briefing.json").read_text(encoding="utf-8"))
        figures.append(_score(samples, clusters, shown, group_s=group_s, brief_s=brief_s, seconds=seconds))
    return figures


def _score(
    samples: Sequence[SampleDocument], clusters: Sequence[DocumentCluster], shown: dict[str, Any], **times: float
) -> GroupingFigures:
    document_of = {sample.number: sample.document for sample in samples}
    each = [*clusters, *(below for cluster in clusters for below in cluster.interpretations)]
    groups = [[document_of[item.id or 0] for item in cluster.items] for cluster in each]
    copies = len(samples) - len(set(document_of.values()))
    return GroupingFigures(
        items=len(samples),
        documents=len(set(document_of.values())),
        groups=len(shown["items"]) + len(shown["more"]),
        wrong=sum(len(set(group)) > 1 for group in groups),
        found=round(sum(len(group) - len(set(group)) for group in groups) / copies, 3),
        **{name: round(taken, 2) for name, taken in times.items()},
    )


def _group(samples: Sequence[SampleDocument], today: dt.date) -> tuple[list[DocumentCluster], float]:
    items = [Item(**_build_item(sample, today)) for sample in samples]
    texts = {sample.number: sample.text for sample in samples}
    began = time.process_time()
    return cluster_items(items, texts), time.process_time() - began


def _write_briefing(folder: Path) -> float:
    """Return the processor time of the command and of its workers."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONPATH": str(Path(__file__).parents[1])}
    words = [sys.executable, "-m", "monitor", "brief", "--days", "2", "--format", "json", "--out", "briefing.json"]
    subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def generate_day(count: int) -> Iterator[SampleDocument]:
    """Make up the items of a day.

    Of ten, three are documents with a number, three are copies of such with a portal's dress around them, one a form
    filled in, one a series that comes again, one explains a document, one is a release in English, told again by
    another.
    """
    chance = random.Random(11)  # noqa: S311 -- nothing is secret here
    words = ["".join(pair) for pair in permutations(_SYLLABLES, 2)]
    last: list[SampleDocument] = []
    for number in range(1, count + 1):
        kind = number % 10
        if kind in (0, 4, 7) or len(last) < 3:
            sample = _generate_notice(number, chance, words)
            last = [*last[-30:], sample]
        elif kind in (1, 5, 8):
            sample = _copy_notice(number, chance.choice(last), chance)
        elif kind == 2:
            sample = _fill_in_form(number, chance)
        elif kind == 3:
            sample = _generate_daily(number, chance, words)
        elif kind == 6:
            sample = _explain_notice(number, chance.choice(last), chance, words)
        else:
            sample = _generate_release(number, chance)
        yield sample


def _generate_prose(chance: random.Random, words: Sequence[str], count: int) -> str:
    signs = [chance.choice("，，，。；、") if place % 5 == 4 else "" for place in range(count)]
    return "".join(word + sign for word, sign in zip(chance.choices(words, k=count), signs, strict=True)) + "。"


def _generate_notice(number: int, chance: random.Random, words: Sequence[str]) -> SampleDocument:
    subject = "".join(chance.choices(words, k=4))
    text = f"各有关单位：\n为做好{subject}工作，现将有关事项通知如下。\n" + _generate_prose(chance, words, _TEXT_WORDS)
    return SampleDocument(
        number,
        number,
        title=f"{chance.choice(_PLACES)}市发展改革委关于{subject}有关事项的通知",
        text=text,
        source=number % _SOURCES,
        document_number=f"示发改〔2026〕{number}号",
    )


def _copy_notice(number: int, of: SampleDocument, chance: random.Random) -> SampleDocument:
    dress = chance.choice(("{}", "{}_通知公告_示例网", "【转载】{}", "{}（全文）"))
    before = chance.choice(("", "来源：示例网 浏览次数：12\n", "本网讯 "))
    return SampleDocument(
        number, of.document, title=dress.format(of.title), text=before + of.text, source=chance.randrange(_SOURCES)
    )


def _fill_in_form(number: int, chance: random.Random) -> SampleDocument:
    fine = chance.randrange(1000, 90_000)
    text = (
        f"行政处罚决定书文号：示监罚〔2026〕{number}号。当事人：{chance.choice(_PLACES)}第{number}商贸有限公司。"
        f"违法事实：当事人于2026年1月{number % 28 + 1}日销售不合格商品{number % 97}件。处罚内容：罚款{fine}元。"
        "当事人应当自收到本决定书之日起十五日内缴纳罚款，逾期不缴纳的，每日按罚款数额的百分之三加处罚款。"
    )
    return SampleDocument(number, number, title="行政处罚信息公示", text=text, source=number % 20)


def _generate_daily(number: int, chance: random.Random, words: Sequence[str]) -> SampleDocument:
    title = f"{chance.choice(_PLACES)}{words[number % 50]}价格日报（第{number}期）"
    prices = "".join(f"{word}每吨{chance.randrange(1000, 9000)}元，" for word in words[:60])
    return SampleDocument(number, number, title, f"今日价格：{prices}", number % _SOURCES, ItemType.DATA)


def _explain_notice(number: int, of: SampleDocument, chance: random.Random, words: Sequence[str]) -> SampleDocument:
    text = f"近日印发了{of.title}，现解读如下。" + _generate_prose(chance, words, _TEXT_WORDS // 2)
    return SampleDocument(
        number, number, f"《{of.title}》政策解读", text, chance.randrange(_SOURCES), ItemType.INTERPRETATION
    )


def _generate_release(number: int, chance: random.Random) -> SampleDocument:
    text = " ".join(chance.choices([*_WORDS, *map(str, range(100, 999))], k=_TEXT_WORDS // 2))
    title = f"Agency adopts rule {number} on {' '.join(chance.choices(_WORDS, k=3))}"
    return SampleDocument(number, number, title, f"The agency today said. {text}.", number % _SOURCES, ItemType.NEWS)


def _build_item(sample: SampleDocument, today: dt.date) -> dict[str, Any]:
    url = f"https://s{sample.source}.example.gov/{today:%Y%m}/{sample.number:x}.html"
    return {
        "id": sample.number,
        "source_id": sample.source + 1,
        "run_id": f"bench-{sample.source}",
        "source": _format_source_name(sample.source),
        "section": "通知公告",
        "url": url,
        "url_key": url_key(url),
        "title": sample.title,
        "day": today,
        "date": today,
        "date_source": DateSource.LISTED,
        "type": sample.type,
        "summary": sample.text[:200],
        "summary_by": SummaryBy.EXTRACT,
        "document_number": sample.document_number,
        "language": "zh",
        "first_seen": dt.datetime.combine(today, dt.time(), dt.UTC),
    }


def _format_source_name(number: int) -> str:
    return f"{_PLACES[number % len(_PLACES)]}市第{number}局"


def _fill_database(url: str, folder: Path, samples: Sequence[SampleDocument], today: dt.date) -> None:
    (folder / "data").mkdir()
    migrate.upgrade(url)
    at = dt.datetime.combine(today, dt.time(), dt.UTC)
    sources, runs = [], []
    for number in range(_SOURCES):
        name, home = _format_source_name(number), f"https://s{number}.example.gov/"
        sources.append(Source(id=number + 1, name=name, url=home, created_at=at))
        run_id = f"bench-{number}"
        run = Run(id=run_id, source_id=number + 1, source=name, status=RunStatus.SUCCEEDED, planned_at=at, ended_at=at)
        runs.append(run)
    items = [Item(**_build_item(sample, today)) for sample in samples]
    texts = [ItemPageText(item_id=sample.number, text=sample.text) for sample in samples]
    engine = open_migration_engine(DatabaseAddress.parse(url))
    rows: list[Sequence[SQLModel]] = [sources, runs, items, texts]
    try:
        for made in rows:
            for start in range(0, len(made), _BATCH):
                with engine.begin() as connection:
                    some = [row.model_dump() for row in made[start : start + _BATCH]]
                    connection.execute(insert(type(made[0])), some)
    finally:
        engine.dispose()
