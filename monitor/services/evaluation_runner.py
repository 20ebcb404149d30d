"""Carries out an evaluation: each piece of work once, its result kept at once, within a budget."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from monitor.clock import Clock
from monitor.config.llm import LlmSettings
from monitor.db.database import Store
from monitor.db.tables.collection import ModelCall
from monitor.db.tables.evaluation import Evaluation, EvaluationPiece
from monitor.errors import RecordLost, WorkFailed
from monitor.evaluation.measuring import (
    PieceContext,
    measure_items,
    measure_ranks,
    measure_sections,
    measure_statements,
    measure_summary,
)
from monitor.evaluation.metering import (
    CostBudget,
    CostEstimator,
    EvaluationPaused,
    MeteredModel,
    build_call_row,
    piece_calls,
)
from monitor.evaluation.pieces import CallRow, Contender, GapRow, Measured, PieceKey, PieceRow, SampledRun
from monitor.i18n.message import Message
from monitor.llm.prompts import PromptSet
from monitor.services.evaluation_samples import OpenSample, Sample, SampleLoader
from monitor.urls import url_key
from monitor.vocabulary import Phase

if TYPE_CHECKING:
    from monitor.db.tables.collection import Item
    from monitor.llm.chat import ChatModel
    from monitor.llm.client import ModelClient

ProgressCallback = Callable[[int, int], None]
"""Hears how many pieces are done, and of how many."""

_Result = tuple[Measured, bool] | None


@dataclass(kw_only=True)
class EvaluationRunner:
    """Does what is left of one evaluation.

    Contenders take turns, thing by thing, so that they can be compared wherever it stops.
    """

    evaluation: Evaluation
    store: Store
    samples: SampleLoader
    client: "ModelClient"
    settings: LlmSettings
    clock: Clock
    tokens_today: Callable[[], Awaitable[int]]
    stop_event: asyncio.Event
    on_progress: ProgressCallback | None = None
    _done: set[PieceKey] = field(default_factory=set, init=False)
    _paused: EvaluationPaused | None = field(default=None, init=False)
    _models: "dict[tuple[int, Phase], ChatModel]" = field(default_factory=dict, init=False)
    _total: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._contenders = [Contender.model_validate(entry) for entry in self.evaluation.contenders]
        self._prompts: Mapping[str, PromptSet] = {
            name: PromptSet(overrides) for name, overrides in self.evaluation.prompts.items()
        }
        self._settings = [
            self.settings.model_copy(update={"model": contender.model, "models": {}}) for contender in self._contenders
        ]
        self._estimators = [CostEstimator(settings) for settings in self._settings]
        self._slots = asyncio.Semaphore(max(2, self.settings.max_concurrency))

    async def run(self) -> None:
        """Do the pieces that are not done; `EvaluationPaused` where the budget allows no more of them."""
        used = await self.store.usage.load_run_usage(self.evaluation.id)
        self._budget = CostBudget(self.evaluation.budget, spent=(used.cost or 0.0) + self.evaluation.lost_cost)
        for piece in await self.store.evaluations.list_pieces(self.evaluation.id):
            self._done.add(PieceKey(piece.contender, piece.run_id, piece.phase, piece.place))
        loaded, gaps = await self._load_samples()
        self._total = sum(len(sample.list_things()) for sample in loaded) * len(self._contenders)
        await self.store.evaluations.set_total(self.evaluation.id, self._total)
        self._report_progress()
        try:
            for sample in loaded:
                await self._do_sample(sample)
                if self._paused is not None:
                    raise self._paused
        finally:
            gaps += [gap for sample in loaded for gap in sample.gaps]
            await self.store.evaluations.set_gaps(
                self.evaluation.id, [gap.model_dump(mode="json", context={"language": "en"}) for gap in gaps]
            )

    async def _load_samples(self) -> tuple[list[Sample], list[GapRow]]:
        loaded: list[Sample] = []
        gaps: list[GapRow] = []
        for entry in self.evaluation.samples:
            row = SampledRun.model_validate(entry)
            try:
                loaded.append(await self.samples.load(row))
            except RecordLost as error:
                gaps.append(GapRow(source=row.source, run_id=row.run_id, phase=Phase.CRAWL, reason=error.message))
        return loaded, gaps

    async def _do_sample(self, sample: Sample) -> None:
        numbers = range(len(self._contenders))
        left = [
            PieceKey(number, sample.run.id, phase, place)
            for phase, place in sample.list_things()
            for number in numbers
            if PieceKey(number, sample.run.id, phase, place) not in self._done
        ]
        if not left:
            return
        async with self.samples.open(sample) as opened, asyncio.TaskGroup() as group:
            for key in left:
                group.create_task(self._do_piece(opened, key))

    async def _do_piece(self, opened: OpenSample, key: PieceKey) -> None:
        async with self._slots:
            if self._paused is not None or self.stop_event.is_set():
                return
            calls: list[CallRow] = []
            piece_calls.set(calls)
            piece = EvaluationPiece(evaluation_id=self.evaluation.id, **key._asdict(), at=self.clock.now())
            metered = self._build_model(key, piece)
            try:
                run, result = await self._measure(opened, key, metered)
            except EvaluationPaused as paused:
                self._paused = paused
                return
            except (WorkFailed, RecordLost) as error:
                opened.sample.add_gap(key.phase, error.message)
                return
            if result is not None:
                await self._save(opened, key, piece, run, calls, result)

    async def _save(
        self,
        opened: OpenSample,
        key: PieceKey,
        piece: EvaluationPiece,
        run: PieceContext,
        calls: list[CallRow],
        result: tuple[Measured, bool],
    ) -> None:
        measured, is_answered = result
        row = PieceRow(
            **key._asdict(),
            source=opened.sample.source.name,
            is_answered=is_answered,
            calls=calls,
            fallbacks=run.fallbacks,
            measured=measured,
        )
        await self.store.evaluations.save_piece(piece, row.model_dump(mode="json", context={"language": "en"}))
        self._done.add(key)
        self._report_progress()

    def _build_model(self, key: PieceKey, piece: EvaluationPiece) -> MeteredModel:
        settings = self._settings[key.contender]
        if (key.contender, key.phase) not in self._models:
            from monitor.llm.run_model import Budget

            self._models[key.contender, key.phase] = self.client.for_run(
                self.evaluation.id,
                record=self._record,
                clock=self.clock,
                settings=settings,
                budget=Budget(),
                tokens_today=self.tokens_today,
            )

        async def save_reserved(cost: float) -> None:
            await self.store.evaluations.reserve_cost(piece, cost)

        return MeteredModel(
            model=self._models[key.contender, key.phase],
            phases=frozenset({key.phase}),
            budget=self._budget,
            estimator=self._estimators[key.contender],
            save_reserved=save_reserved,
        )

    async def _record(self, call: ModelCall) -> None:
        piece_calls.get().append(build_call_row(call))
        await self.store.usage.add(call)

    async def _measure(self, opened: OpenSample, key: PieceKey, metered: MeteredModel) -> tuple[PieceContext, _Result]:
        sample, prompts = opened.sample, self._prompts[self._contenders[key.contender].prompts]
        run = opened.build_context(metered, prompts)
        match key.phase:
            case Phase.NAVIGATE:
                return run, await measure_sections(run, sample.home_sections)
            case Phase.CRAWL:
                section = next((each for each in sample.sections if each.plan.url == key.place), None)
                if section is None:
                    return run, None
                async with opened.copy_store() as store:
                    run = opened.build_context(metered, prompts, store)
                    return run, await measure_items(run, section.plan, section.wanted)
            case Phase.RANK:
                feedback = await self.store.marks.list_feedback(sample.items)
                facts = await self.store.items.load_facts([item.id or 0 for item in sample.items])
                return run, await measure_ranks(
                    run, sample.items, facts=facts, feedback=feedback, today=sample.manifest.today
                )
        return run, await self._measure_item(opened, run, key)

    async def _measure_item(self, opened: OpenSample, run: PieceContext, key: PieceKey) -> _Result:
        items = opened.sample.items
        place = next(number for number, item in enumerate(items) if str(item.id) == key.place)
        article = await opened.load_article(items[place])
        if not article.text.strip():
            reason = Message.of("evaluation.page_unreadable", title=items[place].title, reason=article.failure or "")
            opened.sample.add_gap(key.phase, reason)
            return None
        if key.phase is Phase.SUMMARISE:
            return await measure_summary(run, items[place], article)
        other = await self._load_other_text(opened, items, place)
        return await measure_statements(run, items[place], article.text, other)

    async def _load_other_text(self, opened: OpenSample, items: "list[Item]", place: int) -> str:
        """The text of another item of the run: of the next one, which is the first after the last."""
        following = items[(place + 1) % len(items)]
        if url_key(following.url) == url_key(items[place].url):
            return ""
        return (await opened.load_article(following)).text

    def _report_progress(self) -> None:
        if self.on_progress is not None:
            self.on_progress(len(self._done), self._total)
