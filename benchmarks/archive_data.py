"""Fills an empty database with a large archive as fast as it takes it: past the desks, table by table."""

import datetime as dt
import itertools
import multiprocessing
import random
import string
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from sqlalchemy import Connection, Engine, insert
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import SQLModel

from monitor.db import migrate
from monitor.db.engines import DatabaseAddress, open_migration_engine
from monitor.db.fulltext_index import TITLE_PREFIX, append_marks, create_index, drop_index
from monitor.db.sessions import split_batches
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.terms import extract_terms
from monitor.urls import url_key
from monitor.vocabulary import DateSource, ItemType, RunStatus, SummaryBy

TEXT_CHARS = 1500

SOURCES = 1000

_PARAGRAPHS = 6000

_PARAGRAPH_CHARS = 150

_WORDS = 4000

_RARE_WORDS = 100_000

DAYS = 1500

_SUBJECTS = ("光伏", "风电", "储能", "碳市场", "电价", "氢能", "煤炭", "核电", "电网", "水利")

_CHARACTERS = (
    "能源电力市场监管项目管理办法通知公告印发实施意见方案规定标准建设发展改革委员会国家省市县区企业投资价格收费服务安全生产环境保护节约用水"
    "土地资源交通运输财政税务金融统计农业工业信息技术教育卫生社会保障人力就业住房城乡规划审批许可备案调查监督检查评估考核奖励处罚科学研究"
)

_SYLLABLES = ("ba", "con", "der", "en", "fi", "gas", "in", "ka", "li", "mar", "no", "per", "po", "ra", "sto", "tion")

_ENGLISH = ("market", "carbon", "energy", "policy", "notice", "storage", "power", "grid", "price", "the", "of", "and")

_SHARE_ENGLISH = 0.2

_SHARE_DATED = 0.9


@dataclass(frozen=True)
class SampleItem:
    """One item: what stands in its columns, its text, and all terms of both in a line."""

    number: int
    source: int
    section: str
    type: ItemType
    title: str
    day: dt.date
    has_date: bool
    first_seen: dt.datetime
    language: str
    document_number: str | None
    summary: str
    text: str
    terms: str


