"""Evaluations: comparing models, and wordings of prompts, on recorded runs; blind choices between summaries."""

import asyncio
import datetime as dt
import hashlib
import json
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from pydantic import BaseModel, Field

from monitor.config.model import Settings
from monitor.db.tables.evaluation import Evaluation, EvaluationStatus, PairChoice
from monitor.errors import Conflict, NotFound, UsageError, to_message
from monitor.evaluation.document import EvaluationReport, build_document
from monitor.evaluation.metering import EvaluationPaused
from monitor.evaluation.pairs import BlindPair, Side, find_next, list_pairs
from monitor.evaluation.pieces import BUILT_IN, CURRENT, PROMPT_SETS, ChoiceRow, Contender, GapRow, PieceRow, SampledRun
from monitor.evaluation.report import EvaluationRows, compute_figures
from monitor.evidence.storage import FileStorage
from monitor.exports.html import render_html
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.isolation.pool import WorkerPool
from monitor.logs import get_logger
from monitor.services.audit import Actor, AuditAction, AuditedService
from monitor.services.evaluation_runner import EvaluationRunner, ProgressCallback
from monitor.services.evaluation_samples import SampleLoader
from monitor.services.models import ModelService
from monitor.services.prompts import PromptService
from monitor.services.runtime import CancellationWatcher, WorkerRegistry, has_worker
from monitor.vocabulary import Role

DEFAULT_ITEMS, MAX_ITEMS = 40, 500
MAX_CONTENDERS = 8
_EXECUTOR = "evaluation"
_MAX_MODEL_CHARS = 100
_log = get_logger("evaluation")


class EvaluationForm(BaseModel, extra="forbid"):
    """What is to be compared: without models, all that `llm` names; `budget` is money, by `llm.prices`."""

    models: list[str] = Field(default_factory=list, max_length=MAX_CONTENDERS)
    prompts: list[str] = Field(default_factory=lambda: [CURRENT], max_length=len(PROMPT_SETS))
    items: int = Field(default=DEFAULT_ITEMS, ge=1, le=MAX_ITEMS)
    budget: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class EvaluationSchema(MessageModel):
    """An evaluation and how far it is; `reason` says why it stopped or failed, `spent` what it has cost so far."""

    id: str
    status: EvaluationStatus
    contenders: list[Contender]
    items: int
    sources: list[str]
    budget: float | None
    spent: float
    done: int
    total: int
    asked_by: str
    created_at: str
    ended_at: str | None
    reason: Message | None = None


class PairState(BaseModel):
    """The next pair to choose from, None where all are done; `chosen` of `total` are."""

    pair: BlindPair | None
    chosen: int
    total: int


