"""People over HTTP: oneself, and for administrators everybody."""

import datetime as dt
from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from monitor.app.people import NAME_PATTERN
from monitor.bootstrap import App
from monitor.domain.people import Person
from monitor.domain.words import Role
from monitor.web.gate import Admin, Reader, Visitor
from monitor.web.problems import PROBLEMS, Problem

Name = Annotated[str, Path(min_length=1, max_length=60, description="Whose.", examples=["lilei"])]


class MeWire(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "lilei", "role": "editor"}]})

    name: str
    role: Role


class LanguageWire(BaseModel):
    """The language of one's pages; null is that of the browser."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"language": "zh"}]})

    language: Literal["zh", "en"] | None


class NewPasswordWire(BaseModel):
    model_config = ConfigDict(extra="forbid")

    old: str = Field(max_length=1000, examples=["kx7mp-…"])
    new: str = Field(max_length=1000, examples=["a sentence that only I know"])


class PersonWire(BaseModel):
    """Somebody who may sign in, or was shut out."""

    name: str = Field(examples=["lilei"])
    role: Role
    is_one_time: bool = Field(description="The password serves once and has to be changed.")
    is_shut_out: bool
    language: str | None = Field(examples=["zh"])
    created_at: dt.datetime
    last_seen_at: dt.datetime | None


class PeopleWire(BaseModel):
    """Everybody, by name; the list is whole, so `next` is null."""

    people: list[PersonWire]
    next: None = None


class NewPersonWire(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=NAME_PATTERN, examples=["hanmeimei"])
    role: Role = Role.READER


class PersonChangeWire(BaseModel):
    """What is to be changed; what is left out or null stays."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"role": "editor"}]})

    role: Role | None = None
    is_shut_out: bool | None = Field(default=None, strict=True)


class OneTimeWire(BaseModel):
    """The password for the next sign-in, told this once."""

    name: str = Field(examples=["hanmeimei"])
    password: str = Field(examples=["kx7mp-2ndqv-8hfjt-w3cza"])


def router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["people"], responses=PROBLEMS)

    @routes.get("/me", summary="Who am I?")
    async def me(visitor: Reader) -> MeWire:
        """The person or the token that asks."""
        return MeWire(name=visitor.name, role=visitor.role)

    @routes.put("/me/language", summary="Choose the language of my pages", status_code=204)
    async def language(visitor: Reader, wanted: LanguageWire) -> None:
        """Only for people: a token has no pages."""
        await app.people.set_language(person_of(visitor), wanted.language)

    @routes.put("/me/password", summary="Change my password", status_code=204)
    async def password(visitor: Reader, wanted: NewPasswordWire) -> None:
        """Ends all other sessions. Only for people: a token has no password."""
        name = person_of(visitor)
        await app.people.set_password(name, wanted.new, old=wanted.old, session_id=visitor.session_id)
        await app.audit.record(name, "person.password", name)

    @routes.get("/people", summary="List people")
    async def people(visitor: Admin) -> PeopleWire:
        """Everybody who may sign in, and who was shut out."""
        del visitor
        return PeopleWire(people=[_wire(person) for person in await app.people.all()])

    @routes.post("/people", summary="Add somebody", status_code=201)
    async def add(visitor: Admin, wanted: NewPersonWire) -> OneTimeWire:
        """Answers the password for their first sign-in."""
        made = await app.people.add(wanted.name, wanted.role)
        await app.audit.record(visitor.name, "person.add", wanted.name, after={"role": wanted.role})
        return OneTimeWire(name=wanted.name, password=made)

    _add_person(routes, app)
    return routes


def person_of(visitor: Visitor) -> str:
    """The name of a person who signed in; 403 for a program."""
    if visitor.session_id is None:
        raise Problem(403, "A token has no account: sign in as a person.")
    return visitor.name


def _add_person(routes: APIRouter, app: App) -> None:
    @routes.get("/people/{name}", summary="Show somebody")
    async def person(visitor: Admin, name: Name) -> PersonWire:
        del visitor
        return _wire(await app.people.of(name))

    @routes.patch("/people/{name}", summary="Change a role, shut out, let in")
    async def change(visitor: Admin, name: Name, wanted: PersonChangeWire) -> PersonWire:
        """Counts from their next request on; the last administrator stays one (409)."""
        before = await app.people.of(name)
        if wanted.role is not None and wanted.role != before.role:
            await app.people.set_role(name, wanted.role)
            roles = {"before": {"role": before.role}, "after": {"role": wanted.role}}
            await app.audit.record(visitor.name, "person.role", name, **roles)
        if wanted.is_shut_out is not None and wanted.is_shut_out != before.is_shut_out:
            await (app.people.shut_out if wanted.is_shut_out else app.people.let_in)(name)
            action = "person.shut_out" if wanted.is_shut_out else "person.let_in"
            await app.audit.record(visitor.name, action, name)
        return _wire(await app.people.of(name))

    @routes.post("/people/{name}/reset", summary="Give a new one-time password")
    async def reset(visitor: Admin, name: Name) -> OneTimeWire:
        made = await app.people.reset(name)
        await app.audit.record(visitor.name, "person.reset", name)
        return OneTimeWire(name=name, password=made)


def _wire(person: Person) -> PersonWire:
    return PersonWire.model_validate(person, from_attributes=True)
