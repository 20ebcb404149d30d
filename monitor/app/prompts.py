"""The use cases around prompts: look at the wordings, put another one in place of ours, take ours back."""

from pydantic import BaseModel

from monitor.briefing.overview import OVERVIEW_PROMPTS
from monitor.domain.desk import StoredPrompt
from monitor.domain.prompts import Prompt, Prompts
from monitor.errors import NotFound, UsageError
from monitor.logs import logger_of
from monitor.ports import Clock
from monitor.ranking.prompt import RANKING_PROMPTS
from monitor.research.prompts import RESEARCH_PROMPTS
from monitor.store import Store
from monitor.store.sessions import storable
from monitor.sweep.prompts import SWEEP_PROMPTS

_ALL = (*SWEEP_PROMPTS, *RANKING_PROMPTS, *OVERVIEW_PROMPTS, *RESEARCH_PROMPTS)

PROMPTS: dict[str, Prompt] = {one.name: one for one in _ALL}
"""Every wording, by name, in the order of the work."""

_log = logger_of("prompts")


class PromptWire(BaseModel):
    """A wording. `text` is the one that holds; `complaint` says why a stored one does not."""

    name: str
    language: str
    text: str
    ours: str
    is_adjusted: bool
    required: list[str]
    optional: list[str]
    by: str | None = None
    complaint: str | None = None


class PromptDesk:
    """Keeps the wordings that administrators put in place of ours. A run takes those that hold when it begins."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def in_force(self) -> Prompts:
        """The wordings that hold now; one that cannot do its work any more, after an upgrade, gives way to ours."""
        adjusted = {}
        for row in await self._store.prompts.all():
            complaint = _complaint(row)
            if complaint is None:
                adjusted[row.name] = row.text
            else:
                _log.warning("stored wording not used", prompt=row.name, reason=complaint)
        return Prompts(adjusted)

    async def all(self) -> list[PromptWire]:
        rows = {row.name: row for row in await self._store.prompts.all()}
        return [_wire(prompt, rows.get(name)) for name, prompt in PROMPTS.items()]

    async def get(self, name: str) -> PromptWire:
        """One wording; `NotFound` where there is none of that name."""
        prompt = _named(name)
        rows = {row.name: row for row in await self._store.prompts.all()}
        return _wire(prompt, rows.get(name))

    async def put(self, name: str, text: str, *, by: str) -> PromptWire:
        """Let this wording hold from the next run on; `UsageError` where it could not do the work of ours."""
        prompt = _named(name)
        text = storable(text.replace("\r\n", "\n"))
        prompt.check(text)
        if text.strip() == prompt.text.strip():
            await self._store.prompts.forget(name)
        else:
            await self._store.prompts.put(StoredPrompt(name=name, text=text, by=by, at=self._clock.now()))
        return await self.get(name)

    async def back(self, name: str) -> bool:
        """Let ours hold again; False where it did."""
        return await self._store.prompts.forget(_named(name).name)


def _named(name: str) -> Prompt:
    if name not in PROMPTS:
        raise NotFound(f"There is no prompt {name!r}; known are {', '.join(PROMPTS)}.")
    return PROMPTS[name]


def _complaint(row: StoredPrompt) -> str | None:
    try:
        _named(row.name).check(row.text)
    except UsageError as error:
        return str(error)
    return None


def _wire(prompt: Prompt, row: StoredPrompt | None) -> PromptWire:
    complaint = _complaint(row) if row is not None else None
    is_adjusted = row is not None and complaint is None
    return PromptWire(
        name=prompt.name,
        language=prompt.language,
        text=row.text if row is not None and is_adjusted else prompt.text,
        ours=prompt.text,
        is_adjusted=is_adjusted,
        required=sorted(prompt.required),
        optional=sorted(prompt.optional),
        by=row.by if row is not None and is_adjusted else None,
        complaint=complaint,
    )
