"""The editor of a report's text: its sections in Markdown, beside what was verified, and its earlier versions."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData

from monitor.bootstrap import App
from monitor.errors import Conflict, UsageError
from monitor.i18n.message import Message
from monitor.research.report_edit import MAX_TITLE_CHARS, ReportText, split_sections
from monitor.services.research.report_edits import ReportTextView
from monitor.web.api.events import TaskId
from monitor.web.auth import AppDep, Editor, Principal
from monitor.web.ui.rendering import PageRenderer, Renderer

_MAX_LISTED_VERSIONS = 50
_RESTORED_PATTERN = re.compile(r"restore-(\d{1,9})")
_SECTION_PATTERN = re.compile(r"verified-(\d{1,4})")

router = APIRouter(prefix="/research")


@dataclass(frozen=True)
class EditedSection:
    """A section as it is typed, and the verified one of the same heading; empty where there is none."""

    markdown: str
    verified: str = ""
    place: int | None = None
    """The verified section's, from 0."""

    @property
    def heading(self) -> str:
        first = (self.markdown or self.verified).partition("\n")[0]
        return first.removeprefix("## ") if first.startswith("## ") else ""


@dataclass(frozen=True)
class ReportForm:
    """What stands in the form: it was made of `version`, and is not saved yet."""

    version: int
    title: str
    sections: Sequence[str]

    @classmethod
    def parse(cls, form: FormData) -> Self:
        version = str(form.get("version", ""))
        sections = [str(section).replace("\r\n", "\n").strip() for section in form.getlist("section")]
        title = " ".join(str(form.get("title", "")).split())
        return cls(int(version) if re.fullmatch(r"\d{1,9}", version) else 0, title, list(filter(None, sections)))

    @classmethod
    def of(cls, view: ReportTextView) -> Self:
        text = _split(view.markdown)
        return cls(view.version, text.title, split_sections(text.body))

    @property
    def markdown(self) -> str:
        return ReportText(self.title, "\n\n".join(self.sections)).markdown

    def pair(self, verified: Sequence[str]) -> list[EditedSection]:
        """Return the sections with the verified ones beside them; those that are gone come last, without a text."""
        left = dict(enumerate(verified))
        paired: list[EditedSection] = []
        for section in self.sections:
            heading = section.partition("\n")[0]
            place = next((number for number, text in left.items() if text.partition("\n")[0] == heading), None)
            paired.append(EditedSection(section, left.pop(place) if place is not None else "", place))
        return [*paired, *(EditedSection("", text, place) for place, text in left.items())]


@router.get("/{task_id}/edit")
async def edit_report(app: AppDep, renderer: Renderer, principal: Editor, task_id: TaskId) -> Response:
    view = await app.research.load_text(task_id, by=principal)
    return await _render(renderer, view, ReportForm.of(view))


@router.post("/{task_id}/edit")
async def save_report(
    app: AppDep, renderer: Renderer, request: Request, principal: Editor, task_id: TaskId
) -> Response:
    """Save the form, restore a version, or put a verified section into the form, which is not saved then."""
    given = await request.form()
    form, pressed = ReportForm.parse(given), str(given.get("do", ""))
    view = await app.research.load_text(task_id, by=principal)
    if section := _SECTION_PATTERN.fullmatch(pressed):
        return await _render(renderer, view, _put_verified(form, view, int(section[1])))
    try:
        if restored := _RESTORED_PATTERN.fullmatch(pressed):
            kept = await _restore(app, task_id, form, int(restored[1]), by=principal)
            return renderer.redirect(
                f"/research/{task_id}", notice="report_kept_and_restored" if kept else "report_edited"
            )
        await app.research.edit_text(task_id, form.markdown, version=form.version, by=principal)
    except Conflict as error:
        theirs = await app.research.load_text(task_id, by=principal)
        return await _render(renderer, theirs, form, status=409, trouble=error.message, is_overtaken=True)
    except UsageError as error:
        return await _render(renderer, view, form, status=400, trouble=error.message)
    return renderer.redirect(f"/research/{task_id}", notice="report_edited")


async def _restore(app: App, task_id: str, form: ReportForm, restored: int, *, by: Principal) -> bool:
    """Put an earlier version in place of the present one; whether what was typed had to be kept first, as a version."""
    version = form.version
    if form.sections:
        version = (await app.research.edit_text(task_id, form.markdown, version=version, by=by)).version
    await app.research.restore_text(task_id, restored, version=version, by=by)
    return version != form.version


def _put_verified(form: ReportForm, view: ReportTextView, place: int) -> ReportForm:
    """Return the form with a verified section in place of the one beside it, or behind the others."""
    paired = form.pair(split_sections(_split(view.verified).body))
    sections = [pair.verified if pair.place == place else pair.markdown for pair in paired]
    return ReportForm(form.version, form.title, list(filter(None, sections)))


def _split(markdown: str) -> ReportText:
    title, _, body = markdown.partition("\n")
    return ReportText(title.removeprefix("# "), body.strip())


async def _render(
    renderer: PageRenderer,
    view: ReportTextView,
    form: ReportForm,
    *,
    status: int = 200,
    trouble: Message | None = None,
    is_overtaken: bool = False,
) -> Response:
    verified = _split(view.verified)
    return await asyncio.to_thread(
        renderer.render,
        "research/edit.html",
        status=status,
        view=view,
        form=form,
        sections=form.pair(split_sections(verified.body)),
        theirs=split_sections(_split(view.markdown).body) if is_overtaken else [],
        theirs_by=view.versions[-1] if view.versions else None,
        title=verified.title,
        max_title=MAX_TITLE_CHARS,
        versions=list(reversed(view.versions))[:_MAX_LISTED_VERSIONS],
        trouble=trouble,
        is_overtaken=is_overtaken,
        is_changed=form.markdown != view.markdown,
    )
