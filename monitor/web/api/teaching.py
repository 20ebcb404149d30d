"""The API of teaching: what is kept of how sections are read, what their pages show, and what examples mean there."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from monitor.recipe import SectionRecipe
from monitor.services.sources.teaching import MAX_EXAMPLES, SectionLook, TaughtList
from monitor.web.api.sources import SourceId
from monitor.web.auth import RUN_SCOPE, AppDep, Editor, Reader
from monitor.web.problems import PROBLEM_RESPONSES, build_problem_responses

SectionUrl = Annotated[str, Query(min_length=1, max_length=2000, description="The page of the section.")]
_EXAMPLE = {
    "url": "https://www.nea.gov.cn/xwzx/",
    "examples": ["https://www.nea.gov.cn/20260203/c.html"],
    "dry_run": True,
}

router = APIRouter(
    prefix="/api/v1/sources/{source_id:int}/recipes",
    tags=["sources"],
    responses=PROBLEM_RESPONSES | build_problem_responses(502),
)


class RecipeListSchema(BaseModel):
    """One of each section that was taught; the list is whole."""

    recipes: list[SectionRecipe]
    next: None = None


class TeachRequest(BaseModel, extra="forbid", json_schema_extra={"examples": [_EXAMPLE]}):
    """The page of a section, and one or two entries of its list; with `dry_run` nothing is stored."""

    url: str = Field(min_length=1, max_length=2000)
    examples: list[Annotated[str, Field(max_length=2000)]] = Field(min_length=1, max_length=MAX_EXAMPLES)
    dry_run: bool = False


@router.get("", summary="How the sections of a source are read")
async def list_recipes(app: AppDep, _: Reader, source_id: SourceId) -> RecipeListSchema:
    """Only of sections that a person, the model or discovery showed; all others are read by the program's own rules."""
    return RecipeListSchema(recipes=(await app.sources.get_schema(source_id)).recipes)


@router.get("/page", summary="What a section's page shows", dependencies=[RUN_SCOPE])
async def get_section_page(app: AppDep, principal: Editor, source_id: SourceId, url: SectionUrl) -> SectionLook:
    """Load the page now: its three likeliest lists with two entries each to teach them by, and all its links."""
    return await app.teaching.look(source_id, url, by=principal)


@router.post("", summary="Teach a section", dependencies=[RUN_SCOPE])
async def teach_section(app: AppDep, principal: Editor, source_id: SourceId, asked: TeachRequest) -> TaughtList:
    """Load the page now, find the list with these entries, and keep it; the answer has what is read of it."""
    return await app.teaching.teach(source_id, asked.url, asked.examples, by=principal, save=not asked.dry_run)


@router.delete("", status_code=204, summary="Forget how a section is read")
async def forget_section(app: AppDep, principal: Editor, source_id: SourceId, url: SectionUrl) -> None:
    """It is read by the program's own rules again."""
    await app.teaching.forget(source_id, url, by=principal)
