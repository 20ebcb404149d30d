"""Trains the trees that find title, day and main text of an article, and measures them on sites that they never saw.

Labelled pages lie in folders or zip files as `../shared/corpus`: `manifest.csv`, `pages` and `gold`. The pages of one
site stand in one of five folds (as in the corpus's `split.py`); the figures of a fold are those of trees from the other
four. What is learned is exported from trees of all pages. LightGBM and NumPy are needed here only.
"""

import csv
import datetime as dt
import hashlib
import json
import re
import unicodedata
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from statistics import mean
from typing import Any
from urllib.parse import urlsplit
from zipfile import Path as ZipPath

import yaml
from pydantic import BaseModel
from selectolax.lexbor import LexborHTMLParser

from benchmarks.trees import export_trees, write_trees
from monitor.extract.articles.dates import DAY_FEATURES, MIN_SURE, DateMention, DayFinder, DayPlace
from monitor.extract.articles.labels import find_stated_title, list_labelled_values, read_metadata
from monitor.extract.articles.lines import LINE_FEATURES, PageLines, measure_lines, normalize_title
from monitor.extract.articles.text import run_trafilatura, select_lines, select_text
from monitor.extract.articles.title import TITLE_FEATURES, list_title_candidates, measure_titles
from monitor.extract.encoding import decode
from monitor.extract.html import build_outline
from monitor.extract.parse import expand_data_stores, parse_page
from monitor.markup import limit_depth

FOLDS = 5
_FIXTURES = Path("fixtures/articles")
_WORD = re.compile(r"[぀-ヿ㐀-鿿가-힯]|[^\W_]+")
_MIN_LONG_CHARS, _MIN_CUT_CHARS, _CUT_CHARS = 25, 60, 40
_MAX_LINES_APART, _MAX_CHARS_APART = 15, 300
_WEAK_WEIGHT = 0.3
_FIXTURE_WEIGHT = 2  # each stands for a class of pages
# Features of titles that may only speak for a candidate, and those that may only speak against it.
_FOR_TITLES = frozenset(
    {*("title_similar", "title_first_part", "og_similar", "og_equal", "ld_equal", "meta_equal"), "metas"}
)
_AGAINST_TITLES = frozenset(
    {
        *("is_host", "host_share", "is_site_name", "in_nav", "in_footer", "in_form", "hidden", "link_share"),
        *("is_home_link", "level", "level_rank", "links_between", "heads_of_level"),
    }
)
_UNDATED_WEIGHT = 0.15  # of a page whose day of publication was taken away

Trainer = Callable[[Sequence["LabelledArticle"]], Any]


@dataclass(eq=False)
class LabelledArticle:
    """A page with its labels, and what the trees of the other folds say of it."""

    id: str
    folder: str
    fold: int
    gold: dict[str, Any]
    view: PageLines
    html_text: str
    line_rows: list[tuple[float, ...]]
    line_labels: list[int] | None = None
    scores: list[float] = field(default_factory=list)
    title: str = ""
    title_rows: list[tuple[float, ...]] = field(default_factory=list)
    title_texts: list[str] = field(default_factory=list)
    day_rows: list[tuple[float, ...]] = field(default_factory=list)
    days: list[dt.date] = field(default_factory=list)
    day_examples: list[tuple[list[tuple[float, ...]], list[int]]] = field(default_factory=list)
    day: dt.date | None = None
    text: str = ""
    is_weak: bool = False


class ArticleFigures(BaseModel):
    """Shares of right titles and days, of wrong days, and the mean F1 of the words of texts."""

    pages: str
    articles: int
    title: float | None
    date: float | None
    wrong: float | None
    text: float | None


def measure_and_train(folders: Sequence[Path], on_step: Callable[[str], None]) -> list[ArticleFigures]:
    """Write the weights that all labelled articles of the folders give; the figures are those of unseen sites."""
    articles = [article for folder in folders for article in load_articles(folder, on_step)]
    articles += load_fixtures(_FIXTURES)
    on_step("lines")
    for article in articles:
        label_lines(article)
    with_lines = [article for article in articles if article.line_labels is not None]
    _learn(articles, with_lines, train_lines, _apply_lines, "article_line", LINE_FEATURES)
    on_step("titles")
    for article in articles:
        _list_titles(article)
    titled = [article for article in articles if article.gold.get("title") and not article.gold.get("title_unfair")]
    _learn(articles, titled, train_titles, _apply_titles, "article_title", TITLE_FEATURES)
    on_step("days")
    for article in articles:
        _list_days(article)
    _learn(articles, [a for a in articles if _has_known_day(a)], train_days, _apply_days, "article_date", DAY_FEATURES)
    names = list(dict.fromkeys(article.folder for article in articles))
    return [compute_figures(name, [article for article in articles if article.folder == name]) for name in names]


