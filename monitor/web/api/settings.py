"""The API of the settings: what holds and who says so, trials of model and search, prompts, storage."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path
from pydantic import BaseModel, ConfigDict, Field

from monitor.app.configuring import Change, SecretWire, SettingWire
from monitor.app.prompts import PromptWire
from monitor.app.storage import StorageWire
from monitor.bootstrap import App
from monitor.domain.prompts import MOST_CHARS
from monitor.domain.searching import ToolResult
from monitor.errors import NotFound
from monitor.store.retention import Pruned
from monitor.web.gate import Admin
from monitor.web.problems import PROBLEMS
from monitor.web.settings_work import ModelTrials, SettingsWork

_CHANGES = {
    "another model": {"value": {"llm.model": "qwen-plus", "llm.temperature": 0.2}},
    "a key": {"value": {"llm.api_key": "sk-0000"}},
    "a search service": {"value": {"search.backend": "searxng", "search.backends.searxng.base_url": "http://10.0.0.5"}},
}
SettingPath = Annotated[str, Path(max_length=200, description="As `llm.model` or `secrets.OPENAI_API_KEY`.")]
PromptName = Annotated[str, Path(max_length=60, description="As `summary.user.zh`.")]


class SettingsWire(BaseModel):
    """All settings with who decides them, and all secrets with whether they are there."""

    settings: list[SettingWire]
    secrets: list[SecretWire]


class Changes(BaseModel):
    """What was changed; of secrets, only that they were."""

    changes: list[Change]


class SearchTry(BaseModel):
    """Which backend to ask, and what."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"backend": "searxng", "query": "碳市场"}]})

    backend: str = Field(max_length=40)
    query: str = Field(min_length=1, max_length=200)


class PromptText(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "概括下面的文章，两句话。{rules}\n标题：{title}\n{text}"}]}
    )

    text: str = Field(max_length=MOST_CHARS)


class PromptList(BaseModel):
    """All wordings, in the order of the work."""

    prompts: list[PromptWire]


class PruneRequest(BaseModel):
    """What is older than so many days is forgotten; null = what the settings say."""

    days: int | None = Field(default=None, strict=True, ge=1, le=100_000)


def router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["settings"], responses=PROBLEMS)
    work = SettingsWork(app)

    @routes.get("/settings", summary="All settings and who decides them")
    async def settings(visitor: Admin) -> SettingsWire:
        """Passwords within addresses are left out, and of secrets it is told whether they are set."""
        del visitor
        return SettingsWire(settings=app.configuring.all(), secrets=app.configuring.secrets())

    @routes.patch("/settings", summary="Store settings")
    async def change(
        visitor: Admin, values: Annotated[dict[str, Any], Body(openapi_examples=_CHANGES, max_length=200)]
    ) -> Changes:
        """Values by path, all or none; what needs no restart takes effect at once.

        `secrets.NAME` is the secret that stands for that environment variable, `llm.api_key` the one that the model's
        key is read from.
        """
        return Changes(changes=await work.change(visitor, values))

    @routes.delete("/settings/{path}", summary="Let the file hold again")
    async def forget(visitor: Admin, path: SettingPath) -> Changes:
        """What was stored under the path is forgotten, be it a setting or a secret."""
        changes = await work.forget(visitor, [path])
        if not changes:
            raise NotFound(f"Nothing is stored for {path!r}.")
        return Changes(changes=changes)

    @routes.post("/settings/model/test", summary="Ask the model for one word")
    async def try_model(visitor: Admin) -> ModelTrials:
        """Every configured model is asked once: how long it took, or why no answer came."""
        del visitor
        return await work.try_model()

    @routes.post("/settings/search/test", summary="Ask one search backend")
    async def try_search(visitor: Admin, asked: SearchTry) -> ToolResult:
        """A few results, or `errors` that say why there are none; an unknown backend is one of them."""
        del visitor
        return await work.try_search(asked.backend, asked.query)

    @routes.get("/storage", summary="Where the data lies, and how much there is")
    async def storage(visitor: Admin) -> StorageWire:
        """Database, data folder, evidence, free room."""
        del visitor
        return await app.storage.look()

    @routes.post("/storage/prune", summary="Forget what is old")
    async def prune(visitor: Admin, asked: PruneRequest) -> Pruned:
        """Texts, records and bundles older than `work.retention_days`; known urls stay known."""
        return await work.prune(visitor, asked.days)

    _add_prompts(routes, app, work)
    return routes


def _add_prompts(routes: APIRouter, app: App, work: SettingsWork) -> None:
    @routes.get("/prompts", summary="All prompts")
    async def prompts(visitor: Admin) -> PromptList:
        """The wordings that hold, and ours."""
        del visitor
        return PromptList(prompts=await app.prompts.all())

    @routes.get("/prompts/{name}", summary="One prompt")
    async def prompt(visitor: Admin, name: PromptName) -> PromptWire:
        """The wording that holds, ours, and the placeholders that it has to have."""
        del visitor
        return await app.prompts.get(name)

    @routes.put("/prompts/{name}", summary="Adjust a prompt")
    async def put(visitor: Admin, name: PromptName, wording: PromptText) -> PromptWire:
        """The wording holds for the next run and the next briefing; its placeholders are checked."""
        return await work.put_prompt(visitor, name, wording.text)

    @routes.delete("/prompts/{name}", summary="Back to our prompt")
    async def back(visitor: Admin, name: PromptName) -> PromptWire:
        return await work.take_back_prompt(visitor, name)
