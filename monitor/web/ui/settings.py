"""Settings: the overview, the pages on which model, search, limits and network are set, prompts, storage."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, get_args

from annotated_types import Ge, Gt, Le
from fastapi import APIRouter, Request, Response

from monitor.bootstrap import App
from monitor.config.model import BACKENDS
from monitor.config.stored import SEARCH_SERVICES, SECRET_PREFIX, get_setting_infos
from monitor.errors import NotFound, UsageError
from monitor.i18n.catalogue import get_words, has_message
from monitor.i18n.message import Message
from monitor.search.contract import ToolResult
from monitor.search.registry import find_missing_setting, select_backends
from monitor.services.prompts import PromptSchema
from monitor.services.settings import InvalidSettings, SettingSchema
from monitor.web.api.settings import ModelTrials, try_model, try_search
from monitor.web.auth import Admin, AppDep
from monitor.web.middleware import Problem
from monitor.web.ui.rendering import FormText, PageRenderer, Renderer, diff_tokens

FieldKind = Literal["text", "number", "choice", "switch", "words", "numbers", "pairs", "prices", "phases"]
"""How a value is typed: `words` and `numbers` are separated by commas, `pairs` stand as `name = value`, one a line."""

_KINDS: Mapping[str, FieldKind] = {
    "llm.enabled": "choice",
    "llm.provider": "choice",
    "llm.structured_output": "choice",
    "llm.thinking": "choice",
    "llm.models": "phases",
    "llm.prices": "prices",
    "network.allowed_private_hosts": "words",
    "network.proxy_suffixes": "words",
    "pages.render": "choice",
    "retrieval.authority": "pairs",
    "search.backend": "words",
    "sweep.crawl": "choice",
    "sweep.revisit_days": "numbers",
}
"""The kinds that do not follow from the type of the value."""

_PAGES = {
    "model": {
        "endpoint": "llm.enabled llm.base_url llm.provider llm.api_version llm.model",
        "phase_models": "llm.models",
        "sampling": "llm.temperature llm.top_p llm.timeout_s llm.max_retries llm.max_concurrency",
        "answers": "llm.thinking llm.reasoning_effort llm.max_tokens llm.context_tokens llm.structured_output",
        "budgets": "llm.daily_token_budget llm.run_token_budget llm.prices",
        "embeddings": "llm.embeddings.model llm.embeddings.base_url "
        "llm.embeddings.dimensions llm.embeddings.batch_size",
    },
    "search": {
        "backends": "search.backend search.timeout_ms search.cache_s",
        "weights": "search.weights.relevance search.weights.freshness search.weights.authority "
        "retrieval.half_life_days retrieval.authority",
    },
    "limits": {
        "reading": "sweep.crawl sweep.window_days sweep.max_items sweep.max_pages_per_section sweep.revisit_days",
        "model_work": "sweep.max_turns sweep.general_max_turns sweep.summary_concurrency sweep.summary_max_chars "
        "sweep.context_max_chars sweep.page_max_chars",
        "site_manners": "pages.render pages.delay_s pages.daily_requests pages.respect_robots pages.timeout_s "
        "pages.max_concurrency pages.max_bytes pages.browser.recycle_after",
        "service": "work.retention_days work.concurrency work.max_runs work.jitter_s work.blackout "
        "work.misfire_grace_s",
        "research": "research.max_paragraphs research.max_reflections research.max_results research.content_max_chars "
        "research.concurrency research.token_budget research.cost_budget",
    },
    "network": {
        "network": "network.proxy network.user_agent network.contact_url network.timeout_s network.ca_bundle "
        "network.allow_legacy_tls network.allowed_private_hosts network.proxy_suffixes pages.browser.endpoint",
        "place": "web.public_url timezone briefing.template",
    },
}
"""The settings of each page in groups; their names and hints are `setting.<path>` and `setting_hint.<path>`."""

_SEARCH_WISHES = ("max_results", "budget_ms")
_SERVICE_SETTINGS = ("base_url", "timeout_ms", "max_results", "daily_quota", "price")
_NUMBER = re.compile(r"[0-9]{1,9}")
_TOKEN_PATTERN = re.compile(r"\{[a-z_]+\}|[A-Za-z0-9_]+|\s+|.", re.DOTALL)

router = APIRouter()


@dataclass(frozen=True)
class SearchTrial:
    """A search from the page: which backends were asked, for what, with which wishes, and the answer."""

    backends: Sequence[str]
    query: str
    wishes: Mapping[str, str]
    found: ToolResult


@dataclass(frozen=True)
class SettingField:
    """A setting as a form shows it; `name` is that of its words in the catalogue."""

    path: str
    name: str
    kind: FieldKind

    @property
    def label(self) -> Message:
        return Message(f"setting.{self.name}")

    @property
    def hint(self) -> Message | None:
        code = f"setting_hint.{self.name}"
        return Message(code) if has_message("en", code) else None

    @property
    def vocabulary(self) -> str:
        return {"phases": "model_phase", "choice": f"choice.{self.path}"}.get(self.kind, "switch")

    @property
    def options(self) -> Iterable[str]:
        return get_words("en", self.vocabulary)


def list_groups(page: str) -> list[tuple[str, list[SettingField]]]:
    return [(group, [_build_field(path) for path in paths.split()]) for group, paths in _PAGES[page].items()]


def list_service_fields(service: str) -> list[SettingField]:
    return [_build_field(f"search.backends.{service}.{part}", f"search.service.{part}") for part in _SERVICE_SETTINGS]


def _build_field(path: str, name: str = "") -> SettingField:
    annotation = get_setting_infos()[path].field.annotation
    types = {annotation, *get_args(annotation)}
    kind: FieldKind = "switch" if bool in types else "number" if types & {int, float} else "text"
    return SettingField(path, name or path, _KINDS.get(path, kind))


def format_setting_value(field: SettingField, value: Any) -> Any:
    """Return the value as it stands in its control; of `phases`, one text for each."""
    if field.kind == "phases":
        return {key: (value or {}).get(key, "") for key in field.options}
    if field.kind in ("pairs", "prices"):
        lines = []
        for name, entry in value.items():
            numbers = [entry["input"], entry["output"]] if field.kind == "prices" else [entry]
            lines.append(f"{name} = {' '.join(map(_format_number, numbers))}")
        return "\n".join(lines)
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else _format_number(value)


def parse_settings_form(
    fields: Iterable[SettingField], form: Mapping[str, str], known: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the values by path that differ from the known ones; a control that was not sent is no change."""
    changed = {}
    for field in fields:
        if field.kind == "phases":
            sent = {key: form[f"{field.path}:{key}"].strip() for key in field.options if f"{field.path}:{key}" in form}
            if not sent:
                continue
            value: Any = {key: model for key, model in sent.items() if model}
        elif field.path in form:
            value = _parse_value(field, form[field.path].replace("\r\n", "\n").strip())
        else:
            continue
        if value != known.get(field.path):
            changed[field.path] = value
    return changed


