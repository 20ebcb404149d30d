"""`monitor policies`: the policies that documents belong to, and what a person puts right in them."""

from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.parser import build_group
from monitor.cli.terminal import JsonOption, Terminal, get_terminal
from monitor.vocabulary import PolicyStage

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.services.audit import Actor
    from monitor.services.policies import PolicyComparison, PolicyFile

app = build_group()
PolicyArgument = Annotated[int, typer.Argument(metavar="ID", help="The number that `policies list` shows.")]
DocumentArgument = Annotated[int, typer.Argument(metavar="ITEM", help="The number that `items list` shows.")]


@app.command("list")
def list_policies(
    text: Annotated[str, typer.Option("--text", help="Only policies with this in their name.")] = "",
    stages: Annotated[
        list[PolicyStage] | None,
        typer.Option("--stage", metavar="STAGE", help="Only of this stage, as draft or final; may be repeated."),
    ] = None,
    source: Annotated[str, typer.Option("--source", metavar="NAME", help="Only with a document of this source.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List the policies, those that changed last first."""
    from monitor.db.queries.policies import PolicyFilter

    terminal = get_terminal()
    wanted = PolicyFilter(text=text, stages=stages or (), source=source)
    terminal.write_list(
        "policies",
        terminal.run(lambda app: app.policies.list(wanted, limit=limit)).policies,
        lambda policy: {
            "id": policy.id,
            "stage": terminal.word("policy_stage", policy.stage) if policy.stage else None,
            "since": policy.stage_on,
            "documents": policy.documents,
            "next_deadline": policy.next_deadline,
            "name": policy.name,
        },
        as_json=as_json,
        none="policies.none",
    )


@app.command()
def show(
    policy_id: PolicyArgument,
    is_compared: Annotated[
        bool, typer.Option("--changes", help="How the draft became the final document, by article.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a policy: its documents in their order and why each belongs to it, its deadlines, its notes."""
    terminal = get_terminal()

    async def load(app: "App") -> "tuple[PolicyFile, PolicyComparison | None]":
        return await app.policies.get(policy_id), await app.policies.compare(policy_id) if is_compared else None

    file, comparison = terminal.run(load)
    if as_json:
        compared = {} if comparison is None else {"comparison": comparison.model_dump(mode="json")}
        terminal.write_json(file.model_dump(mode="json", context={"language": terminal.language}) | compared)
        return
    _print_file(terminal, file)
    if comparison is not None:
        terminal.write_line()
        for edit in comparison.edits:
            terminal.write_line(f"{edit.article or terminal.word('part', edit.part)} {terminal.word('op', edit.op)}")
            for sign, text in (("-", edit.before), ("+", edit.after)):
                for line in text.splitlines():
                    terminal.write_line(f"  {sign} {line}")
        if comparison.more_edits:
            terminal.print("item.more_edits", number=comparison.more_edits)


@app.command()
def join(policy_id: PolicyArgument, item_id: DocumentArgument, as_json: JsonOption = False) -> None:
    """Put an item into a policy."""
    terminal = get_terminal()
    file = terminal.act(lambda app, by: app.policies.join(policy_id, item_id, by=by))
    document = file.model_dump(mode="json", context={"language": terminal.language})
    terminal.report("policies.joined", item=item_id, name=file.name, document=document, as_json=as_json)


@app.command()
def separate(policy_id: PolicyArgument, item_id: DocumentArgument, as_json: JsonOption = False) -> None:
    """Take an item out of a policy; no rule puts it back."""
    terminal = get_terminal()
    terminal.act(lambda app, by: app.policies.separate(policy_id, item_id, by=by))
    terminal.report("policies.separated", item=item_id, policy=policy_id, as_json=as_json)


@app.command()
def refresh(as_json: JsonOption = False) -> None:
    """Read the facts of the whole archive again, and join what was never joined."""
    terminal = get_terminal()

    async def read(app: "App", by: "Actor") -> int:
        return await app.policies.refresh(by=by)

    terminal.report("policies.refreshed", count=terminal.act(read), as_json=as_json)


def _print_file(terminal: Terminal, file: "PolicyFile") -> None:
    stage = terminal.word("policy_stage", file.stage) if file.stage else "-"
    terminal.write_line(file.name)
    terminal.write_line(" · ".join(map(str, filter(None, [stage, file.stage_on, *file.issuers]))))
    terminal.write_line()
    terminal.write_records(
        file.members,
        lambda member: {
            "id": member.id,
            "date": member.day,
            "stage": terminal.word("policy_stage", member.stage) if member.stage else None,
            "source": member.source,
            "title": member.title,
            "reason": member.reason,
        },
    )
    if file.deadlines:
        titles = {member.id: member.title for member in file.members}
        terminal.write_line()
        terminal.write_records(
            [deadline for deadline in file.deadlines if deadline.dropped_at is None],
            lambda deadline: {
                "date": deadline.day,
                "deadline": terminal.word("deadline", deadline.kind),
                "of": deadline.item,
                "subject": deadline.subject or titles.get(deadline.item, ""),
            },
        )
    for note in file.notes:
        terminal.write_line()
        terminal.write_line(f"{terminal.format_instant(note.at)} {note.person}: {note.text}")
