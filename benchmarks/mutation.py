"""Which conditions of the parser do nothing: `make bench NAME=mutation`.

Each condition of the rooms of lists and articles (a test of `if`, `while` or a ternary, a part of `and` and `or`, a
comparison, a filter of a comprehension) is held true, then false, in a child process that reads labelled pages. A
function gets other code there; no file is touched.
"""

import ast
import csv
import datetime as dt
import functools
import hashlib
import importlib
import json
import multiprocessing
import signal
import types
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from selectolax.lexbor import LexborHTMLParser

from benchmarks.labelled_pages import ARTICLE, TODAY, LabelledPage, fold_url, read_corpus, read_fixtures
from benchmarks.metamorphic import choose_pages
from benchmarks.train_lists import compute_f1, is_named
from monitor.extract.encoding import decode
from monitor.extract.html import build_outline
from monitor.extract.lists.candidates import FoundLists, find_lists
from monitor.extract.lists.paging import find_next_page
from monitor.extract.parse import expand_data_stores, parse_page
from monitor.markup import limit_depth
from monitor.page import NO_HINTS, ExpectedPage, Page, PageHints

ROOMS = ("monitor/extract/lists", "monitor/extract/articles")
_MAX_FALLS = 3  # a mutant that costs this many pages dearly is not read on
_DEAR = 0.1
_TIMEOUT_S = 120


class Outcome(StrEnum):
    IDLE = "idle"
    ONE_SIDED = "one_sided"
    FREE = "free"
    NEEDED = "needed"


class Verdict(BaseModel):
    """What came of a condition, and of `held`, the constant that changed the least.

    `idle`: neither constant changes anything that is seen; `one_sided`: one of them does not; `free`: what it changes
    costs no figure; `needed`. `fall` is the mean fall of what a page is worth, from 0 to 1.
    """

    file: str
    line: int
    condition: str
    outcome: Outcome
    held: bool
    changed_pages: int
    fall: float


@dataclass(frozen=True)
class Premise:
    """A condition, its place in the file as `ast` counts it, and whether it may be held true."""

    file: str
    line: int
    column: int
    end: tuple[int, int]
    text: str
    may_hold: bool


@dataclass(frozen=True)
class _Sample:
    """A page with what a reading of it is worth, from 0 to 1."""

    id: str
    read: Callable[[], object]
    rate: Callable[[Any], float]


@dataclass(frozen=True)
class _Reading:
    seen: str
    worth: float


@dataclass(frozen=True)
class _Effect:
    changed: int
    fall: float


