"""Lists of sources in and out, by page: seen first, then stored."""

import base64
import binascii
from http import HTTPStatus
from pathlib import PurePath

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData, UploadFile

from monitor.app.exchange import MOST_BYTES, Form, form_of
from monitor.bootstrap import App
from monitor.errors import UsageError
from monitor.web.api.sources import exported
from monitor.web.gate import Admin, Reader
from monitor.web.rendering import Look
from monitor.web.source_fields import said
from monitor.web.source_work import SourceWork, is_good

_SHOWN = 300


def add_exchange(routes: APIRouter, app: App, look: Look) -> None:
    work = SourceWork(app)

    @routes.get("/export")
    async def export(visitor: Reader, format: str = "yaml") -> Response:  # noqa: A002 -- as the API calls it
        del visitor
        if format not in set(Form):
            raise UsageError(f"Sources are exported as yaml, opml or csv, not as {format!r}.")
        return await exported(app, Form(format))

    @routes.get("/import")
    async def choose(request: Request, visitor: Admin) -> Response:
        """A file to choose, or a list to paste."""
        return look.page(request, visitor, "sources/import.html", section="sources", forms=list(Form), error="")

    @routes.post("/import")
    async def bring_in(request: Request, visitor: Admin) -> Response:
        """First what would become of each entry; then, when that was seen, the list is stored as a whole."""
        try:
            async with request.form() as given:  # closes the uploaded file
                content, form = await _content(given)
                is_seen = "store" in given
            entries = await work.examine(content, form, where=look.text(visitor, "The list"))
            if is_seen and is_good(entries):
                await work.bring_in(visitor, content, form, where="the list")
                return look.back("/sources", notice="sources_imported")
        except UsageError as error:
            return look.page(
                request,
                visitor,
                "sources/import.html",
                section="sources",
                forms=list(Form),
                error=said(str(error), visitor.language),
                status=HTTPStatus.BAD_REQUEST,
            )
        return look.page(
            request,
            visitor,
            "sources/preview.html",
            section="sources",
            entries=entries[:_SHOWN],
            count=len(entries),
            counts={kind: sum(entry.newness == kind for entry in entries) for kind in ("new", "taken", "wrong")},
            is_good=is_good(entries),
            packed=base64.b64encode(content).decode(),
            form=form,
            said=lambda sentence: said(sentence, visitor.language),
        )


async def _content(given: FormData) -> tuple[bytes, Form]:
    """What was uploaded or pasted, or is sent again after it was seen; the name of a file is no path, only a word."""
    form, packed = str(given.get("form") or ""), given.get("packed")
    if isinstance(packed, str) and packed:
        try:
            return base64.b64decode(packed, validate=True), Form(form)
        except (binascii.Error, ValueError):
            raise UsageError("The list arrived damaged: choose the file again.") from None
    file = given.get("file")
    if isinstance(file, UploadFile) and file.filename:
        content = await file.read(MOST_BYTES + 1)
        return content, Form(form) if form in set(Form) else form_of(PurePath(file.filename).name)
    pasted = str(given.get("text") or "").strip()
    if not pasted:
        raise UsageError("Choose a file, or paste a list.")
    return pasted.encode(), Form(form) if form in set(Form) else _guessed(pasted)


def _guessed(text: str) -> Form:
    """The form of a pasted list, by how it begins."""
    if text.startswith("<"):
        return Form.OPML
    head = text.partition("\n")[0]
    return Form.CSV if ":" not in head and any(sign in head for sign in ",;\t") else Form.YAML
