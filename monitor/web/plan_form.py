"""The plan of a research in a form: what a person typed, read, and its paragraphs put in another order."""

import re
from dataclasses import dataclass, replace
from typing import Self

from starlette.datastructures import FormData

from monitor.research.shapes import PlanParagraph

_DO = re.compile(r"(up|down|remove)-(\d{1,3})")


@dataclass(frozen=True)
class PlanForm:
    """A plan as it is typed; `do` is what was pressed, `focus` the paragraph that it was about, counted from 0."""

    title: str
    paragraphs: list[PlanParagraph]
    do: str = ""
    focus: int | None = None

    @classmethod
    def read(cls, form: FormData) -> Self:
        """What was typed; paragraphs in the order in which they stand on the page."""
        titles, contents = (_texts(form, name) for name in ("paragraph_title", "paragraph_content"))
        paragraphs = [
            PlanParagraph(title=title, content=content) for title, content in zip(titles, contents, strict=False)
        ]
        return cls(str(form.get("title", "")).strip(), paragraphs, str(form.get("do", "")))


def rearranged(form: PlanForm, *, most: int) -> PlanForm:
    """The plan after what was pressed: a paragraph moved, removed, or an empty one added; at most so many."""
    paragraphs = list(form.paragraphs)
    if form.do == "add" and len(paragraphs) < most:
        return replace(form, paragraphs=[*paragraphs, PlanParagraph(title="", content="")], focus=len(paragraphs))
    match = _DO.fullmatch(form.do)
    if match is None or int(match[2]) >= len(paragraphs):
        return form
    at = int(match[2])
    if match[1] == "remove":
        del paragraphs[at]
        return replace(form, paragraphs=paragraphs, focus=min(at, len(paragraphs) - 1))
    to = min(max(at + (1 if match[1] == "down" else -1), 0), len(paragraphs) - 1)
    paragraphs.insert(to, paragraphs.pop(at))
    return replace(form, paragraphs=paragraphs, focus=to)


def _texts(form: FormData, name: str) -> list[str]:
    return [str(one).replace("\r\n", "\n").strip() for one in form.getlist(name)]
