"""The messages of a research's stream, in the seed's format, and how far along it is."""

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class StepType(StrEnum):
    PLAN = "plan"
    DEEP_SEARCH = "deep_search"
    MODELING = "modeling"
    REPORTING = "reporting"


STEP_IDS = {
    StepType.PLAN: "plan",
    StepType.DEEP_SEARCH: "search",
    StepType.MODELING: "model",
    StepType.REPORTING: "report",
}
"""The older names of the steps, which the messages carry too."""

WEIGHTS = {StepType.PLAN: 0.05, StepType.DEEP_SEARCH: 0.6, StepType.MODELING: 0.1, StepType.REPORTING: 0.25}
"""How much of the whole a step is; together 1."""

LABELS = {
    StepType.PLAN: {"zh": "研究计划", "en": "Research plan"},
    StepType.DEEP_SEARCH: {"zh": "多源深度搜索", "en": "Deep search of many sources"},
    StepType.MODELING: {"zh": "主题建模", "en": "Model of the topic"},
    StepType.REPORTING: {"zh": "撰写报告", "en": "Writing the report"},
}
"""What people call the steps."""

Status = Literal["start", "progress", "complete", "error"]


class StepEvent(BaseModel):
    """A message. A step that begins anew, after a crash, says `start` once more: its chunks begin anew with it.

    `payload` holds `chunk` (more text), `result` (the step's document, with its last message), `metadata`, `error`.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    step_id: str
    step_type: StepType
    status: Status
    progress: float = Field(ge=0, le=1)
    label: str
    payload: dict[str, Any] = Field(default_factory=dict)

    def wire(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True)


def progress_at(step: StepType, share: float) -> float:
    """How much of the whole is done when so much of a step is, 0 to 1; three decimals."""
    before = sum(WEIGHTS[one] for one in list(StepType)[: list(StepType).index(step)])
    return round(min(before + WEIGHTS[step] * min(max(share, 0.0), 1.0), 1.0), 3)
