"""`monitor evidence`: whether all evidence is as it was kept, and an item's evidence as a file that proves itself."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.parser import build_group
from monitor.cli.progress import open_bars
from monitor.cli.terminal import JsonOption, Terminal, get_terminal, write_file
from monitor.services.audit import COMMAND_LINE

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.services.scrub import EvidenceReport

app = build_group()


@app.command()
def verify(
    repair: Annotated[
        bool, typer.Option("--repair", help="Write damaged files anew where that is possible, fetching pages again.")
    ] = False,
    trust: Annotated[
        list[str] | None, typer.Option("--trust", metavar="KEY", help="Another public key of yours; may be repeated.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check the chain over records and audit, and every kept page."""

    async def check(opened: "App") -> "EvidenceReport":
        bars = open_bars()
        bars.disable = not sys.stderr.isatty()
        with bars:
            task = bars.add_task("")
            return await opened.scrub.verify(
                trusted=[key.lower() for key in trust or []],
                repair_by=COMMAND_LINE if repair else None,
                report_progress=lambda captures: bars.update(task, description=str(captures)),
            )

    terminal = get_terminal()
    report = terminal.run(check)
    if as_json:
        terminal.write_json(report)
    else:
        _print_report(terminal, report)
    if not report.ok:
        raise typer.Exit(1)


@app.command()
def sign(as_json: JsonOption = False) -> None:
    """Sign what has come since the last head; the service does so daily."""
    terminal = get_terminal()
    heads = terminal.run(lambda opened: opened.chain.sign())
    if as_json:
        terminal.write_json({"heads": heads})
    elif not heads:
        terminal.print("evidence.nothing_to_sign")
    for head in heads if not as_json else []:
        terminal.print("evidence.signed", number=head.number, count=head.last - head.first + 1, hash=head.hash)


@app.command()
def export(
    item_id: Annotated[int, typer.Argument(metavar="ITEM", help="The number that `items list` shows.")],
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Default: item-N.wacz.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write an item's evidence as WACZ, with the proof of the chain and a script that checks it."""
    terminal = get_terminal()
    content = terminal.act(lambda opened, by: opened.evidence_exporter.export_item(item_id, by=by))
    path = out or Path(f"item-{item_id}.wacz")
    write_file(path, content)
    document = {"item_id": item_id, "path": path, "bytes": len(content)}
    terminal.report("evidence.exported", path=path, bytes=len(content), document=document, as_json=as_json)


def _print_report(terminal: Terminal, report: "EvidenceReport") -> None:
    terminal.print("evidence.key", key=report.public_key or "-")
    signed_at = terminal.format_instant(report.signed_at) if report.signed_at else "-"
    terminal.print("evidence.chain", heads=report.heads, links=report.links, at=signed_at)
    if report.stamped_head is not None:
        terminal.print("evidence.stamped", number=report.stamped_head)
    terminal.print("evidence.rest", unsigned=report.unsigned, removed=report.removed)
    terminal.print("evidence.files", files=report.files, captures=report.captures, damaged=len(report.damaged))
    if report.gaps or report.mended:
        terminal.print("evidence.gaps", gaps=report.gaps, mended=report.mended)
    for problem in report.problems:
        terminal.print_message(problem)
    for finding in report.damaged:
        code = "evidence.repaired" if finding.repaired else "evidence.damaged"
        kind = terminal.word("incident", finding.kind)
        terminal.print(code, kind=kind, location=finding.location, record=finding.record, url=finding.url)
    if report.ok:
        terminal.print("evidence.whole")
