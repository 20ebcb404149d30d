"""`monitor brief` and `monitor deliver`: a ranked briefing of a period, and briefings on their way to people."""

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from monitor.cli.parser import build_group
from monitor.cli.terminal import (
    ORIGIN_OPTIONS,
    JsonOption,
    OptionValue,
    Terminal,
    add_options,
    choose_format,
    collect_given,
    get_terminal,
    parse_day,
    write_output,
)
from monitor.errors import UsageError, WorkFailed
from monitor.exports.registry import BRIEFING_FORMATS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from monitor.bootstrap import App
    from monitor.briefing.compose import Briefing
    from monitor.services.audit import Actor
    from monitor.services.deliveries import DeliverySchema


DayOption = Annotated[
    dt.date | None, typer.Option("--date", parser=parse_day, metavar="D", help="The last day; default today.")
]
_OPTIONS: dict[str, Any] = {
    "day": DayOption,
    "days": Annotated[
        int | None,
        typer.Option("--days", min=1, max=3660, metavar="N", help="So many days, up to that day; default 1."),
    ],
    "top": Annotated[int | None, typer.Option("--top", min=1, metavar="N", help="Show so many items in full.")],
    **ORIGIN_OPTIONS,
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
    "topic": Annotated[
        str | None, typer.Option("--topic", metavar="NAME", help="Only what fits this topic, whose name stands on top.")
    ],
    "team": Annotated[
        str | None, typer.Option("--team", metavar="NAME", help="With what this team sees beside what everybody does.")
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
    *,
    gaps: Annotated[
        bool, typer.Option("--gaps/--no-gaps", help="Whether it says what could not be seen; without, for a client.")
    ] = True,
    as_json: JsonOption = False,
    **options: OptionValue,
) -> None:
    form = choose_format(form, BRIEFING_FORMATS, out, default="md", as_json=as_json)
    query = collect_given(options)
    if from_file is not None and query:
        raise UsageError("brief.from_stands_alone")
    stored = _read_briefing(from_file) if from_file is not None else None

    async def compose(app: "App") -> tuple[bytes, int]:
        from monitor.briefing.compose import drop_gaps
        from monitor.services.audit import COMMAND_LINE
        from monitor.services.briefings import BriefingQuery

        team_id = await app.teams.resolve(query.pop("team", None), COMMAND_LINE)
        briefing = stored or await app.briefings.compose(BriefingQuery(**query, team_id=team_id))
        if not gaps:
            briefing = drop_gaps(briefing)
        return await app.exports.export_briefing(briefing, form, template=template), len(briefing.items)

    terminal = get_terminal()
    content, count = terminal.run(compose)
    write_output(terminal, content, form, out, count, as_json=as_json)


def _read_briefing(file: Path) -> "Briefing":
    from pydantic import ValidationError

    from monitor.briefing.compose import Briefing

    try:
        return Briefing.model_validate_json(file.read_bytes())
    except OSError as error:
        raise UsageError("file.not_read", path=file, reason=error.strerror) from None
    except ValidationError:
        raise UsageError("brief.not_a_briefing", path=file) from None


app = build_group()
Target = Annotated[str, typer.Argument(metavar="TARGET", help="The name of a target of deliver.targets.")]


@app.command("list")
def list_deliveries(
    target: Annotated[str | None, typer.Option("--target", help="Only to this target.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List the deliveries of briefings, newest first."""
    from monitor.services.audit import COMMAND_LINE

    terminal = get_terminal()
    terminal.write_list(
        "deliveries",
        terminal.run(lambda app: app.deliveries.list(by=COMMAND_LINE, target=target, limit=limit)),
        lambda delivery: {
            "id": delivery.id,
            "target": delivery.target,
            "kind": terminal.word("delivery_kind", delivery.kind),
            "status": terminal.word("delivery", delivery.status),
            "planned": delivery.planned_at,
            "tries": delivery.attempts,
            "sent": delivery.sent_at,
            "error": delivery.last_error,
        },
        as_json=as_json,
        none="deliveries.none",
    )


@app.command("test")
def send_test(target: Target, as_json: JsonOption = False) -> None:
    """Send a test message, to see whether the target works."""
    _run_action(get_terminal(), lambda app, by: app.deliveries.send_test(target, by=by), as_json=as_json)


@app.command()
def now(target: Target, date: DayOption = None, as_json: JsonOption = False) -> None:
    """Send a target its briefing now, beside what is planned."""
    _run_action(get_terminal(), lambda app, by: app.deliveries.send_now(target, date, by=by), as_json=as_json)


@app.command()
def retry(
    delivery_id: Annotated[str, typer.Argument(metavar="ID", help="The id that `deliver list` shows.")],
    as_json: JsonOption = False,
) -> None:
    """Try a failed delivery again: the same briefing under the same key."""
    _run_action(get_terminal(), lambda app, by: app.deliveries.retry(delivery_id, by=by), as_json=as_json)


def _run_action(
    terminal: Terminal, send: "Callable[[App, Actor], Awaitable[DeliverySchema]]", *, as_json: bool
) -> None:
    """Send and print the delivery; one that did not arrive is a failure of the command."""
    from monitor.db.tables.delivery import DeliveryStatus

    delivery = terminal.act(send)
    is_sent = delivery.status is DeliveryStatus.SENT
    if as_json:
        terminal.write_json(delivery)
    elif is_sent:
        terminal.print("delivery.sent", id=delivery.id, target=delivery.target)
    if not is_sent:
        reason = terminal.to_text(delivery.last_error).rstrip(".。")
        if delivery.next_try_at is None:
            raise WorkFailed("delivery.not_sent", id=delivery.id, target=delivery.target, reason=reason)
        at = terminal.format_instant(delivery.next_try_at)
        raise WorkFailed("delivery.retried_later", id=delivery.id, target=delivery.target, reason=reason, at=at)