@dataclass(kw_only=True)
class EvaluationService(AuditedService):
    settings: Settings
    storage: FileStorage
    workers: WorkerPool
    models: ModelService
    prompts: PromptService
    presence: WorkerRegistry

    def __post_init__(self) -> None:
        self._cancellation = CancellationWatcher(self.store.evaluations.list_stop_requested)

    @cached_property
    def _samples(self) -> SampleLoader:
        return SampleLoader(store=self.store, storage=self.storage, workers=self.workers)

    # Asking for one.

    async def has_worker(self) -> bool:
        return await has_worker(self.presence)

    def list_models(self) -> list[str]:
        """Return the models that the settings name."""
        llm = self.settings.llm
        return list(dict.fromkeys([llm.model, *llm.models.values()]))

    async def enqueue(self, form: EvaluationForm, *, by: Actor) -> str:
        """Queue an evaluation, or let the unfinished one with these parameters go on; return its id."""
        by.require(Role.ADMIN)
        if not await self.has_worker():
            raise UsageError("run.no_worker")
        return await self._start(form, None, by)

    async def run_in_process(
        self,
        form: EvaluationForm,
        *,
        by: Actor,
        on_progress: ProgressCallback | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> str:
        """Carry out an evaluation in this process, or go on with the unfinished one; return its id."""
        by.require(Role.ADMIN)
        async with self.presence.register(_EXECUTOR) as executor:
            evaluation_id = await self._start(form, executor, by)
            await self.execute(evaluation_id, executor=executor, on_progress=on_progress, cancel_event=cancel_event)
        return evaluation_id

    async def resume(self, evaluation_id: str, *, budget: float | None, by: Actor) -> None:
        """Let the service go on with one that was stopped or failed; `Conflict` where it was not."""
        by.require(Role.ADMIN)
        if not await self.has_worker():
            raise UsageError("run.no_worker")
        evaluation = await self._load(evaluation_id)
        self._check_prices([Contender.model_validate(entry) for entry in evaluation.contenders], budget)
        await self._resume(evaluation, None, budget, by)

    async def stop(self, evaluation_id: str, *, by: Actor) -> EvaluationStatus:
        """Stop an evaluation after the pieces under way; what is done stays done. `Conflict` where it has ended."""
        by.require(Role.ADMIN)
        await self.release_orphaned()
        await self._load(evaluation_id)
        async with self.store.transaction():
            status = await self.store.evaluations.request_stop(evaluation_id, at=self.clock.now())
            if status is None:
                raise Conflict("evaluation.not_active", evaluation=evaluation_id)
            await self.record(by, AuditAction.EVALUATION_STOP, evaluation_id)
        return status

    async def delete(self, evaluation_id: str, *, by: Actor) -> None:
        """Delete an evaluation with its pieces and choices; the costs of its calls stay. `Conflict` while it runs."""
        by.require(Role.ADMIN)
        await self.release_orphaned()
        await self._load(evaluation_id)
        async with self.store.transaction():
            if not await self.store.evaluations.delete(evaluation_id):
                raise Conflict("evaluation.active", evaluation=evaluation_id)
            await self.record(by, AuditAction.EVALUATION_DELETE, evaluation_id)

    async def _start(self, form: EvaluationForm, executor: str | None, by: Actor) -> str:
        contenders, prompts = await self._build_contenders(form)
        fingerprint = _hash_parameters(contenders, prompts, form.items)
        await self.release_orphaned(own_executor=executor)
        unfinished = await self.store.evaluations.find_unfinished(fingerprint)
        if unfinished is not None:
            if unfinished.status.is_active:
                raise Conflict("evaluation.active", evaluation=unfinished.id)
            await self._resume(unfinished, executor, form.budget, by)
            return unfinished.id
        samples = await self._samples.choose(form.items)
        if not samples:
            raise UsageError("evaluation.nothing_recorded")
        evaluation = Evaluation(
            id=secrets.token_hex(6),
            status=EvaluationStatus.RUNNING if executor else EvaluationStatus.QUEUED,
            fingerprint=fingerprint,
            contenders=[contender.model_dump() for contender in contenders],
            prompts=prompts,
            samples=[sample.model_dump() for sample in samples],
            max_items=form.items,
            budget=form.budget,
            seed=secrets.token_hex(16),
            asked_by=by.owner,
            executor=executor,
            created_at=self.clock.now(),
        )
        async with self.store.transaction():
            await self.store.evaluations.create(evaluation)
            models = [contender.model for contender in contenders]
            await self.record(by, AuditAction.EVALUATION_START, evaluation.id, models=models, items=form.items)
        return evaluation.id

    async def _resume(self, evaluation: Evaluation, executor: str | None, budget: float | None, by: Actor) -> None:
        async with self.store.transaction():
            if not await self.store.evaluations.resume(evaluation.id, executor=executor, budget=budget):
                raise Conflict("evaluation.not_stopped", evaluation=evaluation.id)
            await self.record(by, AuditAction.EVALUATION_RESUME, evaluation.id)

    async def _build_contenders(self, form: EvaluationForm) -> tuple[list[Contender], dict[str, dict[str, str]]]:
        if not self.settings.llm.is_on:
            raise UsageError("evaluation.no_model")
        given = [name.strip()[:_MAX_MODEL_CHARS] for name in form.models if name.strip()]
        models, names = list(dict.fromkeys(given or self.list_models())), list(dict.fromkeys(form.prompts))
        if unknown := [name for name in names if name not in PROMPT_SETS]:
            raise UsageError("evaluation.unknown_prompts", name=unknown[0], known=list(PROMPT_SETS))
        current = dict((await self.prompts.load_active()).overrides)
        if len(names) > 1 and not current:
            raise UsageError("evaluation.prompts_are_built_in")
        contenders = [Contender(model=model, prompts=name) for model in models for name in names]
        if not 0 < len(contenders) <= MAX_CONTENDERS:
            raise UsageError("evaluation.too_many", limit=MAX_CONTENDERS)
        self._check_prices(contenders, form.budget)
        overrides = {CURRENT: current, BUILT_IN: {}}
        return contenders, {name: overrides[name] for name in names}

    def _check_prices(self, contenders: Sequence[Contender], budget: float | None) -> None:
        """Raise `UsageError` where a budget could not be kept, because a model has no price."""
        prices = self.settings.llm.prices
        unpriced = sorted({contender.model for contender in contenders} - prices.keys())
        if budget is not None and unpriced:
            raise UsageError("evaluation.no_price", models=unpriced)

    # Carrying it out.

    async def execute(
        self,
        evaluation_id: str,
        *,
        executor: str,
        on_progress: ProgressCallback | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> EvaluationStatus:
        """Carry out an evaluation, or go on with it; what is done is never done again."""
        evaluation = await self.store.evaluations.claim(evaluation_id, executor=executor, at=self.clock.now())
        if evaluation is None:
            return EvaluationStatus.STOPPED
        _log.info("evaluation begins", evaluation=evaluation_id)
        event = cancel_event or asyncio.Event()
        try:
            status, reason = await self._run(evaluation, event, on_progress)
        except asyncio.CancelledError:
            if cancel_event is not None and cancel_event.is_set():
                await self._end(evaluation, EvaluationStatus.STOPPED, None)
            raise
        except Exception as error:
            # Whatever ended it, it does not stay `running`; what is done stays done.
            with suppress(Exception):
                reason = to_message(error) or Message.other(type(error).__name__)
                await self._end(evaluation, EvaluationStatus.FAILED, reason)
            raise
        await self._end(evaluation, status, reason)
        _log.info("evaluation ended", evaluation=evaluation_id, status=str(status))
        return status

    async def _run(
        self, evaluation: Evaluation, event: asyncio.Event, on_progress: ProgressCallback | None
    ) -> tuple[EvaluationStatus, Message | None]:
        client = self.models.get_client()
        if client is None:
            return EvaluationStatus.FAILED, Message("evaluation.no_model")
        runner = EvaluationRunner(
            evaluation=evaluation,
            store=self.store,
            samples=self._samples,
            client=client,
            settings=self.settings.llm,
            clock=self.clock,
            tokens_today=self.models.costs.count_tokens_today,
            stop_event=event,
            on_progress=on_progress,
        )
        try:
            await self._cancellation.run_until_cancelled(runner.run(), event, run_id=evaluation.id)
        except EvaluationPaused as paused:
            return EvaluationStatus.STOPPED, paused.message
        return (EvaluationStatus.STOPPED if event.is_set() else EvaluationStatus.DONE), None

    async def _end(self, evaluation: Evaluation, status: EvaluationStatus, reason: Message | None) -> None:
        await self.store.evaluations.end(
            evaluation.id, executor=evaluation.executor, status=status, at=self.clock.now(), reason=reason
        )

    async def release_orphaned(self, *, own_executor: str | None = None) -> None:
        """Stop what a process began that is gone and that no queue knows of: it can go on."""
        lost = [each for each in await self.store.evaluations.list_open() if each.enqueued_at is None]
        lost = [each for each in lost if each.status is EvaluationStatus.RUNNING]
        alive = await self.presence.list_alive() if lost else {}
        for evaluation in lost:
            if evaluation.executor not in alive or evaluation.executor == own_executor:
                await self._end(evaluation, EvaluationStatus.STOPPED, Message("evaluation.process_ended"))

    # Reading it.

    async def get(self, evaluation_id: str, *, by: Actor) -> EvaluationSchema:
        by.require(Role.ADMIN)
        await self.release_orphaned()
        return await self._describe(await self._load(evaluation_id))

    async def build_report(self, evaluation_id: str, *, by: Actor) -> EvaluationReport:
        """Return the report as far as the evaluation is."""
        by.require(Role.ADMIN)
        evaluation = await self._load(evaluation_id)
        rows = await self._load_rows(evaluation)
        state = await self._describe(evaluation)
        return EvaluationReport(
            **dict(compute_figures(rows)),
            id=evaluation.id,
            status=evaluation.status,
            created_at=evaluation.created_at,
            ended_at=evaluation.ended_at,
            max_items=evaluation.max_items,
            budget=evaluation.budget,
            spent=state.spent,
            done=state.done,
            total=state.total,
            rows=rows,
            prompts={name: sorted(overrides) for name, overrides in evaluation.prompts.items()},
        )

    async def write_html(self, evaluation_id: str, language: str, *, by: Actor) -> bytes:
        """Return the report as one HTML file."""
        return render_html(build_document(await self.build_report(evaluation_id, by=by), language))

    async def _describe(self, evaluation: Evaluation) -> EvaluationSchema:
        used = await self.store.usage.load_run_usage(evaluation.id)
        return EvaluationSchema(
            id=evaluation.id,
            status=evaluation.status,
            contenders=[Contender.model_validate(entry) for entry in evaluation.contenders],
            items=sum(len(sample["items"]) for sample in evaluation.samples),
            sources=[sample["source"] for sample in evaluation.samples],
            budget=evaluation.budget,
            spent=(used.cost or 0.0) + evaluation.lost_cost,
            done=await self.store.evaluations.count_pieces(evaluation.id),
            total=evaluation.total,
            asked_by=evaluation.asked_by,
            created_at=evaluation.created_at.isoformat(),
            ended_at=evaluation.ended_at.isoformat() if evaluation.ended_at else None,
            reason=evaluation.reason,
        )

    async def _load_rows(self, evaluation: Evaluation) -> EvaluationRows:
        choices = await self.store.evaluations.list_choices(evaluation.id)
        return EvaluationRows(
            contenders=[Contender.model_validate(entry) for entry in evaluation.contenders],
            samples=[SampledRun.model_validate(entry) for entry in evaluation.samples],
            pieces=await self._load_pieces(evaluation),
            choices=[
                ChoiceRow(**choice.model_dump(include={"item_id", "first", "second", "preferred", "person"}))
                for choice in choices
            ],
            gaps=[GapRow.model_validate(entry) for entry in evaluation.gaps],
        )

    async def _load_pieces(self, evaluation: Evaluation) -> list[PieceRow]:
        pieces = await self.store.evaluations.list_pieces(evaluation.id)
        return [PieceRow.model_validate(piece.measured) for piece in pieces]

    async def _load(self, evaluation_id: str) -> Evaluation:
        evaluation = await self.store.evaluations.get(evaluation_id)
        if evaluation is None:
            raise NotFound("evaluation.not_found", evaluation=evaluation_id)
        return evaluation

    # Blind pairs.

    async def get_next_pair(self, evaluation_id: str, *, by: Actor) -> PairState:
        """Return two summaries of one item that this person has not compared yet."""
        by.require(Role.ADMIN)
        evaluation = await self._load(evaluation_id)
        pairs = list_pairs(await self._load_pieces(evaluation), evaluation.seed)
        choices = await self.store.evaluations.list_choices(evaluation.id)
        chosen = {choice.pair for choice in choices if choice.person == by.owner}
        following = find_next(pairs, chosen)
        shown = following.show(evaluation.seed, by.owner) if following else None
        return PairState(pair=shown, chosen=sum(pair.pair in chosen for pair in pairs), total=len(pairs))

    async def choose(self, evaluation_id: str, pair: str, side: Side, *, by: Actor) -> None:
        """Keep which summary of a pair this person prefers; `NotFound` for a pair that there is not."""
        by.require(Role.ADMIN)
        evaluation = await self._load(evaluation_id)
        pairs = list_pairs(await self._load_pieces(evaluation), evaluation.seed)
        shown = next((each for each in pairs if each.pair == pair), None)
        if shown is None:
            raise NotFound("evaluation.no_pair", pair=pair)
        choice = PairChoice(
            evaluation_id=evaluation.id,
            pair=pair,
            item_id=shown.summaries[0].item_id,
            first=shown.first,
            second=shown.second,
            preferred=shown.get_contender(side, evaluation.seed, by.owner),
            person=by.owner,
            at=self.clock.now(),
        )
        await self.store.evaluations.save_choice(choice)

    async def list(
        self, *, by: Actor, limit: int = 50, after: tuple[dt.datetime, str] | None = None
    ) -> list[EvaluationSchema]:
        """The newest first; `after` is when the last one before began, and its id."""
        by.require(Role.ADMIN)
        await self.release_orphaned()
        rows = await self.store.evaluations.list_latest(limit, after=after)
        return [await self._describe(evaluation) for evaluation in rows]


def _hash_parameters(contenders: Sequence[Contender], prompts: dict[str, dict[str, str]], items: int) -> str:
    hashed = {"contenders": [contender.model_dump() for contender in contenders], "prompts": prompts, "items": items}
    return hashlib.sha256(json.dumps(hashed, ensure_ascii=True, sort_keys=True).encode()).hexdigest()
