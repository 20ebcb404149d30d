"""What whoever asks may see: rows of other teams are not there for any query (decision 0098).

The teams of whoever asks are those of the current context (`see_as`). While a context is bound to teams, every SELECT
that names a mapped class gets the condition of that class, also in subqueries, joins and `session.get`. So a new query
is bound by it as soon as it is written. What the service does by itself sees everything.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, cast

from sqlalchemy import ClauseElement, ColumnElement, Table, and_, column, event, exists, or_, table
from sqlalchemy.orm import ORMExecuteState, Session, with_loader_criteria
from sqlalchemy.orm.util import LoaderCriteriaOption
from sqlalchemy.sql.visitors import iterate
from sqlmodel import SQLModel

TeamIds = frozenset[int]
EVERYBODY: TeamIds = frozenset()
"""The eyes of somebody in no team: what belongs to all."""

_LIFTED = "lifted_conditions"

_eyes: ContextVar[TeamIds | None] = ContextVar("eyes", default=None)


def get_eyes() -> TeamIds | None:
    """Return the teams whose subjects this context sees beside those of all; None where it sees everything."""
    return _eyes.get()


def set_eyes(teams: TeamIds | None) -> None:
    """Bind the rest of this context, as a request, to teams; None sees everything."""
    _eyes.set(teams)


@contextmanager
def see_as(teams: TeamIds | None) -> Iterator[None]:
    """See what belongs to these teams and to all, and nothing else; None sees everything."""
    token = _eyes.set(teams)
    try:
        yield
    finally:
        _eyes.reset(token)


def is_of_other_team(team_id: Any, eyes: TeamIds) -> ColumnElement[bool]:
    """Whether a row of that team is hidden from these eyes."""
    is_of_team: ColumnElement[bool] = team_id.is_not(None)
    return and_(is_of_team, team_id.not_in(sorted(eyes))) if eyes else is_of_team


def get_unbound_columns(mapped: type[SQLModel]) -> Any:
    """Return the columns of the table of a class as no condition follows them.

    For what is looked up of a row that has its own condition, such as whether an item that is seen is hidden: a further
    one for each row that is looked up takes several times as long.
    """
    return SQLModel.metadata.tables[str(mapped.__tablename__)].c


def lift_conditions(*mapped: type[SQLModel]) -> dict[str, Any]:
    """Return the execution options of a statement in which no condition follows these classes.

    For a statement that joins them to a row which has its own condition, and shows nothing without it.
    """
    return {_LIFTED: frozenset(str(each.__tablename__) for each in mapped)}


class VisibleSession(Session):
    """A session whose SELECTs find what the context may see."""


@event.listens_for(VisibleSession, "do_orm_execute")
def _add_conditions(state: ORMExecuteState) -> None:
    eyes = _eyes.get()
    if eyes is not None and state.is_select:
        elements = iterate(cast("ClauseElement", state.statement))
        named = {element.name for element in elements if isinstance(element, Table)}
        bound = (named & BOUND_TABLES.keys()) - state.execution_options.get(_LIFTED, frozenset())
        criteria = [_build_criterion(name, eyes) for name in bound]
        state.statement = state.statement.options(*criteria)


@lru_cache(maxsize=4096)
def _build_criterion(name: str, eyes: TeamIds) -> LoaderCriteriaOption:
    """The condition of a class, which is mapped already: a statement names it."""
    bound, mappers = SQLModel.metadata.tables[name], SQLModel._sa_registry.mappers  # noqa: SLF001
    mapped = next(mapper.class_ for mapper in mappers if mapper.local_table is bound)
    return with_loader_criteria(mapped, BOUND_TABLES[name](_Rule(eyes), mapped), include_aliases=True)


class _Rule:
    """The conditions under which rows are visible to the members of these teams."""

    def __init__(self, eyes: TeamIds) -> None:
        self._eyes, self._teams = eyes, sorted(eyes)

    def is_own(self, row: Any) -> ColumnElement[bool]:
        is_of_all: ColumnElement[bool] = row.team_id.is_(None)
        return or_(is_of_all, row.team_id.in_(self._teams)) if self._teams else is_of_all

    def is_of_source(self, row: Any) -> ColumnElement[bool]:
        return ~self._has_hidden("source", row.source_id)

    def is_of_item(self, row: Any) -> ColumnElement[bool]:
        return ~self._has_hidden("item", row.item_id)

    def is_of_run(self, row: Any) -> ColumnElement[bool]:
        """Model calls of a research name it in the same column, records in one of their own."""
        owner = row.research_id if hasattr(row, "research_id") else row.run_id
        return and_(~self._has_hidden("run", row.run_id), ~self._has_hidden("research", owner))

    def is_note(self, row: Any) -> ColumnElement[bool]:
        return and_(self.is_own(row), self.is_of_item(row))

    def is_fit(self, row: Any) -> ColumnElement[bool]:
        return and_(self.is_of_item(row), ~self._has_hidden("topic", row.topic_id))

    def is_policy(self, row: Any) -> ColumnElement[bool]:
        """A policy is there where one of its documents is, or where nothing hidden is in it."""
        return self._is_open_policy(row.id)

    def is_policy_note(self, row: Any) -> ColumnElement[bool]:
        return self._is_open_policy(row.policy_id)

    def is_move(self, row: Any) -> ColumnElement[bool]:
        deadline, item = _alias("deadline"), _alias("item")
        hidden = exists().where(deadline.c.id == row.deadline_id, item.c.id == deadline.c.item_id)
        return ~hidden.where(self._is_hidden(item)).correlate_except(deadline, item)

    def is_of_research(self, row: Any) -> ColumnElement[bool]:
        return ~self._has_hidden("research", row.task_id)

    def is_of_briefing(self, row: Any) -> ColumnElement[bool]:
        return ~self._has_hidden("saved_briefing", row.briefing_id)

    def is_of_delivery(self, row: Any) -> ColumnElement[bool]:
        return ~self._has_hidden("delivery", row.delivery_id)

    def is_follower(self, row: Any) -> ColumnElement[bool]:
        return ~self._has_hidden("topic", row.topic_id)

    def _is_open_policy(self, policy_id: Any) -> ColumnElement[bool]:
        member, item = _alias("policy_document"), _alias("item")
        current = (member.c.policy_id == policy_id, member.c.removed_at.is_(None), item.c.id == member.c.item_id)
        seen, hidden = (
            exists().where(*current, condition).correlate_except(member, item)
            for condition in (~self._is_hidden(item), self._is_hidden(item))
        )
        return or_(seen, ~hidden)

    def _has_hidden(self, name: str, key: Any) -> ColumnElement[bool]:
        """Whether the row with that key is there and hidden."""
        owner = _alias(name)
        return exists().where(owner.c.id == key, self._is_hidden(owner)).correlate_except(owner)

    def _is_hidden(self, owner: Any) -> ColumnElement[bool]:
        return is_of_other_team(owner.c.team_id, self._eyes)


def _alias(name: str) -> Any:
    """A table under a name of its own, to which no criterion applies."""
    keys = ("id", "team_id", "item_id", "policy_id", "removed_at")
    return table(name, *map(column, keys)).alias(f"{name}_of_team")


BOUND_TABLES: dict[str, Callable[[_Rule, Any], ColumnElement[bool]]] = {
    **dict.fromkeys(
        ("source", "item", "run", "topic", "saved_briefing", "client_profile", "research", "delivery"), _Rule.is_own
    ),
    **dict.fromkeys(("section", "reading", "alarm"), _Rule.is_of_source),
    **dict.fromkeys(
        (
            "item_text",
            "item_facts",
            "deadline",
            "policy_document",
            "alert",
            "claim",
            "item_sight",
            "revision",
            "item_hidden",
            "item_star",
            "item_read",
            "item_later",
            "rank_feedback",
        ),
        _Rule.is_of_item,
    ),
    **dict.fromkeys(
        ("fallback", "run_section", "unseen", "model_call", "record", "answer", "outset", "run_event"), _Rule.is_of_run
    ),
    **dict.fromkeys(("research_event", "research_schedule", "research_document", "report_edit"), _Rule.is_of_research),
    "item_note": _Rule.is_note,
    "topic_fit": _Rule.is_fit,
    "topic_follower": _Rule.is_follower,
    "policy": _Rule.is_policy,
    "policy_note": _Rule.is_policy_note,
    "deadline_move": _Rule.is_move,
    "briefing_share": _Rule.is_of_briefing,
    "briefing_record": _Rule.is_of_delivery,
}
"""The tables whose rows may be of a team, and the condition under which they are visible."""
