"""The API of the settings: what holds and who says so, trials of model and search, prompts, storage."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path
from pydantic import BaseModel, Field
from pydantic.config import JsonDict

from monitor.bootstrap import App
from monitor.db.maintenance import PruneResult
from monitor.errors import NotFound
from monitor.llm.examination import ModelTrial, examine_models
from monitor.llm.prompts import MAX_PROMPT_CHARS
from monitor.search.contract import ToolResult
from monitor.services.prompts import PromptSchema
from monitor.services.settings import SecretSettingSchema, SettingChange, SettingSchema
from monitor.services.usage import StorageSchema
from monitor.web.auth import Admin, AppDep
from monitor.web.problems import PROBLEM_RESPONSES

_MAX_TRIAL_RESULTS = 3
_EXAMPLE_CHANGES = {
    "another model": {"value": {"llm.model": "qwen-plus", "llm.temperature": 0.2}},
    "a key": {"value": {"llm.api_key": "sk-0000"}},
    "a search service": {"value": {"search.backend": "searxng", "search.backends.searxng.base_url": "http://10.0.0.5"}},
}

_EXAMPLE_PROMPT: JsonDict = {"text": "概括下面的文章，两句话。{rules}\n标题：{title}\n{text}"}

SettingPath = Annotated[str, Path(max_length=200, description="As `llm.model` or `secrets.OPENAI_API_KEY`.")]
PromptName = Annotated[str, Path(max_length=60, description="As `summary.user.zh`.")]

router = APIRouter(prefix="/api/v1", tags=["settings"], responses=PROBLEM_RESPONSES)


class ModelTrials(BaseModel):
    """What came of asking the models; none is asked where the model is off."""

    is_on: bool
    trials: list[ModelTrial]


async def try_model(app: App) -> ModelTrials:
    """Try every configured model as the settings are now."""
    client = app.models.get_client()
    return ModelTrials(is_on=client is not None, trials=await examine_models(client) if client is not None else [])


async def try_search(app: App, backend: str | None, query: str, **wishes: int | str) -> ToolResult:
    """Search for a few results, as the settings are now; `backend` has commas between several names."""
    return await app.search.search({"query": query, "max_results": _MAX_TRIAL_RESULTS, **wishes}, backend=backend)


class SettingListSchema(BaseModel):
    """All settings with who decides them, and all secrets with whether they are there."""

    settings: list[SettingSchema]
    secrets: list[SecretSettingSchema]
    next: None = None


class SettingChangeListSchema(BaseModel):
    """What was changed; of secrets, only that they were."""

    changes: list[SettingChange]


class SearchTestRequest(BaseModel, json_schema_extra={"examples": [{"backend": "searxng", "query": "碳市场"}]}):
    """Which backend to ask, and what."""

    backend: str = Field(max_length=40)
    query: str = Field(min_length=1, max_length=200)


class PromptRequest(BaseModel, json_schema_extra={"examples": [_EXAMPLE_PROMPT]}):
    text: str = Field(max_length=MAX_PROMPT_CHARS)


class PromptListSchema(BaseModel):
    """All wordings, in the order of the work."""

    prompts: list[PromptSchema]
    next: None = None


class PruneRequest(BaseModel):
    """What is older than so many days is forgotten; null = what the settings say."""

    days: int | None = Field(default=None, strict=True, ge=1, le=100_000)


@router.get("/settings", summary="All settings and who decides them")
async def list_settings(app: AppDep, _: Admin) -> SettingListSchema:
    """Passwords within addresses are left out, and of secrets it is told whether they are set."""
    return SettingListSchema(
        settings=app.settings_service.list_settings(), secrets=await app.settings_service.list_secrets()
    )


@router.patch("/settings", summary="Store settings")
async def update_settings(
    app: AppDep,
    principal: Admin,
    values: Annotated[dict[str, Any], Body(openapi_examples=_EXAMPLE_CHANGES, max_length=200)],
) -> SettingChangeListSchema:
    """Values by path, all or none; what needs no restart takes effect at once.

    `secrets.NAME` is the secret that stands for that environment variable, `llm.api_key` the one that the model's
    key is read from.
    """
    return SettingChangeListSchema(changes=await app.settings_service.update(values, by=principal))


@router.delete("/settings/{path}", summary="Let the file hold again")
async def reset_setting(app: AppDep, principal: Admin, path: SettingPath) -> SettingChangeListSchema:
    """What was stored under the path is forgotten, be it a setting or a secret."""
    changes = await app.settings_service.reset([path], by=principal)
    if not changes:
        raise NotFound("setting.not_stored", path=path)
    return SettingChangeListSchema(changes=changes)


@router.post("/settings/model/test", summary="Try the models")
async def check_models(app: AppDep, _: Admin) -> ModelTrials:
    """Each one is asked for words, JSON and a tool call: what it will do, what goes by rule, or why no answer came."""
    return await try_model(app)


@router.post("/settings/search/test", summary="Ask one search backend")
async def check_search_backend(app: AppDep, _: Admin, asked: SearchTestRequest) -> ToolResult:
    """A few results, or `errors` that say why there are none; an unknown backend is one of them."""
    return await try_search(app, asked.backend, asked.query)


@router.get("/storage", summary="Where the data lies, and how much there is")
async def get_storage(app: AppDep, _: Admin) -> StorageSchema:
    """Database, data folder, evidence, free room."""
    return await app.storage.measure()


@router.post("/storage/prune", summary="Forget what is old")
async def prune_storage(app: AppDep, principal: Admin, asked: PruneRequest) -> PruneResult:
    """Texts, records and bundles older than `work.retention_days`; known urls stay known."""
    return await app.retention.prune(asked.days, by=principal)


@router.get("/prompts", summary="All prompts")
async def list_prompts(app: AppDep, _: Admin) -> PromptListSchema:
    """The wordings that hold, and ours."""
    return PromptListSchema(prompts=await app.prompts.list_prompts())


@router.get("/prompts/{name}", summary="One prompt")
async def get_prompt(app: AppDep, _: Admin, name: PromptName) -> PromptSchema:
    """The wording that holds, ours, and the placeholders that it has to have."""
    return await app.prompts.get(name)


@router.put("/prompts/{name}", summary="Adjust a prompt")
async def update_prompt(app: AppDep, principal: Admin, name: PromptName, wording: PromptRequest) -> PromptSchema:
    """The wording holds for the next run and the next briefing; its placeholders are checked."""
    return await app.prompts.put(name, wording.text, by=principal)


@router.delete("/prompts/{name}", summary="Back to our prompt")
async def reset_prompt(app: AppDep, principal: Admin, name: PromptName) -> PromptSchema:
    """The wording that comes with the program holds again."""
    return await app.prompts.reset(name, by=principal)
