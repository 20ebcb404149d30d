"""Tokens of programs: what each may do, from where, for which teams, and how often a day it may cause costs."""

import datetime as dt
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.config.networks import is_within, parse_address, parse_network
from monitor.db.tables.people import Token
from monitor.errors import Conflict, NotFound, UsageError
from monitor.services.audit import (
    COMMAND_LINE,
    NAME_PATTERN,
    RESERVED_NAMES,
    ROLE_ORDER,
    Actor,
    AuditAction,
    AuditedService,
    hash_token,
    parse_role,
)
from monitor.services.schedules import get_midnight
from monitor.services.teams import TeamService
from monitor.vocabulary import Role

MAX_TOKEN_DAYS = 3650
MAX_TOKEN_NETWORKS = 50
MAX_TOKEN_TEAMS = 50
MAX_DAILY_LIMIT = 1_000_000
_USE_UPDATE_INTERVAL = dt.timedelta(minutes=1)


class TokenScope(StrEnum):
    READ = "read"
    WRITE = "write"
    RUN = "run"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """What holds a token back beside role and scopes: empty and None are no limit.

    `networks` are those that it may be used from, `teams` the names of those whose subjects it sees, `daily_limit` how
    many requests a day it may make that can cost money.
    """

    networks: Sequence[str] = ()
    teams: Sequence[str] = ()
    daily_limit: int | None = None


class TokenSchema(BaseModel):
    """What is known of a token, without its secret."""

    name: str = Field(examples=["grafana"])
    role: Role
    scopes: list[TokenScope] = Field(description="None: all that the role may.", examples=[["read"]])
    networks: list[str] = Field(description="Where it may be used; none: anywhere.", examples=[["192.0.2.0/24"]])
    teams: list[str] = Field(description="What it sees; none: what its maker sees.", examples=[["energy"]])
    daily_limit: int | None = Field(description="Requests a day that may cost money.", examples=[100])
    used_today: int = Field(description="How many of these it made today.", examples=[3])
    created_by: str = Field(description="Empty: by command.", examples=["lilei"])
    created_at: dt.datetime
    expires_at: dt.datetime | None
    last_used_at: dt.datetime | None


class DailyLimitReached(Conflict):
    """A token has made all requests that it may make on a day; after `retry_after_s` the next day begins."""

    def __init__(self, name: str, limit: int, retry_after_s: int) -> None:
        super().__init__("token.daily_limit_reached", name=name, limit=limit)
        self.retry_after_s = retry_after_s


