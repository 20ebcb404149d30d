"""Settings: the prompts, and the storage."""

import difflib
import re
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response

from monitor.app.prompts import PromptWire
from monitor.bootstrap import App
from monitor.errors import NotFound, UsageError
from monitor.web.gate import Admin, Visitor
from monitor.web.prompt_titles import PROMPT_TITLES
from monitor.web.rendering import Look
from monitor.web.settings_work import SettingsWork

_PIECES = re.compile(r"\{[a-z_]+\}|[A-Za-z0-9_]+|\s+|.", re.DOTALL)


def router(app: App, look: Look) -> APIRouter:
    routes = APIRouter(prefix="/settings")
    work = SettingsWork(app)

    def show(
        request: Request, visitor: Visitor, prompt: PromptWire, *, typed: str | None = None, error: str = ""
    ) -> Response:
        return look.page(
            request,
            visitor,
            "settings/prompt.html",
            section="settings",
            prompt=prompt,
            error=error,
            title=_title(prompt),
            typed=prompt.text if typed is None else typed,
            pieces=differences(prompt.ours, prompt.text) if prompt.is_adjusted else [],
            status=HTTPStatus.BAD_REQUEST if error else HTTPStatus.OK,
        )

    @routes.get("/prompts")
    async def prompts(request: Request, visitor: Admin) -> Response:
        """All wordings, in the order of the work."""
        found = [(_title(prompt), prompt) for prompt in await app.prompts.all()]
        return look.page(request, visitor, "settings/prompts.html", section="settings", prompts=found)

    @routes.get("/prompts/{name}")
    async def prompt(request: Request, visitor: Admin, name: str) -> Response:
        """One wording, and how it differs from ours."""
        return show(request, visitor, await app.prompts.get(name))

    @routes.post("/prompts/{name}")
    async def put(request: Request, visitor: Admin, name: str, text: Annotated[str, Form()] = "") -> Response:
        """Another wording; one that could not do its work comes back with the reason."""
        try:
            await work.put_prompt(visitor, name, text)
        except NotFound:
            raise
        except UsageError as error:
            return show(request, visitor, await app.prompts.get(name), typed=text, error=str(error))
        return look.back(f"/settings/prompts/{name}", notice="saved")

    @routes.post("/prompts/{name}/back")
    async def back(visitor: Admin, name: str) -> Response:
        await work.take_back_prompt(visitor, name)
        return look.back(f"/settings/prompts/{name}", notice="ours_again")

    @routes.get("/storage")
    async def storage(request: Request, visitor: Admin) -> Response:
        """Where things lie and what they take up."""
        return look.page(
            request, visitor, "settings/storage.html", section="settings", storage=await app.storage.look(), pruned=None
        )

    @routes.post("/storage/prune")
    async def prune(request: Request, visitor: Admin) -> Response:
        """Forget now what the service forgets daily."""
        pruned = await work.prune(visitor)
        return look.page(
            request,
            visitor,
            "settings/storage.html",
            section="settings",
            storage=await app.storage.look(),
            pruned=pruned,
        )

    return routes


def differences(ours: str, theirs: str) -> list[tuple[str, str]]:
    """The wording piece by piece: `equal`, `del` for what is only in ours, `ins` for what is only in theirs."""
    one, other = _PIECES.findall(ours), _PIECES.findall(theirs)
    pieces: list[tuple[str, str]] = []
    for kind, begin, end, other_begin, other_end in difflib.SequenceMatcher(None, one, other, False).get_opcodes():
        if kind == "equal":
            pieces.append(("equal", "".join(one[begin:end])))
            continue
        pieces += [("del", "".join(one[begin:end])), ("ins", "".join(other[other_begin:other_end]))]
    return [(kind, text) for kind, text in pieces if text]


def _title(prompt: PromptWire) -> str:
    return PROMPT_TITLES.get(prompt.name.rpartition(".")[0], prompt.name)