def build_control_attributes(field: SettingField) -> dict[str, str]:
    """Return what a control knows of its values: the models to choose from, or the limits of a number.

    The browser checks these in its own language.
    """
    if field.path in ("llm.model", "llm.models"):
        return {"list": "offered-models"}
    if field.kind != "number":
        return {}
    attributes = {"step": "any", "inputmode": "decimal"}
    for limit in get_setting_infos()[field.path].field.metadata:
        match limit:
            case Ge(ge=least) | Gt(gt=least):
                attributes["min"] = str(least)
            case Le(le=most):
                attributes["max"] = str(most)
    return attributes


def _parse_value(field: SettingField, text: str) -> Any:
    """Return the value; a text that means none stays as it is, to be refused with its reason."""
    if field.kind == "switch":
        return text == "true"
    if field.path == "llm.enabled":
        return {"true": True, "false": False}.get(text, text)
    if field.kind in ("words", "numbers"):
        values = [part.strip() for part in text.replace("，", ",").replace("、", ",").split(",") if part.strip()]
        return values if field.kind == "words" else [_parse_number(part) for part in values]
    if field.kind in ("pairs", "prices"):
        return _parse_pairs(text, of_prices=field.kind == "prices")
    if not text:
        return None if get_setting_infos()[field.path].default is None else ""
    return _parse_number(text) if field.kind == "number" else text