def measure_shipped(folders: Sequence[Path], on_step: Callable[[str], None]) -> list[ArticleFigures]:
    """Return the figures of the package as it is, which may have learned from these very pages."""
    figures = []
    for folder in folders:
        articles = list(load_articles(folder, on_step))
        for article in articles:
            page = parse_page(
                article.html_text.encode(),
                url=article.view.page.url,
                final_url=article.view.page.url,
                status=None,
                content_type="text/html; charset=utf-8",
                fetched_at=dt.datetime.now(dt.UTC),
            )
            article.title, article.day, article.text = page.title, page.published_on, page.text
        figures.append(compute_figures(folder.name, articles))
    return figures


def _learn(
    articles: Sequence[LabelledArticle],
    labelled: Sequence[LabelledArticle],
    train: Trainer,
    apply: Callable[[LabelledArticle, Any], None],
    name: str,
    features: Sequence[str],
) -> None:
    """Apply to each article the trees of the other folds, then write those of all."""
    for fold in range(FOLDS):
        trees = train([article for article in labelled if article.fold != fold])
        for article in articles:
            if article.fold == fold:
                apply(article, trees)
    write_trees(export_trees(train(labelled), features), name)


def load_articles(folder: Path, on_step: Callable[[str], None]) -> Iterator[LabelledArticle]:
    """Yield the articles of a folder or of a zip file, read as far as their lines."""
    root = ZipPath(folder) if folder.suffix == ".zip" else folder
    table = csv.DictReader(root.joinpath("manifest.csv").read_text("utf-8").splitlines())
    for row in (row for row in table if row["kind"] == "article" and row["gold"]):
        on_step(row["id"])
        gold = json.loads(root.joinpath(row["gold"]).read_text("utf-8"))
        url = gold.get("base_url") or gold.get("url") or row["url"]
        text = limit_depth(expand_data_stores(decode(root.joinpath(row["page"]).read_bytes(), None)[0]))
        tree = LexborHTMLParser(text)
        view = PageLines(build_outline(tree, url), read_metadata(tree))
        site = ".".join((urlsplit(row["url"]).hostname or row["id"]).lower().split(".")[-3:])
        fold = int(hashlib.sha256(site.encode()).hexdigest(), 16) % FOLDS
        yield LabelledArticle(row["id"], folder.name, fold, gold, view, text, measure_lines(view))


def load_fixtures(folder: Path) -> Iterator[LabelledArticle]:
    """Yield the cases of `fixtures/articles`; those without a day of publication are the only such pages."""
    for number, case in enumerate(sorted(path.parent for path in folder.glob("*/case.yaml"))):
        about = yaml.safe_load((case / "case.yaml").read_text("utf-8"))
        expected = json.loads((case / "expected.json").read_text("utf-8"))
        gold = {"title": expected["title"], "date": expected["published_on"], "text_unfair": True}
        gold |= {"is_undated": not gold["date"], "today": about["fetched_at"]}
        gold |= {"with": expected["text_has"], "without": expected["text_lacks"]}
        text = decode((case / "input.html").read_bytes(), None)[0]
        tree = LexborHTMLParser(text)
        view = PageLines(build_outline(tree, about["url"]), read_metadata(tree))
        yield LabelledArticle(case.name, folder.name, number % FOLDS, gold, view, text, measure_lines(view))


def label_lines(article: LabelledArticle) -> None:
    """Say of each line whether it is of the labelled text, else of that which trafilatura finds, where it finds one.

    A short line is where it stands near a long one, in the text as on the page. trafilatura's text is believed if it
    has what is labelled to be in the text and has not what is labelled not to be.
    """
    gold = article.gold.get("text") if not article.gold.get("text_unfair") else None
    if not gold:
        gold, article.is_weak = run_trafilatura(article.html_text), True
        folded = normalize_title(gold)
        has_all = all(normalize_title(part) in folded for part in article.gold.get("with") or [])
        has_none = not any(normalize_title(part) in folded for part in article.gold.get("without") or [])
        if len(gold) < 200 or not has_all or not has_none:
            return
    folded = normalize_title(gold)
    lines = [normalize_title(line.text) for line in article.view.lines]
    places: dict[int, int] = {}
    for index, line in enumerate(lines):
        if len(line) >= _MIN_LONG_CHARS and line in folded:
            places[index] = folded.find(line)
        elif len(line) >= _MIN_CUT_CHARS:
            cut = max(folded.find(line[:_CUT_CHARS]), folded.find(line[-_CUT_CHARS:]))
            places |= {index: cut} if cut >= 0 else {}
    known = sorted(places)
    article.line_labels = [
        int(index in places or (len(line) < _MIN_LONG_CHARS and _is_near(index, lines, places, known, folded)))
        for index, line in enumerate(lines)
    ]


