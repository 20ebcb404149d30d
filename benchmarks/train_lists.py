"""Trains the trees that choose a page's list and the titles of its rows, and says what they reach on sites unseen.

LightGBM is needed for training alone: `pip install lightgbm`. What is learned from is a page's groups of links, each
with the share (F1) of the labelled items that it holds, and the columns of the best group, each with how much of the
labelled titles it says. A page with many groups weighs little more than one with few. An article has no list, so all
its groups are wrong. Pages whose labels are partial teach nothing about choosing.
"""

import datetime as dt
import hashlib
import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from pydantic import BaseModel
from selectolax.lexbor import LexborHTMLParser

from benchmarks.extract import score_answers
from benchmarks.labelled_pages import ARTICLE, LIST, LabelledPage, fold_url, read_corpus
from benchmarks.page_changes import CHANGES
from benchmarks.trees import export_trees, write_trees
from monitor.errors import WorkFailed
from monitor.extract import trees
from monitor.extract.encoding import decode
from monitor.extract.html import Outline, build_outline
from monitor.extract.lists.candidates import find_lists
from monitor.extract.lists.choice import list_groups
from monitor.extract.lists.columns import list_columns, measure_columns
from monitor.extract.lists.features import GroupFeatures, RowGroup
from monitor.extract.parse import expand_data_stores, parse_page
from monitor.extract.trees import TreeScorer
from monitor.markup import limit_depth
from monitor.page import NO_HINTS, ExpectedPage, PageHints

FOLDS = 5
_LISTS = {"num_leaves": 16, "min_data_in_leaf": 15, "feature_fraction": 0.25, "rounds": 400}
_TITLES = {"num_leaves": 8, "min_data_in_leaf": 10, "feature_fraction": 0.6, "rounds": 120}
_SEED = 7
SEEDS = (7, 8, 9)
_WHOLE, _MIN_PART = 0.9, 0.2
_CHANGED_WEIGHT = 0.3
_FIXTURE_WEIGHT = 3.0  # each stands for a class of pages
_CHANGES = ("one_row", "dates_removed", "tables_to_divs", "dates_fr", "prose_added", "rows_wrapped")
_COMMON = {
    "objective": "cross_entropy",
    "learning_rate": 0.06,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 3,
    "verbose": -1,
    "num_threads": 1,  # of which a busy machine makes the most
    "deterministic": True,
}


_FIGURES = ("f1", "f1_expected", "f1_taught", "f1_taught_twice", "title", "article_lists")


class ListFigures(BaseModel):
    """What lists and titles reach on one set of pages.

    `f1` is that of a page of which nothing is known, `f1_expected` where a list is expected, `f1_taught` where one of
    the items is named, `f1_taught_twice` where two are.
    """

    name: str
    lists: int
    articles: int
    f1: float
    f1_expected: float
    f1_taught: float
    f1_taught_twice: float
    title: float
    article_lists: float


class ReadingFigures(BaseModel):
    """The figures of `score.py` that rest on lists, of pages of which nothing is known."""

    seed: int
    list_f1: float
    list_recall: float
    list_precision: float
    list_title: float
    list_date_exact: float
    list_date_wrong: float
    next_page: float
    article_lists: float


@dataclass
class _Examples:
    """What one page teaches."""

    is_article: bool = False
    is_changed: bool = False
    is_fixture: bool = False
    groups: list[dict[str, float]] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    columns: list[dict[str, float]] = field(default_factory=list)
    likeness: list[float] = field(default_factory=list)


def train(pages: Sequence[LabelledPage]) -> dict[str, Any]:
    """Train on the pages and write the weights; return what was exported, by name."""
    exported = _train([found for page in pages for found in _collect_examples(page)])
    for name, stored in exported.items():
        write_trees(stored, name)
    return exported


def cross_validate(sets: dict[str, list[LabelledPage]]) -> list[ListFigures]:
    """The figures of each set where no page of a site was trained on that is asked about."""
    answers: dict[str, list[dict[str, float]]] = {name: [] for name in sets}
    for fold, exported in _train_folds(_collect_all(sets), _SEED):
        with _use(exported):
            for name, pages in sets.items():
                answers[name] += [_answer(page) for page in pages if _get_fold(page) == fold]
    return [_summarise(name, found) for name, found in answers.items()]


def read_unseen(
    corpus: Path, sets: dict[str, list[LabelledPage]], *, seeds: Sequence[int] = SEEDS
) -> Iterator[ReadingFigures]:
    """Yield what the corpus's `score.py` says of its pages, each read whole by trees that know no page of its site."""
    examples = _collect_all(sets)
    pages = list(read_corpus(corpus))
    for seed in seeds:
        answers: list[dict[str, Any]] = []
        for fold, exported in _train_folds(examples, seed):
            with _use(exported):
                answers += [_read_whole(page) for page in pages if _get_fold(page) == fold]
        yield ReadingFigures(seed=seed, **score_answers(corpus, answers))


