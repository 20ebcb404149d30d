"""How well an order agrees with that of a person: tau-b and the best ten, by rule and with a model that wavers."""

import asyncio
import datetime as dt
import json
import random
import re
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from monitor.clock import SystemClock
from monitor.isolation.pool import WorkerPool
from monitor.llm.chat import Completion, CompletionRequest
from monitor.services.ranking import RankedInput, RankInput, RankService

TOP = 10
_LINE = re.compile(r"^\[(\d+)\] \[[^\]]*\] \S+ \| (.*?)(?: — .*)?$", re.MULTILINE)


class LabelledTitle(BaseModel):
    """A title with the place that a person gives it: `importance` orders the titles of a set."""

    id: str
    title: str
    date: dt.date | None = None
    source: str = ""
    text: str | None = None
    set: str
    importance: float
    tier: int
    type: str


class OrderFigures(BaseModel):
    """The agreement of an order with the labels of a set; `tiers` is the share of tiers that are right."""

    set: str
    titles: int
    tau: float
    best_ten: int
    tiers: float
    noisy_tau: float
    stable_tau: float


class RankingFigures(BaseModel):
    sets: list[OrderFigures]
    titles_a_second: float


class WaveringModel:
    """A model that labels as a person does, off by some points each time that it is asked."""

    def __init__(self, labels: dict[str, float], off: float, seed: int) -> None:
        self._labels = labels
        self._off = off
        self._random = random.Random(seed)  # noqa: S311 it decides nothing

    async def complete(self, request: CompletionRequest) -> Completion:
        answer = [
            {"i": int(number), "score": self._label(self._labels.get(title.strip(), 50.0)), "why": ""}
            for number, title in _LINE.findall(request.messages[-1].content)
        ]
        return Completion(text=json.dumps(answer))

    def _label(self, right: float) -> int:
        return 5 * round(min(max(right + self._random.gauss(0, self._off), 0), 100) / 5)


def load_labels(file: Path) -> dict[str, list[LabelledTitle]]:
    """Return the labelled titles of a file of JSON lines, by set."""
    sets: dict[str, list[LabelledTitle]] = defaultdict(list)
    for line in file.read_text("utf-8").splitlines():
        if line.strip():
            title = LabelledTitle.model_validate_json(line)
            sets[title.set].append(title)
    return dict(sets)


def compute_tau(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Kendall's tau-b of two series of values: 1 for the same order, -1 for the opposite one."""
    agree = differ = only_first = only_second = 0
    for i in range(len(first)):
        for j in range(i):
            one, other = first[i] - first[j], second[i] - second[j]
            if one and other:
                agree, differ = (agree + 1, differ) if (one > 0) == (other > 0) else (agree, differ + 1)
            else:
                only_first += bool(one)
                only_second += bool(other)
    pairs = agree + differ
    rest = ((pairs + only_first) * (pairs + only_second)) ** 0.5
    return (agree - differ) / rest if rest else 1.0


async def measure(file: Path, *, off: float = 8.0) -> RankingFigures:
    """Rank each set by rule, and twice with a model whose labels are off by so many points on average."""
    sets = load_labels(file)
    labels = {title.title: title.importance for titles in sets.values() for title in titles}
    workers = WorkerPool(size=1)
    service = RankService(workers=workers, clock=SystemClock(), store=None, models=None, prompts=None)
    found, began = [], time.process_time()
    for name, titles in sets.items():
        by_rule = await _rank(service, titles)
        found.append((name, titles, by_rule))
    rate = sum(map(len, sets.values())) / (time.process_time() - began)
    figures = []
    for name, titles, by_rule in found:
        runs = [await _rank(service, titles, WaveringModel(labels, off, seed)) for seed in (1, 2)]
        places = [_list_places(titles, run) for run in runs]
        figures.append(
            _compare(name, titles, by_rule).model_copy(
                update={
                    "noisy_tau": compute_tau(places[0], [title.importance for title in titles]),
                    "stable_tau": compute_tau(*places),
                }
            )
        )
    await workers.close()
    return RankingFigures(sets=figures, titles_a_second=rate)


async def _rank(
    service: RankService, titles: Sequence[LabelledTitle], model: WaveringModel | None = None
) -> list[RankedInput]:
    inputs = [
        RankInput(id=each.id, title=each.title, date=each.date, text=each.text, source=each.source) for each in titles
    ]
    ranked, _ = await service.rank(inputs, model=model)
    return ranked


def _list_places(titles: Sequence[LabelledTitle], ranked: Sequence[RankedInput]) -> list[float]:
    """Return a value for each title, the higher the better its place."""
    places = {each.id: -each.rank for each in ranked}
    return [float(places[title.id]) for title in titles]


def _compare(name: str, titles: Sequence[LabelledTitle], ranked: Sequence[RankedInput]) -> OrderFigures:
    best = {title.id for title in sorted(titles, key=lambda title: -title.importance)[:TOP]}
    tiers = {title.id: title.tier for title in titles}
    return OrderFigures(
        set=name,
        titles=len(titles),
        tau=compute_tau(_list_places(titles, ranked), [title.importance for title in titles]),
        best_ten=sum(each.id in best for each in ranked[:TOP]),
        tiers=sum(tiers[str(each.id)] == each.tier for each in ranked) / len(titles),
        noisy_tau=0,
        stable_tau=0,
    )


def run(file: Path) -> RankingFigures:
    return asyncio.run(measure(file))