class SampleVocabulary:
    """The words and paragraphs that items are made of; of the rarest words, each item has one."""

    def __init__(self) -> None:
        chance = random.Random(7)  # noqa: S311 -- nothing is secret here
        pairs = ["".join(pair) for pair in itertools.permutations(_CHARACTERS, 2)]
        made = ["".join(chance.choices(_SYLLABLES, k=3)) for _ in range(2 * _WORDS)]
        self.chinese = [*_SUBJECTS, *chance.sample(list(dict.fromkeys(pairs)), _WORDS)]
        self.english = list(dict.fromkeys([*_ENGLISH, *made]))[:_WORDS]
        self.rare_chinese = ["".join(map(chr, chance.choices(range(0x5000, 0x9000), k=2))) for _ in range(_RARE_WORDS)]
        self.rare_english = ["".join(chance.choices(string.ascii_lowercase, k=9)) for _ in range(_RARE_WORDS)]
        self._chinese = [_generate_paragraph(chance, self.chinese, "", "，。", "一、") for _ in range(_PARAGRAPHS)]
        self._english = [_generate_paragraph(chance, self.english, " ", ";.", "注：") for _ in range(_PARAGRAPHS)]

    def pick_phrase(self, chance: random.Random, *, is_english: bool) -> str:
        """Five characters or two words as they stand side by side in some texts."""
        text, _ = chance.choice(self._english if is_english else self._chinese)
        if is_english:
            words = text[2:].split(";")[chance.randrange(3)].split()
            at = chance.randrange(4)
            return " ".join(words[at : at + 2])
        return text[2:].split("，")[chance.randrange(3)][chance.randrange(4) :][:5]

    def generate_items(self, numbers: range, *, today: dt.date, total: int, days: int) -> Iterator[SampleItem]:
        """The items of these numbers, of `total` in all: the higher the number, the later it was first seen."""
        return (self._generate_item(number, today, total, days) for number in numbers)

    def _generate_item(self, number: int, today: dt.date, total: int, days: int) -> SampleItem:
        chance = random.Random(number)  # noqa: S311 -- as above
        is_english = chance.random() < _SHARE_ENGLISH
        seen = today - dt.timedelta(days=days - 1 - number * days // total)
        day = seen - dt.timedelta(days=chance.choice((0, 0, 0, 0, 0, 1, 2, 30, 400)))
        title, last = self._generate_title(chance, number, is_english=is_english)
        stock = self._english if is_english else self._chinese
        paragraphs = [*chance.choices(stock, k=TEXT_CHARS // _PARAGRAPH_CHARS), (last, extract_terms(last))]
        in_title = extract_terms(title)
        terms = in_title.union(*(some for _, some in paragraphs), (TITLE_PREFIX + term for term in in_title))
        return SampleItem(
            number=number,
            source=number % SOURCES,
            section=f"栏目{number % 7}",
            type=chance.choice(list(ItemType)),
            title=title,
            day=day,
            has_date=day != seen or chance.random() < _SHARE_DATED,
            first_seen=dt.datetime.combine(seen, dt.time(8), dt.UTC),
            language="en" if is_english else "zh",
            document_number=f"示发〔{day.year}〕{number}号" if number % 5 == 0 else None,
            summary=paragraphs[0][0],
            text="\n".join(text for text, _ in paragraphs),
            terms=" ".join(terms),
        )

    def _generate_title(self, chance: random.Random, number: int, *, is_english: bool) -> tuple[str, str]:
        """The title of an item, and the last sentence of its text, which has a rare word."""
        if is_english:
            words = " ".join(_pick_words(chance, self.english, 3))
            return f"Notice {number} on {words}", f"另见 {chance.choice(self.rare_english)}."
        one, other = _pick_words(chance, self.chinese, 2)
        return f"关于{one}与{other}有关事项的通知（{number}）", f"另见{chance.choice(self.rare_chinese)}。"


def _generate_paragraph(
    chance: random.Random, words: Sequence[str], between: str, signs: str, text: str
) -> tuple[str, frozenset[str]]:
    """A paragraph that begins as given, so that no word of it stands beside one of the paragraph before."""
    while len(text) < _PARAGRAPH_CHARS - 1:
        text += between.join(_pick_words(chance, words, 6)) + signs[0]
    text = text[: _PARAGRAPH_CHARS - 1] + signs[1]
    return text, frozenset(extract_terms(text))


def _pick_words(chance: random.Random, words: Sequence[str], count: int) -> list[str]:
    return chance.choices(words, cum_weights=_compute_zipf_weights(len(words)), k=count)


@cache
def _compute_zipf_weights(count: int) -> list[float]:
    return list(itertools.accumulate(1 / rank for rank in range(1, count + 1)))


TAGS = 50

_BATCH = 2_000

_BATCHES_AT_ONCE = 8

_ITEMS_PER_RUN = 20

TableRows = tuple[type[SQLModel], list[dict[str, Any]]]


@dataclass(frozen=True)
class BulkRows:
    """Rows of a table as its driver takes them: values in the order of the columns."""

    table: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def fill_archive(url: str, items: int, *, today: dt.date, days: int = DAYS, workers: int = 2) -> None:
    """Migrate the database and put so many items into it, with their sources, runs, texts and index.

    The items were first seen over so many days, today the last.

    Rows go to the driver in bulk (on PostgreSQL by COPY), and the indexes of items are built when all are there.
    """
    migrate.upgrade(url)
    engine = open_migration_engine(DatabaseAddress.parse(url))
    ranges = [range(start, min(start + _BATCH, items)) for start in range(0, items, _BATCH)]
    runs = range(-(-items // SOURCES // _ITEMS_PER_RUN))
    indexes = sorted(SQLModel.metadata.tables["item"].indexes, key=lambda index: str(index.name))
    try:
        with engine.begin() as connection:
            drop_index(connection)
            for index in indexes:
                index.drop(connection)
            _insert_rows(connection, (Source, [_build_source(number, today) for number in range(SOURCES)]))
            for made in split_batches(_build_run(source, run, today) for source in range(SOURCES) for run in runs):
                _insert_rows(connection, (Run, made))
        build = partial(_build_rows, today=today, of=items, days=days, dialect=engine.dialect.name)
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as makers:
            for some in split_batches(ranges, _BATCHES_AT_ONCE):
                with engine.begin() as connection:
                    for tables in makers.map(build, some):
                        for rows in tables:
                            _write_rows(connection, rows)
        with engine.begin() as connection:
            _raise_memory_limit(connection)
            for index in indexes:
                index.create(connection)
            create_index(connection)
        _settle(engine)
    finally:
        engine.dispose()


def _settle(engine: Engine) -> None:
    """What a database does by and by: statistics and, on PostgreSQL, the map of pages that all can see."""
    if engine.dialect.name == "sqlite":
        with engine.begin() as connection:
            connection.exec_driver_sql("ANALYZE")
        return
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")


def _insert_rows(connection: Connection, *tables: TableRows) -> None:
    for table, rows in tables:
        connection.execute(insert(table), rows)


def _write_rows(connection: Connection, bulk: BulkRows) -> None:
    columns = ", ".join(f'"{name}"' for name in bulk.columns)
    cursor: Any = connection.connection.cursor()
    with closing(cursor):
        if connection.dialect.name == "sqlite":
            marks = ", ".join("?" for _ in bulk.columns)
            cursor.executemany(f'INSERT INTO "{bulk.table}" ({columns}) VALUES ({marks})', bulk.rows)  # noqa: S608
            return
        with cursor.copy(f'COPY "{bulk.table}" ({columns}) FROM STDIN') as copy:
            for row in bulk.rows:
                copy.write_row(row)


def _raise_memory_limit(connection: Connection) -> None:
    """Give the making of the index more memory than a database takes by itself."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA cache_size = -500000")
    else:
        connection.exec_driver_sql("SET LOCAL maintenance_work_mem = '2GB'")
        connection.exec_driver_sql("SET LOCAL max_parallel_maintenance_workers = 2")


def _build_source(number: int, today: dt.date) -> dict[str, Any]:
    created_at = dt.datetime.combine(today, dt.time(), dt.UTC) - dt.timedelta(days=2000)
    tags = [f"tag{number % TAGS}"]
    name, url = format_source_name(number), f"https://s{number}.example.gov/"
    return Source(id=number + 1, name=name, url=url, tags=tags, created_at=created_at).model_dump()


def format_source_name(number: int) -> str:
    """What a made-up source is called."""
    return f"示例部 {number:04d}"


def _build_run(source: int, run: int, today: dt.date) -> dict[str, Any]:
    at = dt.datetime.combine(today, dt.time(8), dt.UTC) - dt.timedelta(days=run)
    return Run(
        id=format_run_id(source, run),
        source_id=source + 1,
        source=format_source_name(source),
        status=RunStatus.SUCCEEDED,
        planned_at=at,
        started_at=at,
        ended_at=at,
    ).model_dump()


def format_run_id(source: int, run: int) -> str:
    return f"bench-{source}-{run}"


@cache
def _get_vocabulary() -> SampleVocabulary:
    return SampleVocabulary()


def _build_rows(numbers: range, *, today: dt.date, of: int, days: int, dialect: str) -> list[BulkRows]:
    """What is written of these items; in a process of its own."""
    samples = list(_get_vocabulary().generate_items(numbers, today=today, total=of, days=days))
    texts = [(sample.number + 1, sample.text) for sample in samples]
    lines = [(sample.number + 1, append_marks(sample.terms, sample.day, sample.source + 1)) for sample in samples]
    return [
        _bind_items([_build_item(sample) for sample in samples], dialect),
        BulkRows("item_text", ("item_id", "text"), texts),
        BulkRows("item_terms", ("item_id", "terms"), lines),
    ]


def _bind_items(items: list[dict[str, Any]], dialect: str) -> BulkRows:
    """The rows as the types of the columns write them."""
    speaks = {"sqlite": sqlite.dialect, "postgresql": postgresql.dialect}[dialect]()
    columns = SQLModel.metadata.tables["item"].columns
    processors = [(column.name, column.type.dialect_impl(speaks).bind_processor(speaks)) for column in columns]
    rows = [
        tuple(item[name] if process is None else process(item[name]) for name, process in processors) for item in items
    ]
    return BulkRows("item", tuple(column.name for column in columns), rows)


@cache
def _build_blank_item() -> dict[str, Any]:
    """The columns of which all items say the same."""
    noon = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
    return Item(run_id="", source="", section="", url="", url_key="", title="", first_seen=noon).model_dump()


def _build_item(sample: SampleItem) -> dict[str, Any]:
    url = f"https://s{sample.source}.example.gov/{sample.number}.html"
    return _build_blank_item() | {
        "id": sample.number + 1,
        "source_id": sample.source + 1,
        "run_id": format_run_id(sample.source, sample.number // SOURCES // _ITEMS_PER_RUN),
        "source": format_source_name(sample.source),
        "section": sample.section,
        "url": url,
        "url_key": url_key(url),
        "title": sample.title,
        "day": sample.day,
        "date": sample.day if sample.has_date else None,
        "date_source": DateSource.LISTED if sample.has_date else DateSource.UNKNOWN,
        "type": sample.type,
        "summary": sample.summary,
        "summary_by": SummaryBy.EXTRACT,
        "rank": sample.number % _ITEMS_PER_RUN + 1,
        "tier": sample.number % 5 + 1,
        "document_number": sample.document_number,
        "language": sample.language,
        "first_seen": sample.first_seen,
    }
