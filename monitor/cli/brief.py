"""`monitor brief`: a ranked briefing of a period."""

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from monitor.cli.terminal import (
    OptionValue,
    add_options,
    check_output,
    collect_given,
    get_terminal,
    parse_day,
    write_output,
)
from monitor.errors import UsageError
from monitor.exports.registry import BRIEFING_FORMATS, get_format
from monitor.vocabulary import ItemType

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.briefing.compose import Briefing


_OPTIONS: dict[str, Any] = {
    "day": Annotated[
        dt.date | None, typer.Option("--date", parser=parse_day, metavar="D", help="The last day; default today.")
    ],
    "days": Annotated[
        int | None,
        typer.Option("--days", min=1, max=3660, metavar="N", help="So many days, up to that day; default 1."),
    ],
    "top": Annotated[int | None, typer.Option("--top", min=1, metavar="N", help="Show so many items in full.")],
    "sources": Annotated[list[str] | None, typer.Option("--source", help="Only of this source; may be repeated.")],
    "tags": Annotated[list[str] | None, typer.Option("--tag", help="Only sources with this tag; may be repeated.")],
    "types": Annotated[list[ItemType] | None, typer.Option("--type", help="Only of this type; may be repeated.")],
    "keywords": Annotated[
        list[str] | None,
        typer.Option(
            "--keyword", metavar="WORD", help="Only with this word in title, summary or text; may be repeated."
        ),
    ],
    "group": Annotated[
        Literal["theme", "source", "none"] | None,
        typer.Option("--group", help="Under which headings the items stand; default theme."),
    ],
    "language": Annotated[
        str | None, typer.Option("--lang", metavar="zh|en", help="The language of the briefing's words; default zh.")
    ],
}
"""By the fields of a briefing's query."""


@add_options(_OPTIONS)
def brief(
    form: Annotated[str, typer.Option("--format", metavar="FMT", help=f"{' '.join(BRIEFING_FORMATS)}.")] = "md",
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write there, not to stdout.")] = None,
    template: Annotated[
        Path | None, typer.Option("--template", metavar="FILE", help="The firm's Word file that a docx is made from.")
    ] = None,
    from_file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Write the briefing of this JSON file in the format.")
    ] = None,
    **options: OptionValue,
) -> None:
    get_format(form, BRIEFING_FORMATS)
    check_output(form, out)
    query = collect_given(options)
    if from_file is not None and query:
        raise UsageError("brief.from_stands_alone")
    stored = _read_briefing(from_file) if from_file is not None else None

    async def compose(app: "App") -> tuple[bytes, int]:
        from monitor.services.briefings import BriefingQuery

        briefing = stored or await app.briefings.compose(BriefingQuery(**query))
        return await app.exports.export_briefing(briefing, form, template=template), len(briefing.items)

    terminal = get_terminal()
    content, count = terminal.run(compose)
    write_output(terminal, content, form, out, count)


def _read_briefing(file: Path) -> "Briefing":
    from pydantic import ValidationError

    from monitor.briefing.compose import Briefing

    try:
        return Briefing.model_validate_json(file.read_bytes())
    except OSError as error:
        raise UsageError("file.not_read", path=file, reason=error.strerror) from None
    except ValidationError:
        raise UsageError("brief.not_a_briefing", path=file) from None