@dataclass(kw_only=True)
class TokenService(AuditedService):
    """Creates and recognises tokens. A token is shown once; the database holds only its hash."""

    teams: TeamService
    timezone: str

    async def create(
        self,
        name: str,
        role: str,
        *,
        scopes: Sequence[str] = (),
        days: int | None = None,
        limits: TokenLimits | None = None,
        by: Actor,
    ) -> str:
        """Create a token under a name, good for so many days; without scopes it may do all that its role may.

        The command line may replace a token of the same name. Nobody else can create one that may do more than they
        themselves, nor under a name that a token or a person has; and with a token that has limits, none at all.
        """
        wanted, chosen = parse_role(role), sorted({_parse_scope(scope) for scope in scopes}, key=list(TokenScope).index)
        if not re.fullmatch(NAME_PATTERN, name) or name in RESERVED_NAMES:
            raise UsageError("token.bad_name", name=name)
        if days is not None and not 1 <= days <= MAX_TOKEN_DAYS:
            raise UsageError("token.bad_days", days=days, limit=MAX_TOKEN_DAYS)
        limits = _check_limits(limits or TokenLimits())
        is_command = by is COMMAND_LINE
        if not is_command:
            _check_creator(by, wanted, chosen)
            await self._forbid_limited(by)
        token, now = secrets.token_urlsafe(32), self.clock.now()
        row = Token(
            name=name,
            hash=hash_token(token),
            role=wanted,
            scopes=[str(scope) for scope in chosen],
            networks=list(limits.networks),
            daily_limit=limits.daily_limit,
            created_at=now,
            created_by="" if is_command else by.name,
            expires_at=None if days is None else now + dt.timedelta(days),
        )
        async with self.store.transaction():
            if not await self.store.tokens.save(row, may_replace=is_command):
                raise Conflict("token.name_taken", name=name)
            if limits.teams:
                await self.teams.confine_token(name, limits.teams, by=by)
            after = {"role": wanted, "scopes": row.scopes, "days": days, **_describe_limits(limits)}
            await self.record(by, AuditAction.TOKEN_ADD, name, after=after)
        return token

    async def _forbid_limited(self, by: Actor) -> None:
        """Refuse a token that has limits: those that it makes would have none."""
        maker = await self.store.tokens.get(by.name)
        if maker is None:
            return
        if maker.networks or maker.daily_limit is not None or await self.store.teams.list_of_token(maker.name):
            raise UsageError("token.maker_is_limited", name=maker.name)

    async def list_tokens(self, *, created_by: str | None = None) -> list[TokenSchema]:
        names, confined = await self.store.teams.list_names(), await self.store.teams.list_token_teams()
        today = self._get_today()
        return [
            TokenSchema(
                **token.model_dump(exclude={"hash", "used_on", "used"}),
                teams=sorted(names[team_id] for team_id in confined.get(token.name, []) if team_id in names),
                used_today=token.used if token.used_on == today else 0,
            )
            for token in await self.store.tokens.list_all()
            if created_by is None or token.created_by == created_by
        ]

    async def authenticate(self, token: str) -> Token | None:
        """Return the token with the lesser of its own role and its creator's; None where it is not good any more."""
        now = self.clock.now()
        found = await self.store.tokens.find_by_hash(hash_token(token), now)
        if found is None:
            return None
        row, creator = found
        if row.last_used_at is None or now - row.last_used_at >= _USE_UPDATE_INTERVAL:
            await self.store.tokens.touch(row.name, at=now)
        if creator is not None:
            row.role = min(row.role, creator.role, key=ROLE_ORDER.index)
        return row

    async def count_spending(self, by: Actor) -> None:
        """Count a request that may cost money; `DailyLimitReached` where the token that makes it has made all of today.

        Who is no token, and a token without such a limit, is not counted.
        """
        token = await self.store.tokens.get(by.name)
        if token is None or token.daily_limit is None:
            return
        today = self._get_today()
        if not await self.store.tokens.count_use(token.name, today):
            tomorrow = get_midnight(today + dt.timedelta(days=1), ZoneInfo(self.timezone))
            wait_s = max(int((tomorrow - self.clock.now()).total_seconds()), 0) + 1
            raise DailyLimitReached(token.name, token.daily_limit, wait_s)

    async def revoke(self, name: str, *, by: Actor, created_by: str | None = None) -> Token:
        """End a token, one of that person's where one is given; another's takes an administrator."""
        if created_by != by.name:
            by.require(Role.ADMIN)
        async with self.store.transaction():
            token = await self.store.tokens.remove(name, owner=created_by)
            if token is None:
                raise NotFound("token.not_found", name=name)
            await self.record(by, AuditAction.TOKEN_REVOKE, name)
        return token

    def _get_today(self) -> dt.date:
        return self.clock.now().astimezone(ZoneInfo(self.timezone)).date()


def may_be_used_from(token: Token, address: str) -> bool:
    """Whether a token may be used from the address that a request comes from."""
    if not token.networks:
        return True
    client = parse_address(address)
    return client is not None and is_within(client, [parse_network(text) for text in token.networks])


def _check_limits(limits: TokenLimits) -> TokenLimits:
    """Return the limits with their networks as they are written; `UsageError` for one that cannot be."""
    if len(limits.networks) > MAX_TOKEN_NETWORKS:
        raise UsageError("token.too_many_networks", limit=MAX_TOKEN_NETWORKS)
    if limits.daily_limit is not None and not 1 <= limits.daily_limit <= MAX_DAILY_LIMIT:
        raise UsageError("token.bad_daily_limit", limit=MAX_DAILY_LIMIT)
    networks = []
    for text in limits.networks:
        try:
            networks.append(str(parse_network(text)))
        except ValueError:
            raise UsageError("token.bad_network", network=text[:60]) from None
    return TokenLimits(list(dict.fromkeys(networks)), list(dict.fromkeys(limits.teams)), limits.daily_limit)


def _describe_limits(limits: TokenLimits) -> dict[str, object]:
    known = {"networks": limits.networks, "teams": limits.teams, "daily_limit": limits.daily_limit}
    return {name: value for name, value in known.items() if value}


def _check_creator(by: Actor, role: Role, scopes: Sequence[TokenScope]) -> None:
    if not by.has_role(role):
        raise UsageError("token.role_too_high", own=by.role, role=role)
    if by.scopes is not None and (not scopes or not by.scopes.issuperset(scopes)):
        raise UsageError("token.scope_too_wide", scopes=sorted(by.scopes))


def _parse_scope(word: str) -> TokenScope:
    if word not in set(TokenScope):
        raise UsageError("token.unknown_scope", scope=word, known=list(TokenScope))
    return TokenScope(word)