def _parse_pairs(text: str, *, of_prices: bool) -> Any:
    pairs: dict[str, Any] = {}
    for line in filter(str.strip, text.split("\n")):
        name, equals, rest = line.partition("=")
        numbers = [_parse_number(part) for part in rest.split()]
        if not equals or len(numbers) != (2 if of_prices else 1):
            return line.strip()
        pairs[name.strip()] = dict(zip(("input", "output"), numbers, strict=True)) if of_prices else numbers[0]
    return pairs


def _parse_number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _format_number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) and value.is_integer() else str(value)


@dataclass(frozen=True)
class SettingRow:
    """A setting with its control: what stands in it, what is wrong with it, how it may be typed."""

    field: SettingField
    setting: SettingSchema
    value: Any
    error: Message | str | None
    attrs: Mapping[str, str]


@router.get("/settings")
async def overview(app: AppDep, renderer: Renderer, _: Admin) -> Response:
    """Show what is set, in plain words, and where it is changed."""
    prompts = await app.prompts.list_prompts()
    return renderer.render(
        "settings/overview.html",
        settings=app.settings,
        every=app.settings_service.list_settings(),
        secrets=await app.settings_service.list_secrets(),
        backends=select_backends(app.settings.search).names,
        adjusted=[prompt for prompt in prompts if prompt.is_adjusted],
        prompts=prompts,
        people=len(await app.people.list_people()),
    )


@router.post("/settings/forget")
async def forget(app: AppDep, renderer: Renderer, request: Request, principal: Admin) -> Response:
    """Let the file hold again, and go back to the page that was asked from."""
    form = await _read_form(request)
    await app.settings_service.reset([form.get("path", "")], by=principal)
    page = form.get("page", "")
    return renderer.redirect(f"/settings/{page}" if page in _PAGES else "/settings", notice="file_holds")


async def show_page(app: AppDep, renderer: Renderer, request: Request, _: Admin) -> Response:
    return await _render_page(app, renderer, request.url.path.rpartition("/")[2])


async def save_page(app: AppDep, renderer: Renderer, request: Request, principal: Admin) -> Response:
    """Store what was changed, all or nothing; a refusal shows the form again with what is wrong."""
    page, form = request.url.path.rpartition("/")[2], await _read_form(request)
    known = {setting.path: setting.value for setting in app.settings_service.list_settings()}
    groups = [fields for _, fields in list_groups(page)]
    if page == "search":
        groups += [list_service_fields(service) for service in SEARCH_SERVICES]
    values = parse_settings_form(chain.from_iterable(groups), form, known)
    values |= {path: text for path, text in form.items() if path.startswith(SECRET_PREFIX) and text.strip()}
    try:
        if values:
            await app.settings_service.update(values, by=principal)
    except InvalidSettings as refused:
        return await _render_page(app, renderer, page, sent=form, errors=refused.complaints)
    if form.get("then") == "test":
        return await _render_page(app, renderer, page, trials=await try_model(app))
    return renderer.redirect(f"/settings/{page}", notice="saved")


for _name in _PAGES:
    router.add_api_route(f"/settings/{_name}", show_page, methods=["GET"])
    router.add_api_route(f"/settings/{_name}", save_page, methods=["POST"])


@router.post("/settings/model/test")
async def check_model(app: AppDep, renderer: Renderer, _: Admin) -> Response:
    return await _render_page(app, renderer, "model", trials=await try_model(app))


@router.post("/settings/search/test")
async def check_search(app: AppDep, renderer: Renderer, request: Request, _: Admin) -> Response:
    """Search the web once; without a backend those are asked that the settings name."""
    form = await request.form()
    backends = [str(name) for name in form.getlist("backend")]
    wishes = {name: str(form.get(name) or "").strip() for name in _SEARCH_WISHES}
    query = str(form.get("query") or "").strip()[:200]
    if not query or not BACKENDS.keys() >= set(backends):
        raise Problem(400, "search.nothing_to_try")
    # What is no number is handed on as it was typed: web.search refuses it and says which values it takes.
    wanted = {name: int(text) if _NUMBER.fullmatch(text) else text for name, text in wishes.items() if text}
    found = await try_search(app, ",".join(backends) or None, query, **wanted)
    return await _render_page(app, renderer, "search", tried=SearchTrial(backends, query, wishes, found))


async def _read_form(request: Request) -> dict[str, str]:
    """Return what was typed, without files."""
    return {name: value for name, value in (await request.form()).items() if isinstance(value, str)}


