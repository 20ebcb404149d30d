"""The tools of the catalogue: search public bodies, and watch them with the sections that work."""

from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from monitor.bootstrap import App
from monitor.catalogue.bodies import BodySectionKind
from monitor.exports.document import normalize_line
from monitor.i18n.catalogue import render
from monitor.mcp_server.answers import UNTRUSTED_NOTICE, Line, build_tool_result, raise_tool_errors
from monitor.mcp_server.toolset import EXAMINE_SITE, READ, START, Seconds, TeamName, Toolset, get_actor
from monitor.services.sources.catalogue import MAX_ADDED_BODIES, AdditionReport, BodyAddition, BodySchema
from monitor.services.sources.trials import TrialState
from monitor.vocabulary import BodyState


class BodySectionOutput(BaseModel):
    name: Line
    url: Line
    kind: BodySectionKind
    note: Line


class BodyOutput(BaseModel):
    """A public body; `source_id` is the source that watches it already."""

    id: str
    name: Line
    name_en: Line
    country: str
    url: Line
    topics: list[str]
    confidence: str
    sections: list[BodySectionOutput]
    source_id: int | None


class BodyListOutput(BaseModel):
    """The bodies that fit, the best first; `total` counts all of them."""

    bodies: list[BodyOutput]
    total: int


class BodyAdditionOutput(BaseModel):
    """What became of a body: the sections that are read, and those that are not with the reason."""

    id: str
    name: Line
    state: BodyState
    source_id: int | None
    sections_read: list[str]
    sections_not_read: list[str]
    error: str | None


class AdditionOutput(BaseModel):
    """Bodies that are being added, or were; `addition_id` is what addition_status takes."""

    addition_id: str
    state: TrialState
    bodies: list[BodyAdditionOutput]


def add_catalogue_tools(tools: Toolset, app: App) -> None:
    @tools.add(READ)
    async def search_catalogue(
        query: Annotated[str, Field(max_length=200, description="A name, abbreviation or host, Chinese or English")],
        country: Annotated[str, Field(max_length=100, description="As CN, or a name")] = "",
        topic: Annotated[str, Field(max_length=100, description="As energy, or a label")] = "",
        limit: Annotated[int, Field(ge=1, le=50, description="So many at most")] = 10,
    ) -> Annotated[CallToolResult, BodyListOutput]:
        """Search the catalogue of public bodies that can be watched. Their addresses have not been opened yet."""
        with raise_tool_errors():
            found = await app.catalogue.search(query, country=country, topic=topic, limit=limit)
            output = BodyListOutput(bodies=[_build_body(body) for body in found.bodies], total=found.total)
            lines = [f"{found.total} bodies" + (f", the best {limit}:" if found.total > limit else ":")]
            lines += [
                f"- {body.id}: {normalize_line(body.name)} ({body.country}) {body.url}, {len(body.sections)} sections"
                for body in found.bodies
            ]
            return build_tool_result(output, lines)

    @tools.add(START)
    async def add_from_catalogue(
        ids: Annotated[list[str], Field(min_length=1, max_length=MAX_ADDED_BODIES, description="As cn-nea")],
        context: Context[Any, Any],
        schedule: Annotated[
            str, Field(max_length=200, description="As weekdays 07:00, 0 7 * * 1-5, or off; empty: daily at 06:30")
        ] = "",
        team: TeamName = "",
        wait_s: Seconds = 60,
    ) -> Annotated[CallToolResult, AdditionOutput]:
        """Watch bodies of the catalogue: their sections are loaded, and those that work are read from then on."""
        with raise_tool_errors():
            actor = get_actor(context)
            team_id = await app.teams.resolve(team, actor)
            begun = app.catalogue.start_adding(ids, by=actor, schedule=schedule or None, team_id=team_id)
            return _answer_addition(await app.catalogue.wait(begun.id, wait_s))

    @tools.add(EXAMINE_SITE)
    async def addition_status(
        addition_id: Annotated[str, Field(max_length=40, description="As add_from_catalogue tells it")],
        wait_s: Seconds = 0,
    ) -> Annotated[CallToolResult, AdditionOutput]:
        """Tell how far add_from_catalogue is, and which sections are not read and why."""
        with raise_tool_errors():
            return _answer_addition(await app.catalogue.wait(addition_id, wait_s))


def _build_body(body: BodySchema) -> BodyOutput:
    return BodyOutput.model_validate(body.model_dump(mode="json"))


def _answer_addition(report: AdditionReport) -> CallToolResult:
    bodies = [_build_addition(body) for body in report.bodies]
    output = AdditionOutput(addition_id=report.id, state=report.state, bodies=bodies)
    lines = [f"Addition {report.id}: {report.state}", UNTRUSTED_NOTICE]
    for body in bodies:
        lines.append(f"- {body.name}: {body.state}" + (f", source {body.source_id}" if body.source_id else ""))
        lines += [f"> not read: {section}" for section in body.sections_not_read]
        lines += [f"> {body.error}"] if body.error else []
    return build_tool_result(output, lines)


def _build_addition(addition: BodyAddition) -> BodyAdditionOutput:
    return BodyAdditionOutput(
        id=addition.id,
        name=addition.name,
        state=addition.state,
        source_id=addition.source_id,
        sections_read=[f"{section.name}: {section.entries} entries" for section in addition.sections if section.works],
        sections_not_read=[
            normalize_line(f"{section.name}: {render(section.reason, 'en')}")
            for section in addition.sections
            if section.reason is not None
        ],
        error=normalize_line(render(addition.error, "en")) if addition.error else None,
    )