def _is_near(index: int, lines: Sequence[str], places: dict[int, int], known: Sequence[int], folded: str) -> bool:
    line = lines[index]
    if not line or not known:
        return bool(line) and line in folded
    following = bisect(known, index)
    for other in known[max(0, following - 1) : following + 1]:
        if abs(other - index) > _MAX_LINES_APART:
            continue
        place = places[other]
        low = place if other < index else max(0, place - _MAX_CHARS_APART)
        high = place + len(lines[other]) + _MAX_CHARS_APART if other < index else place
        if line in folded[low:high]:
            return True
    return False


def train_lines(articles: Sequence[LabelledArticle]) -> Any:
    """Return trees that tell lines of the main text; articles count alike, a line as much as it has of the text."""
    rows: list[tuple[float, ...]] = []
    labels: list[int] = []
    weights: list[float] = []
    for article in articles:
        widths = [len(_WORD.findall(line.text)) for line in article.view.lines]
        own = article.line_labels or []
        total = 1 + sum(width for width, label in zip(widths, own, strict=True) if label)
        factor = _WEAK_WEIGHT if article.is_weak else 1
        rows += article.line_rows
        labels += own
        weights += [factor * (min(0.5, width / total) + 0.003) for width in widths]
    return _fit(rows, labels, weights, trees=60, num_leaves=12, min_data_in_leaf=20, learning_rate=0.1)


def _apply_lines(article: LabelledArticle, trees: Any) -> None:
    article.scores = _predict(trees, article.line_rows)
    article.text = select_text(article.view, article.scores, article.html_text)


def _list_titles(article: LabelledArticle) -> None:
    lines = select_lines(article.scores)
    start = lines[0] if lines else 0
    stated = find_stated_title(list_labelled_values(article.view.page))
    found = list_title_candidates(article.view, start, stated=stated)
    article.title_texts = [candidate.text for candidate in found]
    article.title_rows = measure_titles(article.view, found, article.scores, start)


def train_titles(articles: Sequence[LabelledArticle]) -> Any:
    """Return trees that tell titles; where no candidate is the label, those count that are nearly it.

    A page with many candidates counts little more than others.
    """
    rows: list[tuple[float, ...]] = []
    labels: list[int] = []
    weights: list[float] = []
    for article in articles:
        gold = article.gold["title"]
        same = [normalize_title(text) == normalize_title(gold) for text in article.title_texts]
        rows += article.title_rows
        labels += map(int, same if any(same) else [is_title(text, gold) for text in article.title_texts])
        weights += [max(1, len(same)) ** -0.5] * len(same)
    return _fit(
        rows,
        labels,
        weights,
        trees=350,
        num_leaves=15,
        min_data_in_leaf=4,
        learning_rate=0.03,
        extra_trees=True,
        lambda_l2=0.5,
        monotone_constraints=[(name in _FOR_TITLES) - (name in _AGAINST_TITLES) for name in TITLE_FEATURES],
    )


def _apply_titles(article: LabelledArticle, trees: Any) -> None:
    scores = _predict(trees, article.title_rows)
    rated = zip(scores, article.title_texts, strict=True)
    article.title = max(rated, key=lambda entry: entry[0], default=(0.0, ""))[1]


def _list_days(article: LabelledArticle) -> None:
    finder = DayFinder(
        article.view,
        article.title,
        dt.date.fromisoformat(str(article.gold.get("today") or dt.datetime.now(dt.UTC).date())[:10]),
        article.scores,
        list_labelled_values(article.view.page),
        article.html_text,
    )
    article.days = [mention.day for mention in finder.mentions if mention.place is not DayPlace.CHANGE]
    article.day_rows = _measure_days(finder, finder.mentions)
    shown = [mention for mention in finder.mentions if mention.line >= 0]
    gold = (article.gold.get("date") or "")[:10]
    without = [mention for mention in finder.mentions if str(mention.day) != gold]
    for mentions in (finder.mentions, shown, without):
        labels = [int(str(mention.day) == gold) for mention in mentions if mention.place is not DayPlace.CHANGE]
        article.day_examples.append((_measure_days(finder, mentions), labels))


