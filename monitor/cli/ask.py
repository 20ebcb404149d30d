"""`monitor ask` and `monitor find`: a question answered from the archive, and everything that has some words."""

from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.terminal import JsonOption, SinceOption, Terminal, UntilOption, get_terminal

if TYPE_CHECKING:
    from monitor.research.archive_answer import ArchiveAnswer


def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="One question, in a sentence or two.")],
    source: Annotated[str | None, typer.Option("--source", metavar="NAME", help="Only items of this source.")] = None,
    topic: Annotated[str | None, typer.Option("--topic", metavar="NAME", help="Only what fits this topic.")] = None,
    tier: Annotated[list[int], typer.Option("--tier", min=1, max=5, help="Only these tiers; repeatable.")] = [],  # noqa: B006  typer copies it
    since: SinceOption = None,
    until: UntilOption = None,
    as_json: JsonOption = False,
) -> None:
    from monitor.services.asking import AskFilters
    from monitor.services.audit import COMMAND_LINE

    filters = AskFilters(source=source, topic=topic, tiers=tier, since=since, until=until)
    terminal = get_terminal()
    asked = terminal.run(lambda app: app.asking.ask(question, filters, by=COMMAND_LINE))
    if as_json:
        terminal.write_json(asked.model_dump(mode="json"))
    elif asked.answer is not None:
        _print_answer(terminal, asked.answer)
    if asked.error is not None:
        terminal.complain(asked.error)
    if asked.answer is None:
        raise typer.Exit(1)


def _print_answer(terminal: Terminal, answer: "ArchiveAnswer") -> None:
    terminal.print(f"ask.{answer.kind}")
    for sentence in answer.sentences:
        terminal.write_line(f"{sentence.text} {''.join(f'[{number}]' for number in sentence.passages)}")
    for number, passage in enumerate(answer.passages, 1):
        terminal.write_line(f"\n[{number}] {passage.title}  {passage.source}  {passage.day}\n    {passage.url}")
        for line in passage.text.splitlines():
            terminal.write_line(f"    {line}")
    dropped = answer.dropped.contradicted + answer.dropped.unsupported + answer.dropped.unchecked
    if dropped:
        terminal.print("ask.dropped", count=dropped)


def find(
    query: Annotated[
        str, typer.Argument(help='Words that all have to stand there; what is in "quotes", word for word.')
    ],
    types: Annotated[list[str], typer.Option("--type", metavar="TYPE", help="Only this type; repeatable.")] = [],  # noqa: B006
    limit: Annotated[int, typer.Option(min=1, max=50, help="At most so many of each type.")] = 5,
    as_json: JsonOption = False,
) -> None:
    from monitor.errors import UsageError
    from monitor.services.audit import COMMAND_LINE
    from monitor.services.global_search import FoundType

    if unknown := [name for name in types if name not in set(FoundType)]:
        raise UsageError("find.unknown_type", type=unknown[0], known=list(FoundType))
    wanted = [FoundType(name) for name in types]
    terminal = get_terminal()
    groups = terminal.run(lambda app: app.global_search.find(query, by=COMMAND_LINE, types=wanted, limit=limit))
    if as_json:
        terminal.write_json({"query": query, "groups": [group.model_dump(mode="json") for group in groups]})
        return
    for group in groups:
        total = "" if group.total is None else f" ({group.total})"
        terminal.write_line(f"{terminal.word('found_type', group.type)}{total}")
        for entry in group.entries:
            beside = "  ".join(str(part) for part in (entry.day, entry.about) if part)
            terminal.write_line(f"  {entry.path}  {' '.join(entry.title.split())}  {beside}".rstrip())
    if not groups:
        terminal.print("search.nothing_found")