async def _render_page(
    app: App,
    renderer: PageRenderer,
    page: str,
    *,
    sent: Mapping[str, str] | None = None,
    errors: Mapping[str, Message] | None = None,
    trials: ModelTrials | None = None,
    tried: SearchTrial | None = None,
) -> Response:
    """Render a page of values; where `errors` refused what was `sent`, it shows what was typed."""
    settings = {setting.path: setting for setting in app.settings_service.list_settings()}

    def build_rows(fields: Iterable[SettingField]) -> list[SettingRow]:
        return [_build_row(field, settings[field.path], sent or {}, errors or {}) for field in fields]

    search = app.settings.search
    asked = select_backends(search).names
    services = SEARCH_SERVICES if page == "search" else ()
    readers = {"model": "llm", "search": "search."}.get(page, "nothing")  # of secrets, as `llm` or `search.brave`
    return renderer.render(
        f"settings/{page}.html",
        status=400 if errors is not None else 200,
        groups=[(title, build_rows(fields)) for title, fields in list_groups(page)],
        errors=errors or {},
        trials=trials,
        offered=app.models.list_offered_models() if page == "model" else [],
        tried=tried,
        backends=list(BACKENDS) if page == "search" else [],
        secrets={
            secret.used_by: secret
            for secret in await app.settings_service.list_secrets()
            if secret.used_by.startswith(readers)
        },
        # Each search service: whether it is asked, what it lacks, its settings.
        services=[
            (name, name in asked, find_missing_setting(search, name), build_rows(list_service_fields(name)))
            for name in services
        ],
    )


def _build_row(
    field: SettingField, setting: SettingSchema, sent: Mapping[str, str], errors: Mapping[str, Message]
) -> SettingRow:
    value = format_setting_value(field, setting.value)
    if field.kind == "phases":
        value = {key: sent.get(f"{field.path}:{key}", model) for key, model in value.items()}
    else:
        value = sent.get(field.path, value)
    error = errors.get(field.path) or setting.complaint
    return SettingRow(field, setting, value, error, build_control_attributes(field))


@router.get("/settings/prompts")
async def prompts(app: AppDep, renderer: Renderer, _: Admin) -> Response:
    return renderer.render("settings/prompts.html", prompts=await app.prompts.list_prompts())


@router.get("/settings/prompts/{name}")
async def prompt(app: AppDep, renderer: Renderer, _: Admin, name: str) -> Response:
    return _render_prompt(renderer, await app.prompts.get(name))


@router.post("/settings/prompts/{name}")
async def put_prompt(app: AppDep, renderer: Renderer, principal: Admin, name: str, text: FormText = "") -> Response:
    """Store another wording; a refusal shows it again with what is wrong."""
    try:
        await app.prompts.put(name, text, by=principal)
    except NotFound:
        raise
    except UsageError as error:
        return _render_prompt(renderer, await app.prompts.get(name), typed=text, error=error.message)
    return renderer.redirect(f"/settings/prompts/{name}", notice="saved")


@router.post("/settings/prompts/{name}/back")
async def reset_prompt(app: AppDep, renderer: Renderer, principal: Admin, name: str) -> Response:
    await app.prompts.reset(name, by=principal)
    return renderer.redirect(f"/settings/prompts/{name}", notice="ours_again")


def _render_prompt(
    renderer: PageRenderer, prompt: PromptSchema, *, typed: str | None = None, error: Message | None = None
) -> Response:
    old, new = _TOKEN_PATTERN.findall(prompt.ours), _TOKEN_PATTERN.findall(prompt.text)
    return renderer.render(
        "settings/prompt.html",
        status=400 if error else 200,
        prompt=prompt,
        error=error,
        typed=prompt.text if typed is None else typed,
        pieces=diff_tokens(old, new) if prompt.is_adjusted else [],
    )


@router.get("/settings/storage")
async def storage(app: AppDep, renderer: Renderer, _: Admin) -> Response:
    return renderer.render("settings/storage.html", storage=await app.storage.measure(), pruned=None)


@router.post("/settings/storage/prune")
async def prune(app: AppDep, renderer: Renderer, principal: Admin) -> Response:
    """Forget now what the service forgets daily."""
    pruned = await app.retention.prune(None, by=principal)
    return renderer.render("settings/storage.html", storage=await app.storage.measure(), pruned=pruned)