def _measure_days(finder: DayFinder, mentions: Sequence[DateMention]) -> list[tuple[float, ...]]:
    rows = zip(finder.measure(mentions), mentions, strict=True)
    return [row for row, mention in rows if mention.place is not DayPlace.CHANGE]


def _has_known_day(article: LabelledArticle) -> bool:
    gold = article.gold
    return (
        (bool(gold.get("date")) or gold.get("is_undated", False))
        and not gold.get("date_uncertain")
        and not gold.get("date_unfair")
    )


def train_days(articles: Sequence[LabelledArticle]) -> Any:
    """Return trees that tell the mentions of the labelled day; a page with many days counts little more than others.

    Each page is an example as it is, without what its head, url and scripts state, and without its day of publication.
    """
    rows: list[tuple[float, ...]] = []
    labels: list[int] = []
    weights: list[float] = []
    for article, (measured, own) in ((a, example) for a in articles for example in a.day_examples):
        factor = _FIXTURE_WEIGHT if article.folder == _FIXTURES.name else 1 if any(own) else _UNDATED_WEIGHT
        rows += measured
        labels += own
        weights += [factor / max(1, len(own)) ** 0.5] * len(own)
    return _fit(rows, labels, weights, trees=150, num_leaves=12, min_data_in_leaf=8, learning_rate=0.06)


def _apply_days(article: LabelledArticle, trees: Any) -> None:
    rated = zip(_predict(trees, article.day_rows), article.days, strict=True)
    score, day = max(rated, key=lambda entry: entry[0], default=(0.0, None))
    article.day = day if score >= MIN_SURE else None


def _fit(
    rows: Sequence[tuple[float, ...]], labels: Sequence[int], weights: Sequence[float], *, trees: int, **settings: Any
) -> Any:
    lightgbm, np = import_module("lightgbm"), import_module("numpy")

    scaled = np.array(weights)
    scaled *= len(weights) / scaled.sum()
    data = lightgbm.Dataset(np.array(rows, dtype=float), np.array(labels), weight=scaled)
    shared = {"objective": "binary", "max_depth": 7, "feature_fraction": 0.5, "bagging_fraction": 0.7}
    shared |= {"bagging_freq": 1, "lambda_l2": 3, "max_bin": 63, "seed": 1, "verbose": -1, "num_threads": 1}
    return lightgbm.train({**shared, **settings}, data, trees)


def _predict(trees: Any, rows: Sequence[tuple[float, ...]]) -> list[float]:
    return trees.predict(rows).tolist() if rows else []


def compute_figures(name: str, articles: Sequence[LabelledArticle]) -> ArticleFigures:
    """Return the figures of what the trees of other folds found, by the rules of the corpus's `score.py`."""
    titled = [article for article in articles if article.gold.get("title")]
    dated = [article for article in articles if article.gold.get("date") and _has_known_day(article)]
    right = [str(article.day) == article.gold["date"][:10] for article in dated]
    wrong = [article.day is not None and not is_right for article, is_right in zip(dated, right, strict=True)]
    texts = [compare_texts(article.text, article.gold["text"]) for article in articles if article.gold.get("text")]
    return ArticleFigures(
        pages=name,
        articles=len(articles),
        title=_mean([is_title(article.title, article.gold["title"]) for article in titled]),
        date=_mean(right),
        wrong=_mean(wrong),
        text=_mean(texts),
    )


def _mean(values: Sequence[float]) -> float | None:
    return round(mean(values), 4) if values else None


def is_title(found: str, gold: str) -> bool:
    """Whether two titles are equal, or one contains the other and is at least 60 % of it."""
    left, right = normalize_title(found), normalize_title(gold)
    if not left or not right:
        return False
    is_part = left in right or right in left
    return left == right or (is_part and min(len(left), len(right)) >= 0.6 * max(len(left), len(right)))


def compare_texts(found: str, gold: str) -> float:
    """Return the F1 of the words of two texts."""
    left, right = (Counter(_WORD.findall(unicodedata.normalize("NFKC", text).lower())) for text in (found, gold))
    same = (left & right).total()
    return 2 * same / max(1, left.total() + right.total())