def _collect_all(sets: dict[str, list[LabelledPage]]) -> list[tuple[int, _Examples]]:
    """Return what all pages teach, with the fold of each."""
    pages = [page for found in sets.values() for page in found]
    return [(_get_fold(page), examples) for page in pages for examples in _collect_examples(page)]


def _train_folds(examples: Sequence[tuple[int, _Examples]], seed: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each fold with trees that know nothing of it."""
    for fold in range(FOLDS):
        yield fold, _train([found for other, found in examples if other != fold], seed)


def _read_whole(page: LabelledPage) -> dict[str, Any]:
    at = dt.datetime.combine(page.today, dt.time(), dt.UTC)
    seen = parse_page(page.body, url=page.url, final_url=page.url, status=None, content_type=None, fetched_at=at)
    return {**seen.model_dump(mode="json"), "id": page.id}


def measure(sets: dict[str, list[LabelledPage]]) -> list[ListFigures]:
    """The figures of each set with the weights as they are."""
    return [_summarise(name, [_answer(page) for page in pages]) for name, pages in sets.items()]


def _get_fold(page: LabelledPage) -> int:
    return _hash(page.site) % FOLDS


def _hash(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16)


def build_page_outline(page: LabelledPage) -> Outline:
    text = decode(page.body, None)[0].replace("\x00", "")
    return build_outline(LexborHTMLParser(limit_depth(expand_data_stores(text))), page.url)


def _collect_examples(page: LabelledPage) -> Iterator[_Examples]:
    """Yield what a page teaches, and less of it with each change that its list survives."""
    yield _measure_examples(page)
    if page.kind == LIST and page.is_scored:
        for name in _CHANGES:
            if (changed := CHANGES[name](page)) is not None:
                examples = _measure_examples(changed)
                yield _Examples(is_changed=True, groups=examples.groups, shares=examples.shares)


def _measure_examples(page: LabelledPage) -> _Examples:
    outline = build_page_outline(page)
    features = GroupFeatures(outline)
    groups = list_groups(outline, features)
    wanted = {fold_url(item["url"]): item for item in page.items}
    shares = [compute_f1({fold_url(row.url) for row in group.rows}, wanted.keys(), page.others) for group in groups]
    found = _Examples(is_article=page.kind == ARTICLE, is_fixture=page.id.startswith("fixture-"))
    if page.is_scored:
        features.complete(groups)
        found.groups, found.shares = [group.features for group in groups], _credit_parts(groups, shares, wanted.keys())
    if max(shares, default=0.0) > 0 and any(item.get("title") for item in page.items):
        rows = groups[shares.index(max(shares))].rows
        columns = list_columns(outline, rows)
        found.columns = measure_columns(rows, columns)
        labels = [wanted.get(fold_url(row.url)) for row in rows]
        found.likeness = [
            _mean_or_zero(
                [
                    max(map(_Likeness(text), _list_titles(item)))
                    for text, item in zip(column.texts, labels, strict=True)
                    if item and _list_titles(item)
                ]
            )
            for column in columns
        ]
    return found


def _credit_parts(groups: Sequence[RowGroup], shares: Sequence[float], wanted: Any) -> list[float]:
    """Return the shares, and 1 for each list without strays of a page whose items no single group holds."""
    if max(shares, default=0.0) > _WHOLE:
        return list(shares)
    urls = [{fold_url(row.url) for row in group.rows} for group in groups]
    least = max(2, _MIN_PART * len(wanted))
    return [1.0 if mine <= wanted and len(mine) >= least else share for mine, share in zip(urls, shares, strict=True)]


def _list_titles(item: dict[str, Any]) -> list[str]:
    return [title for title in (item.get("title"), item.get("anchor_text_in_page")) if title]


def is_named(title: str, item: dict[str, Any]) -> bool | None:
    """Whether a title says what an item is called; None where nobody labelled that."""
    titles = _list_titles(item)
    if not titles:
        return None
    return max(map(_Likeness(title), titles)) >= 0.6 or any(_fold(label) in _fold(title) for label in titles)


class _Likeness:
    """How much of a title a text says: 1 where they are equal, the shorter's part where one contains the other."""

    def __init__(self, text: str) -> None:
        self._text = _fold(text)

    def __call__(self, title: str) -> float:
        wanted = _fold(title)
        if not wanted or not self._text or not (wanted in self._text or self._text in wanted):
            return 0.0
        return min(len(wanted), len(self._text)) / max(len(wanted), len(self._text))


def _fold(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def compute_f1(got: set[str], wanted: Any, others: frozenset[str]) -> float:
    """Return how well folded urls agree with the wanted ones, from 0 to 1; `others` are neither right nor wrong."""
    counted = {url for url in got if url in wanted or url not in others}
    hits = len(counted & wanted)
    return 2 * hits / (len(counted) + len(wanted)) if hits else 0.0


def _train(examples: Sequence[_Examples], seed: int = _SEED) -> dict[str, Any]:
    columns = [(x.columns, x.likeness, 1.0) for x in examples if x.columns]
    as_saved = [example for example in examples if not example.is_changed]
    return {
        "lists": _fit(_compute_group_weights(examples, of_article=1.0), _LISTS, seed),
        "list_pages": _fit(_compute_group_weights(as_saved, of_article=3.0), _LISTS, seed),
        "list_titles": _fit(columns, _TITLES, seed),
    }


def _compute_group_weights(
    examples: Sequence[_Examples], *, of_article: float
) -> list[tuple[list[dict[str, float]], list[float], float]]:
    """Return the groups of each page with their shares and weight; those of an article are all wrong."""
    weights_of_groups = []
    for found in examples:
        weight = of_article if found.is_article else _CHANGED_WEIGHT if found.is_changed else 1.0
        weight *= _FIXTURE_WEIGHT if found.is_fixture else 1.0
        if found.groups:
            weights_of_groups.append((found.groups, found.shares, weight * len(found.groups) ** -0.5))
    return weights_of_groups


def _fit(
    examples: Sequence[tuple[list[dict[str, float]], list[float], float]], settings: dict[str, Any], seed: int
) -> dict[str, object]:
    """Return the exported trees of what was measured, the shares to learn and the weight of each page."""
    try:
        lightgbm, numpy = importlib.import_module("lightgbm"), importlib.import_module("numpy")
    except ImportError:
        raise WorkFailed("Training needs LightGBM, which the program itself does not: pip install lightgbm") from None
    names = list(examples[0][0][0])
    rows = numpy.array([[row[name] for name in names] for found, _, _ in examples for row in found])
    wanted = numpy.array([value for _, values, _ in examples for value in values])
    weights = numpy.array([weight for found, _, weight in examples for _ in found])
    data = lightgbm.Dataset(rows, wanted, weight=weights * len(weights) / weights.sum())
    parameters = {**_COMMON, "seed": seed, **{name: value for name, value in settings.items() if name != "rounds"}}
    return export_trees(lightgbm.train(parameters, data, settings["rounds"]), names)


@contextmanager
def _use(exported: dict[str, Any]) -> Iterator[None]:
    scorers = {name: TreeScorer.from_export(stored) for name, stored in exported.items()}
    before = trees.load_scorer
    trees.load_scorer = scorers.__getitem__  # type: ignore[assignment]
    try:
        yield
    finally:
        trees.load_scorer = before


def _answer(page: LabelledPage) -> dict[str, float]:
    outline = build_page_outline(page)
    if page.kind == ARTICLE:
        return {"article_lists": float(len(find_lists(outline, page.today).candidates) >= 3)}
    answer: dict[str, float] = {}
    wanted = {fold_url(item["url"]): item for item in page.items}
    found = find_lists(outline, page.today).candidates
    named = [
        is_right
        for candidate in found
        if (item := wanted.get(fold_url(candidate.url))) is not None
        and (is_right := is_named(candidate.title, item)) is not None
    ]
    if named:
        answer["title"] = _mean_or_zero(named)
    if page.is_scored:
        hints = {
            "f1": NO_HINTS,
            "f1_expected": PageHints(expected=ExpectedPage.LIST),
            "f1_taught": PageHints(examples=(page.items[len(page.items) // 2]["url"],)),
            "f1_taught_twice": PageHints(examples=(page.items[0]["url"], page.items[-1]["url"])),
        }
        for figure, known in hints.items():
            urls = {fold_url(candidate.url) for candidate in find_lists(outline, page.today, known).candidates}
            answer[figure] = compute_f1(urls, wanted.keys(), page.others)
    return answer


def _mean_or_zero(values: Sequence[float]) -> float:
    return mean(map(float, values)) if values else 0.0


def _summarise(name: str, answers: Sequence[dict[str, float]]) -> ListFigures:
    def average(figure: str) -> float:
        return round(_mean_or_zero([answer[figure] for answer in answers if figure in answer]), 4)

    return ListFigures(
        name=name,
        lists=sum("f1" in answer for answer in answers),
        articles=sum("article_lists" in answer for answer in answers),
        **{figure: average(figure) for figure in _FIGURES},
    )
