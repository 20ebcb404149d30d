"""Trains the classifiers of `monitor/policies` on labelled passages and documents, and writes their weights.

Passages are lines of stage TAB text, in which each day is marked: [[kind|1 July 2026]]; ⏎ stands for a line break.
"""

import datetime as dt
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.facts import LabelledFacts, load_labels
from monitor.policies import chinese_days, english_days
from monitor.policies.day_classifier import NO_DEADLINE, DayInContext, list_days_in_context
from monitor.policies.day_mentions import DayBase
from monitor.policies.day_rules import DayReading
from monitor.policies.document_text import DocumentText, Sentence
from monitor.policies.facts import read_facts
from monitor.vocabulary import PolicyStage

WEIGHTS = Path("monitor/policies/weights")
LANGUAGES = ("zh", "en")
_MARK = re.compile(r"\[\[(?P<kind>\w+)\|(?P<day>[^\[\]]*)\]\]")
_ANY_DAY = dt.date(2026, 3, 1)  # what a passage counts from: only that there is a day matters
_EXPLAINING = (PolicyStage.INTERPRETATION, PolicyStage.QA)
_MIN_WEIGHT = 0.05


@dataclass(frozen=True)
class Example:
    features: list[str]
    label: str


def train_days(labels: Path, language: str) -> dict[str, object]:
    """Return the weights of the classifier of days: its classes, their bias, and a row of weights for each feature."""
    examples = [*_list_from_passages(labels / "passages" / f"days_{language}.tsv", is_chinese=language == "zh")]
    for document in load_labels(labels / "open"):
        if document.language == language:
            examples += _list_from_document(document)
    return _fit(examples)


def write_weights(weights: dict[str, object], name: str) -> Path:
    file = WEIGHTS / f"{name}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(weights, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
    return file


def _list_from_passages(file: Path, *, is_chinese: bool) -> Iterator[Example]:
    for line in file.read_text("utf-8").splitlines():
        stage_name, marked = line.split("\t")
        stage = None if stage_name == NO_DEADLINE else PolicyStage(stage_name)
        text, spans = _read_marks(marked.replace("⏎", "\n"))
        document = DocumentText("", text)
        sentences = document.read_sentences(DayBase(_ANY_DAY, _ANY_DAY, _ANY_DAY))
        for day in _list_days(sentences, _build_reading(stage), stage, is_chinese=is_chinese):
            start = day.sentence.start + day.mention.start
            end = day.sentence.start + day.mention.end
            label = next((kind for first, last, kind in spans if first < end and start < last), None)
            if label is not None:
                yield Example(day.list_features(), label)


def _read_marks(marked: str) -> tuple[str, list[tuple[int, int, str]]]:
    """Return a text without its marks, and the span and kind of each."""
    text, spans, last = "", [], 0
    for found in _MARK.finditer(marked):
        text += marked[last : found.start()]
        spans.append((len(text), len(text) + len(found["day"]), found["kind"]))
        text += found["day"]
        last = found.end()
    return text + marked[last:], spans


def _list_from_document(labelled: LabelledFacts) -> Iterator[Example]:
    facts = read_facts(labelled.title, labelled.text, published_on=labelled.published, issuer=labelled.issuer)
    document = DocumentText(labelled.title, labelled.text, published_on=labelled.published)
    kinds: dict[dt.date, list[str]] = defaultdict(list)
    for deadline in labelled.gold.deadlines:
        kinds[deadline.day].append(deadline.kind)
    sentences = document.read_sentences(DayBase(facts.made_on, labelled.published, facts.in_force))
    reading = _build_reading(facts.stage, published_on=labelled.published, titles=(labelled.title,))
    days = list(_list_days(sentences, reading, facts.stage, is_chinese=document.is_chinese))
    proposed = {day.mention.day for day in days if day.proposed}
    for day in days:
        label = kinds.get(day.mention.day or dt.date.min, [NO_DEADLINE])[0]
        # The day on which a document was signed may be that of its force, and its foot still says nothing of that.
        is_repeated = day.mention.day in proposed
        is_foot = day.mention.day in (facts.made_on, labelled.published) and not day.mention.is_counted
        if label == NO_DEADLINE or day.proposed or not (is_repeated or is_foot):
            yield Example(day.list_features(), label)


def _build_reading(
    stage: PolicyStage | None, *, published_on: dt.date | None = None, titles: tuple[str, ...] = ()
) -> DayReading:
    return DayReading(
        asks_comments=stage in (PolicyStage.CONSULTATION, PolicyStage.DRAFT),
        explains=stage in _EXPLAINING,
        is_order=stage is PolicyStage.ENFORCEMENT,
        is_plan=stage is PolicyStage.PLAN,
        is_news=stage is None,
        published_on=published_on,
        own_titles=titles,
    )


def _list_days(
    sentences: Sequence[Sentence], reading: DayReading, stage: PolicyStage | None, *, is_chinese: bool
) -> Iterator[DayInContext]:
    rules = chinese_days if is_chinese else english_days
    proposed = list(rules.find_stated_days(sentences, reading))
    return list_days_in_context(sentences, proposed, stage=stage, is_chinese=is_chinese)


def _fit(examples: Sequence[Example]) -> dict[str, object]:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    vectorizer = CountVectorizer(analyzer=lambda example: example.features, binary=True, min_df=2)
    model = LogisticRegression(C=0.5, max_iter=5000)
    model.fit(vectorizer.fit_transform(examples), [example.label for example in examples])
    rows = zip(vectorizer.get_feature_names_out(), model.coef_.T, strict=True)
    weights = {name: [round(float(value), 2) for value in row] for name, row in rows if max(abs(row)) >= _MIN_WEIGHT}
    return {
        "classes": [str(name) for name in model.classes_],
        "bias": [round(float(value), 3) for value in model.intercept_],
        "weights": weights,
    }