def measure(
    corpus: Path | None, *, sample: int | None, pages: int, on_step: Callable[[str], None] = lambda _: None
) -> Iterator[Verdict]:
    """Yield a verdict on every condition, or on `sample` of them, always the same; `pages` of each kind are read."""
    for room in ROOMS:
        conditions = [entry for file in sorted(Path(room).glob("*.py")) for entry in list_conditions(file)]
        if sample is not None:
            chosen = sorted(conditions, key=lambda entry: _hash(f"{entry.file}{entry.text}"))[: sample // len(ROOMS)]
            conditions = [entry for entry in conditions if entry in chosen]
        yield from measure_conditions(conditions, corpus, pages=pages, on_step=on_step)


def measure_conditions(
    conditions: Sequence[Premise], corpus: Path | None, *, pages: int, on_step: Callable[[str], None] = lambda _: None
) -> Iterator[Verdict]:
    """Yield a verdict on each of the conditions of one room."""
    is_list_room = conditions[0].file.startswith(ROOMS[0])
    samples = (_list_list_samples if is_list_room else _list_article_samples)(corpus, pages)
    before = [_read(found) for found in samples]
    for number, condition in enumerate(conditions, start=1):
        on_step(f"{condition.file}: {number} of {len(conditions)}")
        yield _judge(condition, samples, before)


def list_conditions(file: Path) -> list[Premise]:
    """Return the conditions in the functions of a module, each once, in the order of the file."""
    text = file.read_text("utf-8")
    found: dict[tuple[int, int, int, int], Premise] = {}
    for function in _list_functions(ast.parse(text)):
        for node, may_hold in _list_tests(function):
            place = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
            words = " ".join((ast.get_source_segment(text, node) or "").split())
            end = (node.end_lineno or 0, node.end_col_offset or 0)
            found.setdefault(place, Premise(str(file), node.lineno, node.col_offset, end, words, may_hold))
    return sorted(found.values(), key=lambda entry: (entry.line, entry.column))


def _list_functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _list_tests(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the conditions of a function, each with whether it may be held true: no loop that has no other end."""
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.IfExp):
            yield node.test, True
        elif isinstance(node, ast.While):
            yield node.test, False
        elif isinstance(node, ast.comprehension):
            yield from ((test, True) for test in node.ifs)
        elif isinstance(node, ast.BoolOp):
            yield from ((value, True) for value in node.values)
        elif isinstance(node, ast.Compare):
            yield node, True


def _judge(condition: Premise, samples: Sequence[_Sample], before: Sequence[_Reading]) -> Verdict:
    effects = {
        held: _run_in_child(functools.partial(_measure_effect, condition, held, samples, before))
        for held in (True, False)
        if not held or condition.may_hold
    }
    held, least = min(effects.items(), key=lambda entry: (entry[1].changed > 0, entry[1].fall))
    if not any(effect.changed for effect in effects.values()):
        outcome = Outcome.IDLE
    elif not least.changed:
        outcome = Outcome.ONE_SIDED
    else:
        outcome = Outcome.FREE if least.fall <= 0 else Outcome.NEEDED
    return Verdict(
        file=condition.file,
        line=condition.line,
        condition=condition.text,
        outcome=outcome,
        held=held,
        changed_pages=least.changed,
        fall=round(least.fall, 5),
    )


def _run_in_child(work: Callable[[], _Effect]) -> _Effect:
    """Return what the work returns in a forked child; one that dies or takes too long has changed everything."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def run() -> None:
        signal.alarm(_TIMEOUT_S)
        sender.send(work())

    child = context.Process(target=run, daemon=True)
    child.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(_TIMEOUT_S) else _Effect(1, 1.0)
    except EOFError:
        return _Effect(1, 1.0)
    finally:
        child.kill()
        child.join()
        receiver.close()


def _measure_effect(condition: Premise, held: bool, samples: Sequence[_Sample], before: Sequence[_Reading]) -> _Effect:
    install(condition, held)
    changed = dear = read = 0
    fall = 0.0
    for sample, known in zip(samples, before, strict=True):
        read += 1
        try:
            reading = _read(sample)
        except Exception:  # noqa: BLE001 (a mutant may fail in any way)
            reading = _Reading("", 0.0)
        changed += reading.seen != known.seen
        fall += known.worth - reading.worth
        dear += known.worth - reading.worth > _DEAR
        if dear >= _MAX_FALLS:
            break
    return _Effect(changed, fall / max(1, read))


def install(condition: Premise, held: bool) -> None:
    """Give the functions of the condition's module the code in which the condition is a constant, in this process."""
    name = condition.file.removesuffix(".py").replace("/", ".")
    module = importlib.import_module(name)
    tree = ast.parse(Path(condition.file).read_text("utf-8"))
    changed = _Holding(condition, held).visit(tree)
    code = compile(ast.fix_missing_locations(changed), condition.file, "exec")
    _replace_codes(module.__dict__, code, name)


class _Holding(ast.NodeTransformer):
    """Puts a constant in the place of one condition."""

    def __init__(self, condition: Premise, held: bool) -> None:
        self._condition = condition
        self._held = held

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr):
            known = self._condition
            start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
            if start == (known.line, known.column) and end == known.end:
                return ast.copy_location(ast.Constant(self._held), node)
        return self.generic_visit(node)


def _replace_codes(holder: Any, code: types.CodeType, module: str) -> None:
    """Replace the code of each function and method by that of its name; what it had cached is forgotten."""
    for inner in (constant for constant in code.co_consts if isinstance(constant, types.CodeType)):
        found = holder.get(inner.co_name)
        if isinstance(found, type) and found.__module__ == module:
            _replace_codes(found.__dict__, inner, module)
        elif (function := _unwrap(found)) is not None and function.__code__.co_freevars == inner.co_freevars:
            function.__code__ = inner
    for value in list(holder.values()):
        if callable(forget := getattr(value, "cache_clear", None)):
            forget()


def _unwrap(found: Any) -> types.FunctionType | None:
    """Return the function behind a property, a class method or a cache."""
    for name in ("fget", "func", "__func__", "__wrapped__"):
        found = getattr(found, name, None) or found
    return found if isinstance(found, types.FunctionType) else None


def _read(sample: _Sample) -> _Reading:
    found = sample.read()
    return _Reading(_hash(repr(found)), sample.rate(found))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _parse(page: LabelledPage) -> Page:
    at = dt.datetime.combine(page.today, dt.time(8), dt.UTC)
    return parse_page(page.body, url=page.url, final_url=page.url, status=200, content_type="text/html", fetched_at=at)


def _list_list_samples(corpus: Path | None, count: int) -> list[_Sample]:
    """Return lists, each read with nothing known of it and by its recipe, and articles, which have none."""
    fixtures = list(read_fixtures(Path("fixtures/pages")))
    pages = choose_pages(fixtures, count)
    articles = [page for page in fixtures if page.kind == ARTICLE][: count // 4]
    if corpus:
        known = list(read_corpus(corpus))
        pages += choose_pages(known, count)
        articles += [page for page in known if page.kind == ARTICLE][: count // 4]
    return [_build_list_sample(page) for page in pages + articles]


def _build_list_sample(page: LabelledPage) -> _Sample:
    text = limit_depth(expand_data_stores(decode(page.body, None)[0].replace("\x00", "")))
    tree = LexborHTMLParser(text)
    outline = build_outline(tree, page.url)
    hints = [NO_HINTS]
    if page.items:
        shown = PageHints(examples=(page.items[0]["url"], page.items[-1]["url"]))
        known = PageHints(expected=ExpectedPage.LIST, recipe=find_lists(outline, page.today, shown).recipe)
        hints += [shown, known]
    wanted = {fold_url(item["url"]): item for item in page.items}

    def read() -> tuple[list[FoundLists], str | None]:
        found = [find_lists(outline, page.today, hint) for hint in hints]
        return found, find_next_page(outline, tree, text)

    def rate(found: tuple[list[FoundLists], str | None]) -> float:
        return sum(_rate_list(entry.candidates, wanted, page) for entry in found[0]) / len(hints)

    return _Sample(page.id, read, rate)


def _rate_list(candidates: Sequence[Any], wanted: dict[str, dict[str, Any]], page: LabelledPage) -> float:
    if not wanted:
        return float(len(candidates) < 3)
    hits = [(found, wanted[url]) for found in candidates if (url := fold_url(found.url)) in wanted]
    titles = [named for found, item in hits if (named := is_named(found.title, item)) is not None]
    days = [str(found.date) == item["date"] for found, item in hits if item.get("date")]
    urls = {fold_url(found.url) for found in candidates}
    return (compute_f1(urls, wanted.keys(), page.others) + _share(titles) + _share(days)) / 3


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else 1.0


def _list_article_samples(corpus: Path | None, count: int) -> list[_Sample]:
    found = [*_read_article_fixtures(Path("fixtures/articles")), *(_read_articles(corpus) if corpus else ())]
    chosen = sorted(found, key=lambda entry: _hash(entry[0].id))[: count + count * bool(corpus)]
    return [_build_article_sample(page, gold) for page, gold in chosen]


def _read_article_fixtures(root: Path) -> Iterator[tuple[LabelledPage, dict[str, Any]]]:
    for file in sorted(root.glob("*/case.yaml")):
        about = yaml.safe_load(file.read_text("utf-8"))
        expected = json.loads((file.parent / "expected.json").read_text("utf-8"))
        gold = {"title": expected["title"], "date": expected["published_on"], "text": " ".join(expected["text_has"])}
        day = dt.datetime.fromisoformat(about["fetched_at"]).date()
        body = (file.parent / "input.html").read_bytes()
        yield LabelledPage(id=file.parent.name, kind=ARTICLE, url=about["url"], body=body, today=day), gold


def _read_articles(root: Path) -> Iterator[tuple[LabelledPage, dict[str, Any]]]:
    for row in csv.DictReader((root / "manifest.csv").read_text("utf-8").splitlines()):
        if row["kind"] == ARTICLE and row["gold"]:
            gold = json.loads((root / row["gold"]).read_text("utf-8"))
            body = (root / row["page"]).read_bytes()
            yield LabelledPage(id=row["id"], kind=ARTICLE, url=row["url"], body=body, today=TODAY), gold


def _build_article_sample(page: LabelledPage, gold: dict[str, Any]) -> _Sample:
    words = Counter(_split_words(gold.get("text") or ""))

    def rate(found: tuple[Any, ...]) -> float:
        title, day, _, text, *_ = found
        right = [_fold(title) == _fold(gold["title"])] if gold.get("title") else []
        right += [str(day) == gold["date"]] if gold.get("date") else []
        held = (Counter(_split_words(text)) & words).total() / words.total() if words else 1.0
        return (sum(map(float, right)) + held) / (len(right) + 1)

    return _Sample(page.id, lambda: _list_facts(_parse(page)), rate)


def _list_facts(page: Page) -> tuple[Any, ...]:
    return (
        *(page.title, page.published_on, page.date_source, page.text, page.issuer, page.document_number),
        *(page.language, page.site, tuple(page.lines), tuple(page.attachments)),
    )


def _split_words(text: str) -> list[str]:
    return text.split() if text.isascii() else list("".join(text.split()))


def _fold(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()
