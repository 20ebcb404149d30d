"""How well statements are judged: `fixtures/statements` by code, with a second reader, and how fast.

`open-*` are the documents that the judge's weights are fitted to, `held-*` those that nothing was tuned on. Documents
named `everyday`, `fresh` and `real` have sentences as a summary writes them; the others were written to be hard.
"""

import asyncio
import csv
import datetime as dt
import hashlib
import json
import math
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import yaml
from pydantic import BaseModel, Field

from monitor.extract.parse import parse_page
from monitor.llm.chat import Completion, CompletionRequest
from monitor.llm.context import estimate_tokens
from monitor.ranking.kinds import classify_document, classify_item_type
from monitor.sweep.prompts import SummaryTask
from monitor.verify.grounding import NumberIndex
from monitor.verify.judge import StatementJudge
from monitor.verify.second_reader import build_review_messages, review_statements
from monitor.verify.signs.features import build_features, compare
from monitor.verify.signs.page import PageIndex
from monitor.verify.statements import Judgement, SourceText
from monitor.verify.weights import WEIGHTS

FIXTURES = Path("fixtures/statements")
_READER_ERRORS_IN_100 = 5
_SUMMARY_CHARS = 6000


class LabelledStatement(BaseModel):
    sentence: str
    holds: bool
    kind: str = Field(alias="class")


class LabelledDocument(BaseModel):
    """A page with statements about it; `corpus` names a page of the shared corpus in place of a text of its own."""

    name: str
    title: str = ""
    publisher: str = ""
    section: str = ""
    published: dt.date | None = None
    page: str = ""
    corpus: str | None = None
    language: str = "zh"
    statements: list[LabelledStatement]

    @property
    def group(self) -> str:
        return "everyday" if re.search("everyday|fresh|real", self.name) else "hard"

    @property
    def source(self) -> SourceText:
        return SourceText(
            text=self.page,
            title=self.title,
            section=self.section,
            publisher=self.publisher,
            published_on=self.published,
        )


class Accuracy(BaseModel):
    """Shares of the false statements that are shown, and of the true ones that are not."""

    half: str
    group: str
    true: int = 0
    false: int = 0
    true_refused: float = 0.0
    false_shipped: float = 0.0
    true_refused_with_reader: float = 0.0
    false_shipped_with_reader: float = 0.0


class StatementFigures(BaseModel):
    accuracy: list[Accuracy]
    statements_a_second: float
    figure_checks_a_second: float
    reader_tokens: int
    summary_tokens: int


def load_documents(half: str, corpus: Path | None) -> list[LabelledDocument]:
    """Return the documents of a half; those over pages of the corpus only where that is at hand."""
    documents = []
    for path in sorted(FIXTURES.glob(f"{half}-*.yaml")):
        content = yaml.safe_load(path.read_text("utf-8"))
        documents.append(LabelledDocument(name=path.stem, **{key: value or "" for key, value in content.items()}))
    if corpus is not None and (corpus / "manifest.csv").is_file():
        with (corpus / "manifest.csv").open(encoding="utf-8", newline="") as opened:
            pages = {row["id"]: row for row in csv.DictReader(opened)}
        for document in documents:
            if document.corpus is not None:
                _fill_from_corpus(document, corpus, pages[document.corpus])
    return [document for document in documents if document.page]


def _fill_from_corpus(document: LabelledDocument, corpus: Path, row: Mapping[str, str]) -> None:
    page = parse_page(
        (corpus / row["page"]).read_bytes(),
        url=row["url"],
        final_url=row["url"],
        status=200,
        content_type=None,
        fetched_at=dt.datetime.now(dt.UTC),
    )
    document.page, document.title, document.published = page.text, page.title, page.published_on


def measure(corpus: Path | None) -> StatementFigures:
    halves = {half: load_documents(half, corpus) for half in ("open", "held")}
    accuracy = [
        _measure_accuracy(half, group, [document for document in documents if document.group == group])
        for half, documents in halves.items()
        for group in ("everyday", "hard")
    ]
    documents = halves["open"]
    reader_tokens, summary_tokens = _count_tokens([document for document in documents if document.group == "everyday"])
    return StatementFigures(
        accuracy=accuracy,
        statements_a_second=_measure_rate(documents, _judge_all),
        figure_checks_a_second=_measure_rate(documents, _check_figures),
        reader_tokens=reader_tokens,
        summary_tokens=summary_tokens,
    )


def _measure_accuracy(half: str, group: str, documents: Sequence[LabelledDocument]) -> Accuracy:
    kept: dict[bool, list[bool]] = defaultdict(list)
    kept_by_reader: dict[bool, list[bool]] = defaultdict(list)
    for document in documents:
        judge = StatementJudge([document.source])
        for statement in document.statements:
            judgement = judge.judge(statement.sentence)
            kept[statement.holds].append(judgement.verdict.is_kept)
            reviewed = asyncio.run(_review(statement, judgement))
            kept_by_reader[statement.holds].append(reviewed.verdict.is_kept)
    return Accuracy(
        half=half,
        group=group,
        true=len(kept[True]),
        false=len(kept[False]),
        true_refused=_compute_share(not is_kept for is_kept in kept[True]),
        false_shipped=_compute_share(kept[False]),
        true_refused_with_reader=_compute_share(not is_kept for is_kept in kept_by_reader[True]),
        false_shipped_with_reader=_compute_share(kept_by_reader[False]),
    )


