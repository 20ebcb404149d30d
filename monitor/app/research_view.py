"""A research as people and programs look at it."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from monitor.domain.reading import Usage
from monitor.domain.research import Research, ResearchEvent, ResearchStatus
from monitor.research.events import StepType
from monitor.research.findings import NoteBasis
from monitor.research.shapes import (
    Metadata,
    ModelBlueprint,
    Note,
    Plan,
    ResearchOptions,
    ResearchReport,
    Score,
    SearchAgentResult,
    SearchConfig,
    Wire,
)
from monitor.store.research import ResearchRow


class StepUsage(Wire):
    """What the model calls of a step came to; `cost` is None where no price is set."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None


class ResearchUsage(StepUsage):
    """The same of all steps, and of each."""

    by_phase: dict[str, StepUsage] = Field(default_factory=dict)


class ResearchSummary(Wire):
    """A research as the history shows it."""

    task_id: str
    query: str
    status: ResearchStatus
    language: str
    asked_by: str
    created_at: dt.datetime
    started_at: dt.datetime | None
    ended_at: dt.datetime | None
    progress: float
    score: Score | None
    error: str | None


class ResearchView(Wire):
    """A research with all that it has so far; `bases` say for each note where it is from."""

    task_id: str
    query: str
    status: ResearchStatus
    language: str
    asked_by: str
    is_cancel_requested: bool
    config: SearchConfig
    options: ResearchOptions
    created_at: dt.datetime
    started_at: dt.datetime | None
    ended_at: dt.datetime | None
    progress: float
    plan: Plan | None
    notes: list[Note]
    bases: list[NoteBasis] = Field(exclude=True)
    blueprint: ModelBlueprint | None
    report: ResearchReport | None
    score: Score | None
    usage: ResearchUsage
    error: str | None
    warnings: list[str]


def summary_of(row: ResearchRow) -> ResearchSummary:
    named = {name: getattr(row, name) for name in ResearchSummary.model_fields if name in row._fields}
    score = None if row.score is None else Score.model_validate(row.score)
    return ResearchSummary(**named | {"score": score}, task_id=row.id)


def view_of(research: Research, latest: ResearchEvent | None, usage: Usage) -> ResearchView:
    """A research as its row and what its steps gave tell it."""
    outputs = research.outputs
    plan = _result(Plan, outputs, StepType.PLAN)
    found = _result(SearchAgentResult, outputs, StepType.DEEP_SEARCH)
    blueprint = _result(ModelBlueprint, outputs, StepType.MODELING)
    report = _result(ResearchReport, outputs, StepType.REPORTING)
    score = outputs.get(StepType.REPORTING, {}).get("score")
    documents = (one.metadata for one in (plan, found, blueprint, report) if one is not None)
    same = set(ResearchView.model_fields) & set(Research.model_fields) - {"config", "options"}
    return ResearchView(
        **research.model_dump(include=same),
        task_id=research.id,
        config=SearchConfig.model_validate(research.config),
        options=ResearchOptions.model_validate(research.options),
        progress=float(latest.data["progress"]) if latest else 0.0,
        plan=plan,
        notes=found.notes if found else [],
        bases=bases_of(outputs),
        blueprint=blueprint,
        report=report,
        score=None if score is None else Score.model_validate(score),
        usage=_usage(usage),
        warnings=_warnings(documents),
    )


def bases_of(outputs: Mapping[str, Any]) -> list[NoteBasis]:
    return [NoteBasis.model_validate(output) for output in outputs.get(StepType.DEEP_SEARCH, {}).get("bases", [])]


def _result(kind: Any, outputs: Mapping[str, Any], step: StepType) -> Any:
    kept = outputs.get(step)
    return None if kept is None else kind.model_validate(kept["result"])


def _warnings(documents: Any) -> list[str]:
    said: list[str] = []
    for metadata in documents:
        assert isinstance(metadata, Metadata)  # noqa: S101 -- for the type checker
        said += metadata.warnings
    return list(dict.fromkeys(said))


def _usage(usage: Usage) -> ResearchUsage:
    names = set(StepUsage.model_fields)
    by_phase = {name: StepUsage(**one.model_dump(include=names)) for name, one in usage.by_phase.items()}
    return ResearchUsage(**usage.model_dump(include=names), by_phase=by_phase)
