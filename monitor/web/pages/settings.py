"""Settings: the overview, and the pages on which model, search, limits and network are set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response

from monitor.app.configuring import Refused, SecretWire, SettingWire
from monitor.bootstrap import App
from monitor.search.choosing import chosen, lacking
from monitor.settings.places import SECRETS, SERVICES
from monitor.settings.search import BACKENDS
from monitor.web.gate import Admin, Visitor
from monitor.web.problems import Problem
from monitor.web.rendering import Look
from monitor.web.settings_fields import LIMITS, MODEL, NETWORK, SEARCH, FieldGroup, SettingField, fields_of_service
from monitor.web.settings_forms import limits_of, read_form, typed
from monitor.web.settings_work import SettingsWork

_GROUPS: Mapping[str, Sequence[FieldGroup]] = {"model": MODEL, "search": SEARCH, "limits": LIMITS, "network": NETWORK}


@dataclass(frozen=True)
class Row:
    """A setting with its control: what stands in it, what is wrong with it, how it may be typed."""

    field: SettingField
    wire: SettingWire
    value: Any
    error: str
    attrs: Mapping[str, str]


@dataclass(frozen=True)
class Sent:
    """A form that was refused, and the sentences about it by path."""

    form: Mapping[str, str]
    errors: Mapping[str, str]


_NOTHING_SENT = Sent({}, {})


def router(app: App, look: Look) -> APIRouter:
    """`/settings` and the pages of values."""
    routes = APIRouter(prefix="/settings")
    work = SettingsWork(app)
    pages = _Pages(app, look, work)

    @routes.get("")
    async def overview(request: Request, visitor: Admin) -> Response:
        """What is set, in plain words, and where it is changed."""
        return await pages.overview(request, visitor)

    @routes.post("/forget")
    async def forget(request: Request, visitor: Admin) -> Response:
        """Let the file hold again, and go back to the page that was asked from."""
        form = await _form(request)
        await work.forget(visitor, [form.get("path", "")])
        page = form.get("page", "")
        return look.back(f"/settings/{page}" if page in _GROUPS else "/settings", notice="file_holds")

    for name in _GROUPS:
        _add_page(routes, name, pages, look)

    @routes.post("/model/test")
    async def try_model(request: Request, visitor: Admin) -> Response:
        """Ask the model as it is set."""
        return pages.show(request, visitor, "model", trials=await work.try_model())

    @routes.post("/search/test")
    async def try_search(request: Request, visitor: Admin) -> Response:
        """Ask one backend as it is set."""
        form = await _form(request)
        backend, query = form.get("backend", ""), form.get("query", "").strip()[:200]
        if backend not in BACKENDS or not query:
            raise Problem(400, "Choose a backend and type what to look for.")
        found = await work.try_search(backend, query)
        return pages.show(request, visitor, "search", tried=(backend, query, found))

    return routes


def _add_page(routes: APIRouter, name: str, pages: "_Pages", look: Look) -> None:
    @routes.get(f"/{name}", name=f"settings_{name}")
    async def show(request: Request, visitor: Admin) -> Response:
        return pages.show(request, visitor, name)

    @routes.post(f"/{name}", name=f"store_{name}")
    async def store(request: Request, visitor: Admin) -> Response:
        """Store what was changed; what is refused comes back with a sentence beside it, and nothing is stored."""
        form = await _form(request)
        try:
            await pages.store(visitor, name, form)
        except Refused as refused:
            return pages.show(request, visitor, name, sent=Sent(form, refused.complaints))
        if form.get("then") == "test":
            return pages.show(request, visitor, name, trials=await pages.work.try_model())
        return look.back(f"/settings/{name}", notice="saved")


class _Pages:
    def __init__(self, app: App, look: Look, work: SettingsWork) -> None:
        self._app = app
        self._look = look
        self.work = work

    async def overview(self, request: Request, visitor: Visitor) -> Response:
        app = self._app
        every = app.configuring.all()
        prompts = await app.prompts.all()
        return self._look.page(
            request,
            visitor,
            "settings/overview.html",
            section="settings",
            settings=app.settings,
            every=every,
            secrets=app.configuring.secrets(),
            backends=chosen(app.settings.search).names,
            adjusted=[prompt for prompt in prompts if prompt.is_adjusted],
            prompts=prompts,
            people=len(await app.people.all()),
        )

    async def store(self, visitor: Visitor, name: str, form: Mapping[str, str]) -> None:
        known = {one.path: one.value for one in self._app.configuring.all()}
        values = read_form(_fields(name), form, known)
        values |= {path: text for path, text in form.items() if path.startswith(SECRETS) and text.strip()}
        if values:
            await self.work.change(visitor, values)

    def show(
        self, request: Request, visitor: Visitor, name: str, *, sent: Sent | None = None, **context: Any
    ) -> Response:
        """A page of values; one that was refused shows what was typed."""
        given = sent or _NOTHING_SENT
        wires = {one.path: one for one in self._app.configuring.all()}
        groups = [(group.title, [_row(field, wires, given) for field in group.fields]) for group in _GROUPS[name]]
        shown: dict[str, Any] = {
            "groups": groups,
            "errors": given.errors,
            "trials": None,
            "tried": None,
            "secrets": self._secrets(name),
            "services": self._services(wires, given) if name == "search" else [],
        }
        status = HTTPStatus.BAD_REQUEST if sent else HTTPStatus.OK
        template = f"settings/{name}.html"
        return self._look.page(request, visitor, template, section="settings", status=status, **(shown | context))

    def _secrets(self, name: str) -> dict[str, SecretWire]:
        """The secrets of the page by who reads them, as `llm` or `search.brave`."""
        beginning = {"model": "llm", "search": "search."}.get(name, "nothing")
        return {
            secret.used_by: secret for secret in self._app.configuring.secrets() if secret.used_by.startswith(beginning)
        }

    def _services(self, wires: Mapping[str, SettingWire], sent: Sent) -> list[tuple[str, bool, str | None, list[Row]]]:
        """Each search service: whether it is asked, what it lacks, its settings."""
        search = self._app.settings.search
        asked = chosen(search).names
        return [
            (name, name in asked, lacking(search, name), [_row(one, wires, sent) for one in fields_of_service(name)])
            for name in SERVICES
        ]


def _fields(name: str) -> list[SettingField]:
    own = [field for group in _GROUPS[name] for field in group.fields]
    return own + [one for service in SERVICES for one in fields_of_service(service)] if name == "search" else own


def _row(one: SettingField, wires: Mapping[str, SettingWire], sent: Sent) -> Row:
    wire = wires[one.path]
    value = typed(one, wire.value)
    if one.kind == "phases":
        value = {key: sent.form.get(f"{one.path}:{key}", model) for key, model in value.items()}
    else:
        value = sent.form.get(one.path, value)
    return Row(one, wire, value, sent.errors.get(one.path) or wire.complaint or "", limits_of(one))


async def _form(request: Request) -> dict[str, str]:
    """What was typed; files are passed over."""
    return {name: value for name, value in (await request.form()).items() if isinstance(value, str)}