def _compute_share(values: Iterable[bool]) -> float:
    listed = list(values)
    return round(sum(listed) / len(listed), 4) if listed else 0.0


class _ErringReader:
    """A second reader that knows the label of a statement and answers wrongly five times in a hundred."""

    def __init__(self, statement: LabelledStatement, judgement: Judgement) -> None:
        digest = hashlib.sha256(statement.sentence.encode()).digest()
        is_right = int.from_bytes(digest[:4]) % 100 >= _READER_ERRORS_IN_100
        verdict = "supported" if statement.holds == is_right else "contradicted"
        self._answer = json.dumps([{"n": 1, "v": verdict, "w": judgement.context[:20]}], ensure_ascii=False)

    async def complete(self, request: CompletionRequest) -> Completion:
        del request
        return Completion(text=self._answer)


async def _review(statement: LabelledStatement, judgement: Judgement) -> Judgement:
    reader = _ErringReader(statement, judgement)
    (reviewed,) = await review_statements(reader, [statement.sentence], [judgement], place="bench", language="zh")
    return reviewed


def _measure_rate(documents: Sequence[LabelledDocument], check: Callable[[LabelledDocument], None]) -> float:
    """Return the statements a second of processor time, pages read included."""
    began = time.process_time()
    for document in documents:
        check(document)
    count = sum(len(document.statements) for document in documents)
    return round(count / (time.process_time() - began), 1)


def _judge_all(document: LabelledDocument) -> None:
    judge = StatementJudge([document.source])
    for statement in document.statements:
        judge.judge(statement.sentence)


def _check_figures(document: LabelledDocument) -> None:
    index = NumberIndex(f"{document.title}\n{document.page}")
    for statement in document.statements:
        index.find_ungrounded(statement.sentence)


def _count_tokens(documents: Sequence[LabelledDocument]) -> tuple[int, int]:
    """Return the tokens of the second reader and of the summaries: three true sentences of each document."""
    reader = summaries = 0
    for document in documents:
        sentences = [statement.sentence for statement in document.statements if statement.holds][:3]
        kind = classify_document(document.title, classify_item_type(document.title, document.section))
        task = SummaryTask(title=document.title, kind=kind, rules="", language=document.language)
        messages = task.build_messages(document.page[:_SUMMARY_CHARS])
        summaries += sum(estimate_tokens(message.content) for message in messages) + estimate_tokens("".join(sentences))
        judge = StatementJudge([document.source])
        asked = [(text, judged) for text in sentences if (judged := judge.judge(text)).is_open]
        if asked:
            messages = build_review_messages(asked, document.language)
            answer = '{"n":1,"v":"supported","w":"words that bear it out"},' * len(asked)
            reader += sum(estimate_tokens(message.content) for message in messages) + estimate_tokens(answer)
    return reader, summaries


_ITERATIONS = 400
_LEARNING_RATE = 0.5
_L2 = 20.0


def fit_weights(documents: Sequence[LabelledDocument]) -> tuple[float, dict[str, float]]:
    """Return bias and weights of a logistic regression that tells false statements from true ones by their features."""
    rows, labels = [], []
    for document in documents:
        page = PageIndex(document.source)
        for statement in document.statements:
            if not page.particulars.find_missing(statement.sentence):
                rows.append(build_features(compare(statement.sentence, page)))
                labels.append(0.0 if statement.holds else 1.0)
    names = sorted({name for row in rows for name in row})
    scales = {name: _compute_deviation([row.get(name, 0.0) for row in rows]) for name in names}
    table = [[row.get(name, 0.0) / scales[name] for name in names] for row in rows]
    bias, weights = 0.0, [0.0] * len(names)
    for _ in range(_ITERATIONS):
        errors = [
            1 / (1 + math.exp(-(bias + sum(map(_multiply, weights, row))))) - label
            for row, label in zip(table, labels, strict=True)
        ]
        bias -= _LEARNING_RATE * sum(errors) / len(errors)
        columns = zip(*table, strict=True)
        gradients = [
            sum(map(_multiply, errors, column)) + _L2 * weight for column, weight in zip(columns, weights, strict=True)
        ]
        weights = [
            weight - _LEARNING_RATE * gradient / len(errors)
            for weight, gradient in zip(weights, gradients, strict=True)
        ]
    return bias, {name: weight / scales[name] for name, weight in zip(names, weights, strict=True)}


def _multiply(one: float, other: float) -> float:
    return one * other


def _compute_deviation(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / len(values)) or 1.0


def iter_weight_lines(bias: float, weights: Mapping[str, float]) -> Iterator[str]:
    """Yield the lines of `monitor/verify/weights.py` that the fit decides."""
    yield f"BIAS = {bias:.3f}"
    yield from (f'    "{name}": {weight:.3f},  # was {WEIGHTS.get(name, 0.0):.3f}' for name, weight in weights.items())
