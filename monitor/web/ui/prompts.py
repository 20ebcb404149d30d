"""Settings: the prompts, and the storage."""

import difflib
import re
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response

from monitor.bootstrap import App
from monitor.errors import NotFound, UsageError
from monitor.i18n.message import Message
from monitor.services.prompts import PromptSchema
from monitor.web.auth import Admin, Principal
from monitor.web.ui.rendering import TemplateRenderer

_TOKEN_PATTERN = re.compile(r"\{[a-z_]+\}|[A-Za-z0-9_]+|\s+|.", re.DOTALL)


def router(app: App, renderer: TemplateRenderer) -> APIRouter:
    routes = APIRouter(prefix="/settings")

    def show(
        request: Request,
        principal: Principal,
        prompt: PromptSchema,
        *,
        typed: str | None = None,
        error: Message | None = None,
    ) -> Response:
        return renderer.render_page(
            request,
            principal,
            "settings/prompt.html",
            section="settings",
            prompt=prompt,
            error=error,
            typed=prompt.text if typed is None else typed,
            pieces=diff_prompts(prompt.ours, prompt.text) if prompt.is_adjusted else [],
            status=HTTPStatus.BAD_REQUEST if error else HTTPStatus.OK,
        )

    @routes.get("/prompts")
    async def prompts(request: Request, principal: Admin) -> Response:
        """All wordings, in the order of the work."""
        found = await app.prompts.list_prompts()
        return renderer.render_page(request, principal, "settings/prompts.html", section="settings", prompts=found)

    @routes.get("/prompts/{name}")
    async def prompt(request: Request, principal: Admin, name: str) -> Response:
        """One wording, and how it differs from ours."""
        return show(request, principal, await app.prompts.get(name))

    @routes.post("/prompts/{name}")
    async def put(request: Request, principal: Admin, name: str, text: Annotated[str, Form()] = "") -> Response:
        """Another wording; one that could not do its work comes back with the reason."""
        try:
            await app.prompts.put(name, text, by=principal.actor)
        except NotFound:
            raise
        except UsageError as error:
            return show(request, principal, await app.prompts.get(name), typed=text, error=error.message)
        return renderer.redirect(f"/settings/prompts/{name}", notice="saved")

    @routes.post("/prompts/{name}/back")
    async def back(principal: Admin, name: str) -> Response:
        await app.prompts.reset(name, by=principal.actor)
        return renderer.redirect(f"/settings/prompts/{name}", notice="ours_again")

    @routes.get("/storage")
    async def storage(request: Request, principal: Admin) -> Response:
        """Where things lie and what they take up."""
        return renderer.render_page(
            request,
            principal,
            "settings/storage.html",
            section="settings",
            storage=await app.storage.measure(),
            pruned=None,
        )

    @routes.post("/storage/prune")
    async def prune(request: Request, principal: Admin) -> Response:
        """Forget now what the service forgets daily."""
        pruned = await app.retention.prune(None, by=principal.actor)
        return renderer.render_page(
            request,
            principal,
            "settings/storage.html",
            section="settings",
            storage=await app.storage.measure(),
            pruned=pruned,
        )

    return routes


def diff_prompts(ours: str, theirs: str) -> list[tuple[str, str]]:
    """The wording piece by piece: `equal`, `del` for what is only in ours, `ins` for what is only in theirs."""
    old, new = _TOKEN_PATTERN.findall(ours), _TOKEN_PATTERN.findall(theirs)
    pieces: list[tuple[str, str]] = []
    for kind, begin, end, new_begin, new_end in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if kind == "equal":
            pieces.append(("equal", "".join(old[begin:end])))
            continue
        pieces += [("del", "".join(old[begin:end])), ("ins", "".join(new[new_begin:new_end]))]
    return [(kind, text) for kind, text in pieces if text]
