"""`monitor users teams`: teams, who is in them, and what belongs to them."""

from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.parser import build_group
from monitor.cli.terminal import JsonOption, get_terminal

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.services.audit import Actor
    from monitor.services.teams import TeamSchema

app = build_group()
_Team = Annotated[str, typer.Argument(metavar="TEAM", help="The name of a team.")]
_People = Annotated[list[str], typer.Argument(metavar="NAME…", help="Who.")]


@app.command("list")
def list_teams(as_json: JsonOption = False) -> None:
    """List the teams with their members, and how much belongs to each."""
    terminal = get_terminal()
    teams = terminal.act(lambda app, by: app.teams.list_teams(by=by))
    terminal.write_list(
        "teams",
        [team.model_dump(mode="json") for team in teams],
        lambda team: {
            "name": team["name"],
            "members": ", ".join(team["members"]),
            "owned": sum(team["owned"].values()),
            "created_at": team["created_at"],
        },
        as_json=as_json,
        none="team.none",
    )


@app.command()
def add(team: _Team, as_json: JsonOption = False) -> None:
    """Add a team; nobody is in it yet."""
    terminal = get_terminal()
    terminal.act(lambda app, by: app.teams.create(team, by=by))
    terminal.report("team.added", team=team, as_json=as_json)


@app.command()
def rename(
    team: _Team,
    new_name: Annotated[str, typer.Argument(metavar="NEW", help="The new name.")],
    as_json: JsonOption = False,
) -> None:
    """Give a team another name that nobody has."""
    terminal = get_terminal()
    terminal.act(lambda app, by: app.teams.rename(team, new_name, by=by))
    terminal.report("team.renamed", team=team, name=new_name, as_json=as_json)


@app.command()
def remove(
    team: _Team,
    heir: Annotated[
        str | None, typer.Option("--to", metavar="TEAM", help="The team that gets what belongs to this one.")
    ] = None,
    *,
    everybody: Annotated[
        bool, typer.Option("--everybody", help="What belongs to this team is for everybody from now on.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove a team; what belongs to it goes where --to or --everybody says."""
    terminal = get_terminal()
    terminal.act(lambda app, by: app.teams.remove(team, heir=heir, is_for_all=everybody, by=by))
    terminal.report("team.removed", team=team, as_json=as_json)


@app.command()
def join(team: _Team, people: _People, as_json: JsonOption = False) -> None:
    """Put people into a team, whatever their role."""
    _change_members(team, people, as_json=as_json, is_leaving=False)


@app.command()
def leave(team: _Team, people: _People, as_json: JsonOption = False) -> None:
    """Take people out of a team."""
    _change_members(team, people, as_json=as_json, is_leaving=True)


def _change_members(team: str, people: list[str], *, as_json: bool, is_leaving: bool) -> None:
    terminal = get_terminal()

    async def change(app: "App", by: "Actor") -> "TeamSchema":
        known = (await app.teams.get(team, by=by)).members
        after = [name for name in known if name not in people] if is_leaving else [*known, *people]
        return await app.teams.set_members(team, after, by=by)

    changed = terminal.act(change)
    terminal.report("team.members", team=team, members=changed.members, as_json=as_json)


@app.command()
def assign(
    subject: Annotated[str, typer.Argument(metavar="KIND", help="source, topic, briefing, research or note.")],
    key: Annotated[str, typer.Argument(metavar="ID", help="Its number; of a research its id.")],
    team: Annotated[str | None, typer.Argument(metavar="[TEAM]", help="The team; without one, everybody.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Give something to a team, or to everybody."""
    terminal = get_terminal()

    async def give(app: "App", by: "Actor") -> None:
        from monitor.services.teams import parse_subject

        await app.teams.assign(parse_subject(subject), key, team, by=by)

    terminal.act(give)
    terminal.report("team.assigned", subject=subject, key=key, team=team, as_json=as_json)
