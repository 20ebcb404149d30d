"""`monitor topics`: what clients and teams care about, who follows it, and what fits it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.parser import build_group
from monitor.cli.terminal import JsonOption, OptionValue, Terminal, add_options, collect_given, get_terminal
from monitor.db.tables.policies import TopicAlerts
from monitor.errors import UsageError

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.services.audit import Actor
    from monitor.services.topic_form import TopicSchema
    from monitor.services.topics import TopicItemPage

app = build_group()

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name or number of the topic.")]

_OPTIONS: dict[str, Any] = {
    "sentence": Annotated[str | None, typer.Option("--sentence", metavar="TEXT", help="What matters, in a sentence.")],
    "words": Annotated[
        list[str] | None, typer.Option("--word", metavar="WORD", help="A word to look for; may be repeated.")
    ],
    "exclusions": Annotated[
        list[str] | None, typer.Option("--without", metavar="WORD", help="A word that rules out; may be repeated.")
    ],
    "sources": Annotated[
        list[str] | None, typer.Option("--source", metavar="NAME", help="Only of this source; may be repeated.")
    ],
    "alerts": Annotated[TopicAlerts | None, typer.Option("--alerts", help="at_once, briefing or none.")],
    "targets": Annotated[
        list[str] | None, typer.Option("--target", metavar="NAME", help="A target of its alerts; may be repeated.")
    ],
}
_CLEARABLE = ("sentence", "words", "exclusions", "sources", "targets")


@app.command("list")
def list_topics(as_json: JsonOption = False) -> None:
    """List the topics by name, with how many items fit each."""
    terminal = get_terminal()
    terminal.write_list(
        "topics",
        terminal.act(lambda app, by: app.topics.list(by=by)),
        lambda topic: {
            "id": topic.id,
            "name": topic.name,
            "words": ", ".join(topic.words),
            "alerts": terminal.word("topic_alerts", topic.alerts),
            "followers": len(topic.followers),
            "matches": topic.matches,
            "newest": topic.newest,
        },
        as_json=as_json,
        none="topics.none",
    )


@app.command()
def show(
    name: Name,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many items.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Show a topic, who follows it, and the newest items that fit it with the reasons."""

    async def load(app: "App", by: "Actor") -> "tuple[TopicSchema, TopicItemPage]":
        topic_id = (await app.topics.find(name)).id or 0
        return await app.topics.get(topic_id, by=by), await app.topics.list_items(topic_id, limit=limit)

    terminal = get_terminal()
    topic, page = terminal.act(load)
    if as_json:
        items = [entry.model_dump(mode="json") for entry in page.items]
        terminal.write_json(_dump_topic(topic) | {"items": items})
        return
    _print_topic(terminal, topic)
    if not page.items:
        terminal.notify("topics.no_items")
    for entry in page.items:
        terminal.write_line()
        terminal.write_line(f"{entry.item.id}  {entry.item.date or '-'}  {entry.item.title}")
        terminal.write_line(f"    {round(100 * entry.fit.score)} %  {terminal.render(entry.fit.reason)}")
        if entry.fit.passage and entry.fit.passage != entry.item.title:
            terminal.write_line(f"    “{' '.join(entry.fit.passage.split())}”")


@app.command()
@add_options(_OPTIONS)
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The unique name of the topic.")],
    as_json: JsonOption = False,
    **fields: OptionValue,
) -> None:
    """Add a topic; the items of the last 90 days are judged for it."""
    from monitor.services.topic_form import parse_topic_form

    terminal = get_terminal()
    form = parse_topic_form({"name": name, **collect_given(fields)})
    topic = terminal.act(lambda app, by: app.topics.create(form, by=by))
    _write_topic(terminal, topic, as_json=as_json)


@app.command()
@add_options({"name": Annotated[str | None, typer.Option("--name", help="The unique name of the topic.")], **_OPTIONS})
def edit(
    topic: Name,
    clear: Annotated[
        list[str] | None, typer.Option("--clear", metavar="FIELD", help="Empty this field; may be repeated.")
    ] = None,
    as_json: JsonOption = False,
    **fields: OptionValue,
) -> None:
    """Change a topic; what is given replaces what was there, lists as a whole."""
    terminal = get_terminal()
    patch = _build_patch(fields, clear or [])

    async def change(app: "App", by: "Actor") -> "TopicSchema":
        from monitor.services.topic_form import parse_topic_patch

        return await app.topics.update((await app.topics.find(topic)).id or 0, parse_topic_patch(patch), by=by)

    _write_topic(terminal, terminal.act(change), as_json=as_json)


@app.command()
def remove(name: Name, as_json: JsonOption = False) -> None:
    """Remove a topic; the items that fit it stay."""

    async def forget(app: "App", by: "Actor") -> str:
        topic = await app.topics.find(name)
        await app.topics.remove(topic.id or 0, by=by)
        return topic.name

    terminal = get_terminal()
    terminal.report("topics.removed", name=terminal.act(forget), as_json=as_json)


@app.command()
def follow(
    name: Name,
    person: Annotated[str, typer.Option("--person", metavar="NAME", help="Who is to follow it.")],
    stop: Annotated[bool, typer.Option("--stop", help="They follow it no longer.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Let somebody follow a topic, and print the key of their calendar of its deadlines."""

    async def change(app: "App", by: "Actor") -> str | None:
        topic_id = (await app.topics.find(name)).id or 0
        if stop:
            await app.topics.unfollow(topic_id, by=by, person=person)
            return None
        return (await app.topics.follow(topic_id, by=by, person=person)).calendar_key

    terminal = get_terminal()
    key = terminal.act(change)
    if as_json:
        terminal.write_json({"topic": name, "person": person, "is_following": not stop, "calendar_key": key})
    elif key is not None:
        terminal.write_line(key)


def _build_patch(fields: Mapping[str, OptionValue], clear: list[str]) -> dict[str, Any]:
    patch = collect_given(fields)
    for field in clear:
        if field not in _CLEARABLE:
            raise UsageError("source.field_not_clearable", field=field, fields=list(_CLEARABLE))
        patch[field] = "" if field == "sentence" else []
    return patch


def _dump_topic(topic: "TopicSchema") -> dict[str, Any]:
    return topic.model_dump(mode="json", exclude={"calendar_key"})


def _write_topic(terminal: Terminal, topic: "TopicSchema", *, as_json: bool) -> None:
    if as_json:
        terminal.write_json(_dump_topic(topic))
    else:
        _print_topic(terminal, topic)


def _print_topic(terminal: Terminal, topic: "TopicSchema") -> None:
    weights = [f"{word} ×{weight:.2f}" for word, weight in topic.weights.items()]
    terminal.write_fields(topic.model_dump(exclude={"calendar_key"}) | {"weights": weights})
