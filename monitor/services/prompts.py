"""The prompts: the built-in ones, and those that administrators put in their place."""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache

from monitor.db.sessions import sanitize_text
from monitor.db.tables.people import StoredPrompt
from monitor.errors import NotFound, UsageError
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.llm.prompts import Prompt, PromptSet
from monitor.logs import get_logger
from monitor.services.audit import Actor, AuditAction, AuditedService
from monitor.vocabulary import Role

PromptsLoader = Callable[[], Awaitable[PromptSet]]
_log = get_logger("settings")


@cache
def load_prompts() -> Mapping[str, Prompt]:
    from monitor.briefing.overview import OVERVIEW_PROMPTS
    from monitor.ranking.prompt import RANKING_PROMPTS
    from monitor.ranking.topic_model import TOPIC_PROMPTS
    from monitor.research.prompts import RESEARCH_PROMPTS
    from monitor.sweep.prompts import SWEEP_PROMPTS
    from monitor.verify.second_reader import VERIFY_PROMPTS

    prompts = (*SWEEP_PROMPTS, *RANKING_PROMPTS, *TOPIC_PROMPTS, *VERIFY_PROMPTS, *OVERVIEW_PROMPTS, *RESEARCH_PROMPTS)
    return {prompt.name: prompt for prompt in prompts}


class PromptSchema(MessageModel):
    """A prompt. `text` is the wording in use, `ours` the built-in one; `complaint` is why a stored one is not used."""

    name: str
    language: str
    text: str
    ours: str
    is_adjusted: bool
    required: list[str]
    optional: list[str]
    by: str | None = None
    complaint: Message | None = None


class PromptService(AuditedService):
    """Stores the prompts that administrators put in place of the built-in ones. A run uses those at its start."""

    async def load_active(self) -> PromptSet:
        """Return the prompts in use; a stored one that is no longer valid, after an upgrade, is left out."""
        adjusted = {}
        for row in await self.store.prompts.list_all():
            complaint = _find_problem(row)
            if complaint is None:
                adjusted[row.name] = row.text
            else:
                _log.warning("stored prompt not used", prompt=row.name, reason=render(complaint, "en"))
        return PromptSet(adjusted)

    async def list_prompts(self) -> list[PromptSchema]:
        rows = {row.name: row for row in await self.store.prompts.list_all()}
        return [_build_prompt_schema(prompt, rows.get(name)) for name, prompt in load_prompts().items()]

    async def get(self, name: str) -> PromptSchema:
        prompt = _get_prompt(name)
        rows = {row.name: row for row in await self.store.prompts.list_all()}
        return _build_prompt_schema(prompt, rows.get(name))

    async def put(self, name: str, text: str, *, by: Actor) -> PromptSchema:
        """Use this wording from the next run on; `UsageError` where a placeholder is missing or unknown."""
        by.require(Role.ADMIN)
        prompt = _get_prompt(name)
        text = sanitize_text(text.replace("\r\n", "\n"))
        prompt.check(text)
        async with self.store.transaction():
            before = await self.get(name)
            if text.strip() == prompt.text.strip():
                await self.store.prompts.delete(name)
            else:
                await self.store.prompts.save(StoredPrompt(name=name, text=text, by=by.name, at=self.clock.now()))
            after = await self.get(name)
            if after.text != before.text:
                await self.record(by, AuditAction.PROMPT_CHANGE, name, before=before.text, after=after.text)
        return after

    async def reset(self, name: str, *, by: Actor) -> PromptSchema:
        """Use the built-in wording again; `NotFound` where it is in use."""
        by.require(Role.ADMIN)
        async with self.store.transaction():
            before = await self.get(name)
            if not await self.store.prompts.delete(name):
                raise NotFound("prompt.not_adjusted", prompt=name)
            after = await self.get(name)
            await self.record(by, AuditAction.PROMPT_BACK, name, before=before.text, after=after.text)
        return after


def _get_prompt(name: str) -> Prompt:
    prompts = load_prompts()
    if name not in prompts:
        raise NotFound("prompt.not_found", prompt=name, known=list(prompts))
    return prompts[name]


def _find_problem(row: StoredPrompt) -> Message | None:
    try:
        _get_prompt(row.name).check(row.text)
    except UsageError as error:
        return error.message
    return None


def _build_prompt_schema(prompt: Prompt, row: StoredPrompt | None) -> PromptSchema:
    complaint = _find_problem(row) if row is not None else None
    used = row if complaint is None else None
    return PromptSchema(
        name=prompt.name,
        language=prompt.language,
        text=used.text if used else prompt.text,
        ours=prompt.text,
        is_adjusted=used is not None,
        required=sorted(prompt.required),
        optional=sorted(prompt.optional),
        by=used.by if used else None,
        complaint=complaint,
    )
