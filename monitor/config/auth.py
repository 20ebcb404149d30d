"""Who may sign in, and how: a provider of OpenID Connect, or a proxy in front, beside local passwords."""

import re
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from monitor.config.group import SettingsGroup, setting
from monitor.config.networks import check_networks, parse_network
from monitor.config.secrets import get_host
from monitor.vocabulary import Role

_HEADERS_OF_OTHERS = frozenset(
    {"authorization", "cookie", "host", "x-csrf-token", "forwarded", "x-forwarded-for", "x-forwarded-proto"}
)
_LOOPBACK_HOSTS = ("127.0.0.1", "::1", "localhost")


class OidcSettings(SettingsGroup):
    """A provider of OpenID Connect; it is asked once `issuer` and `client_id` are set."""

    issuer: str | None = setting(None, "the provider's address, as https://login.example.org/realms/staff; null = none")
    client_id: str | None = setting(None, "what the provider calls this service")
    client_secret_env: str = setting("OIDC_CLIENT_SECRET", "the environment variable that holds the client's secret")
    label: str | None = setting(None, "what the button on the sign-in page calls the provider; null = its host")
    scopes: list[str] = setting(["openid", "profile", "email"], "what is asked for")
    name_claim: str = setting("preferred_username", "the claim that gives a new person their name")
    groups_claim: str = setting("groups", "the claim that lists a person's groups; a dot leads into nested claims")
    roles: dict[str, Role] = setting({}, "role by group, as {monitor-admins: admin}; empty = roles are set here")
    default_role: Role | None = setting(None, "the role of those whom no group gives one; null = they are refused")
    teams: dict[str, str] = setting({}, "team by group, as {energy-desk: Energy}; other teams are joined here")
    create_people: bool = setting(True, "add people at their first sign-in; false = an administrator links them")
    session_hours: int = setting(24, "hours after which the provider is asked again", ge=1)

    @property
    def is_on(self) -> bool:
        return bool(self.issuer and self.client_id)

    @property
    def host(self) -> str | None:
        """The host that the client's secret is bound to."""
        return get_host(self.issuer) if self.issuer else None

    @property
    def display_name(self) -> str:
        return self.label or urlsplit(self.issuer or "").hostname or ""

    @field_validator("issuer")
    @classmethod
    def _check_issuer(cls, issuer: str | None) -> str | None:
        """Refuse plain http but on this machine: the client's secret and the codes would travel in the clear."""
        if issuer is None or not issuer.strip():
            return None
        issuer = issuer.strip()
        if get_host(issuer) is None or (parts := urlsplit(issuer)).query or parts.fragment:
            raise ValueError("config.no_issuer")
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK_HOSTS):
            raise ValueError("config.no_issuer")
        return issuer

    @field_validator("scopes")
    @classmethod
    def _check_scopes(cls, scopes: list[str]) -> list[str]:
        return scopes if "openid" in scopes else ["openid", *scopes]

    @model_validator(mode="after")
    def _check_completeness(self) -> Self:
        if self.issuer and not self.client_id:
            raise ValueError("config.no_client_id")
        return self


class ProxySettings(SettingsGroup):
    """A proxy in front that signs people in; it is believed once `header` and `networks` are set."""

    header: str | None = setting(None, "the header that names who signed in at the proxy, as Remote-User; null = none")
    networks: list[str] = setting([], "the proxies whose header counts, by address or network; nobody else's does")
    create_people: bool = setting(False, "add people whom the proxy names; false = an administrator adds them")
    default_role: Role = setting(Role.READER, "the role of people who are added so")
    session_hours: int = setting(24, "hours after which the header is read anew", ge=1)
    sign_out_url: str | None = setting(None, "where one signs out of the proxy, as /oauth2/sign_out")

    @field_validator("header")
    @classmethod
    def _check_header(cls, header: str | None) -> str | None:
        if header is None or not header.strip():
            return None
        header = header.strip()
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]{0,99}", header) or header.lower() in _HEADERS_OF_OTHERS:
            raise ValueError("config.no_name_header")
        return header

    @field_validator("networks")
    @classmethod
    def _check_networks(cls, networks: list[str]) -> list[str]:
        check_networks(networks)
        if any(parse_network(text).prefixlen == 0 for text in networks):
            raise ValueError("config.everybody_is_proxy")
        return networks

    @field_validator("sign_out_url")
    @classmethod
    def _check_sign_out_url(cls, url: str | None) -> str | None:
        if url is not None and not re.match(r"https?://|/(?![/\\])", url):
            raise ValueError("config.no_sign_out_url")
        return url

    @model_validator(mode="after")
    def _check_completeness(self) -> Self:
        if self.header and not self.networks:
            raise ValueError("config.no_proxy_networks")
        return self


class AuthSettings(SettingsGroup):
    passwords: bool = setting(
        True, "passwords and passkeys; false = for auth.break_glass alone, once an admin came in by the provider"
    )
    break_glass: str | None = setting(None, "the administrator whose password serves when the provider is down")
    oidc: OidcSettings = Field(default_factory=OidcSettings, description="sign-in by a provider of OpenID Connect")
    proxy: ProxySettings = Field(default_factory=ProxySettings, description="sign-in by a proxy in front")

    @model_validator(mode="after")
    def _check_break_glass(self) -> Self:
        if not self.passwords and not (self.oidc.is_on and self.break_glass):
            raise ValueError("config.no_break_glass")
        return self


def get_claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim by its name, or along a path as `realm_access.roles`; None where there is none."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
