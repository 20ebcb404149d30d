"""The parameters by which items are chosen, the same for the list, its feed and its export."""

from typing import Annotated, Any, Literal

from fastapi import Request
from pydantic import BaseModel, Field, ValidationError

from monitor.app.archive import ItemQuery
from monitor.domain.words import ItemType
from monitor.store.sessions import storable
from monitor.web.parameters import Day, Instant
from monitor.web.problems import Problem

_Name = Annotated[str, Field(max_length=200)]
_LISTS = ("source", "tag", "type")


class ItemParameters(BaseModel):
    """Which items are meant; what is not given does not narrow."""

    q: str = Field("", max_length=1000, description="Words that all stand in title, summary or text; “…” word for word")
    source: list[_Name] = Field(default_factory=list, max_length=50, description="Names of sources")
    tag: list[_Name] = Field(default_factory=list, max_length=50, description="Tags of sources, of which one is enough")
    type: list[ItemType] = Field(default_factory=list, max_length=20)
    since: Day | None = Field(None, description="The first day of publication")
    until: Day | None = Field(None, description="The last day of publication")
    section: str = Field("", max_length=200, description="Stands in the name of the section")
    document_number: str = Field("", max_length=200)
    language: str = Field("", max_length=35, description="As `zh`, which is every Chinese")
    late: bool | None = Field(None, description="Only those that were listed long after their date, or only the others")
    starred: bool = Field(False, description="Only those with your own star")
    hidden: Literal["out", "only", "both"] = "out"
    seen_since: Instant | None = Field(None, description="First seen at that instant or later")

    def query(self, person: str) -> ItemQuery:
        """What is meant, asked by that person."""
        return ItemQuery(
            sources=[storable(one) for one in self.source],
            tags=[storable(one) for one in self.tag],
            types=self.type,
            since=self.since,
            until=self.until,
            text=storable(self.q),
            section=storable(self.section) or None,
            document_number=storable(self.document_number) or None,
            language=storable(self.language) or None,
            late=self.late,
            starred_by=person if self.starred else None,
            first_seen_since=self.seen_since,
            is_hidden={"out": False, "only": True, "both": None}[self.hidden],
        )

    @property
    def is_narrow(self) -> bool:
        """Whether anything narrows, so that an empty list is no empty archive."""
        return self != ItemParameters()


def parameters_of(request: Request) -> ItemParameters:
    """The parameters of a page, whose form sends empty fields too."""
    given: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if value.strip() and name in ItemParameters.model_fields:
            given[name] = [*given.get(name, []), value] if name in _LISTS else value
    try:
        return ItemParameters.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        message = str(first["msg"])
        raise Problem(400, f"{first['loc'][0]}: {message[:1].lower()}{message[1:]}.") from None
