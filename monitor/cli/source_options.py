"""The fields of a source as options: written once, offered by `add`, `edit` and `try`."""

from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any

import typer

from monitor.cli.options import Command, Fields, given, with_options
from monitor.domain.words import Render, SourceKind
from monitor.errors import UsageError

_OPTIONS: dict[str, Any] = {
    "name": Annotated[str | None, typer.Option("--name", help="Its unique name.")],
    "url": Annotated[str | None, typer.Option("--url", help="The home page, the feed, or the query.")],
    "kind": Annotated[SourceKind | None, typer.Option("--kind", help="site, feed or query.")],
    "focus_areas": Annotated[
        list[str] | None, typer.Option("--focus", metavar="TOPIC", help="A topic that matters; may be repeated.")
    ],
    "rules": Annotated[str | None, typer.Option("--rules", help="Wishes in plain words, for the model.")],
    "sections": Annotated[
        list[str] | None, typer.Option("--section", metavar="NAME=URL", help="A pinned section; may be repeated.")
    ],
    "schedule": Annotated[str | None, typer.Option("--schedule", metavar="CRON", help='As "0 7 * * 1-5".')],
    "timezone": Annotated[str | None, typer.Option("--timezone", metavar="ZONE", help="As Europe/Berlin.")],
    "window_days": Annotated[int | None, typer.Option("--window-days", metavar="N", help="Days looked at.")],
    "max_items": Annotated[int | None, typer.Option("--max-items", metavar="N", help="Items of one section and run.")],
    "render": Annotated[Render | None, typer.Option("--render", help="When pages are drawn in the browser.")],
    "keywords_include": Annotated[
        list[str] | None, typer.Option("--include", metavar="WORD", help="Keep only titles with such a word.")
    ],
    "keywords_exclude": Annotated[
        list[str] | None, typer.Option("--exclude", metavar="WORD", help="Leave out titles with such a word.")
    ],
    "allow_other_hosts": Annotated[
        bool | None, typer.Option("--other-hosts/--no-other-hosts", help="Take links to other hosts, as reposts.")
    ],
    "tags": Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be repeated.")],
    "language": Annotated[str | None, typer.Option("--language", help="The language of the site, as zh or en.")],
    "summary_language": Annotated[str | None, typer.Option("--summary-language", help="As zh or en.")],
    "enabled": Annotated[bool | None, typer.Option("--enabled/--disabled", help="Whether it runs.")],
}


def with_source_options(*, without: Collection[str] = ()) -> Callable[[Command], Command]:
    """Give a command the fields of a source as options, in place of its `**fields`."""
    return with_options({name: annotation for name, annotation in _OPTIONS.items() if name not in without})


def given_fields(fields: Mapping[str, Fields]) -> dict[str, Any]:
    """The options that were given, as a source is written down."""
    written = given(fields)
    if "sections" in written:
        written["sections"] = [_section(text) for text in written["sections"]]
    return written


def cleared(names: Collection[str]) -> dict[str, Any]:
    """The defaults of these fields; `UsageError` for a field that has none."""
    from monitor.app.source_form import SourceForm

    clearable = [name for name in SourceForm.model_fields if name not in ("name", "url")]
    for name in names:
        if name not in clearable:
            raise UsageError(f"The field {name!r} cannot be cleared; those that can are {', '.join(clearable)}.")
    return {name: SourceForm.model_fields[name].get_default(call_default_factory=True) for name in names}


def _section(text: str) -> dict[str, str]:
    name, equals, url = text.partition("=")
    if not (name.strip() and equals and url.strip()):
        raise UsageError(f"The section {text!r} is written as NAME=URL.")
    return {"name": name.strip(), "url": url.strip()}
