"""The API that judges statements: `monitor verify` for programs elsewhere."""

from typing import Annotated

from fastapi import APIRouter, Body
from pydantic import Field
from pydantic.config import JsonDict

from monitor.services.statements import CheckedStatement, StatementInput
from monitor.web.auth import SPENDING, AppDep, Reader
from monitor.web.problems import PROBLEM_RESPONSES

MAX_STATEMENTS = 200
_EXAMPLE: JsonDict = {
    "id": 1,
    "title": "关于完善绿色电价的通知",
    "page": "通知自2026年7月1日起施行。",
    "sentence": "通知自2026年7月1日起施行。",
    "published": "2026-06-20",
}

router = APIRouter(prefix="/api/v1", tags=["statements"], responses=PROBLEM_RESPONSES)


class StatementRequest(StatementInput, json_schema_extra={"examples": [_EXAMPLE]}):
    """A statement that is to be judged, by code or by a second reader too."""

    model: bool = Field(False, description="Ask the model, where one is set, about what code leaves open; for editors")


@router.post("/verify", summary="Judge statements", dependencies=[SPENDING])
async def verify_statements(
    app: AppDep,
    principal: Reader,
    asked: Annotated[
        StatementRequest | Annotated[list[StatementRequest], Field(max_length=MAX_STATEMENTS)],
        Body(description="A statement, or up to 200 of them"),
    ],
) -> list[CheckedStatement]:
    """Whether each page says what the sentence says of it, in the order of the statements."""
    statements = asked if isinstance(asked, list) else [asked]
    wants_model = any(statement.model for statement in statements)
    model = await app.statements.build_second_reader(by=principal) if wants_model else None
    return await app.statements.verify(statements, model=model)
