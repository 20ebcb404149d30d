"""A provider of OpenID Connect: where people sign in, and what it says of who did (decision 0097).

Authlib builds the requests and checks the claims, joserfc the signatures; the requests go out as all others do.
"""

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import get_well_known_url
from joserfc import jwt
from joserfc.errors import ExpiredTokenError, InvalidClaimError, JoseError, MissingClaimError
from joserfc.jwk import KeySet

from monitor.clock import Clock
from monitor.config.auth import OidcSettings, get_claim
from monitor.config.model import NetworkSettings
from monitor.errors import WorkFailed
from monitor.fetch.outbound import OutboundPolicy, find_error_code
from monitor.fetch.result import FetchError, Response

_MAX_ANSWER_BYTES = 1_048_576
_TIMEOUT_S = 15.0
_CACHE_S = 3600.0
_CLOCK_LEEWAY_S = 60
MAX_SUBJECT_CHARS = 255  # what OpenID Connect allows
_FORM = "application/x-www-form-urlencoded"
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by a key that the provider alone has: `none`, and an HMAC with the client's secret, are no proof."""

_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_CLAIM_CODES = {"iss": "oidc.token_issuer", "aud": "oidc.token_audience", "azp": "oidc.token_audience"} | {
    "nonce": "oidc.token_nonce",
    "iat": "oidc.token_expired",
    "nbf": "oidc.token_expired",
    "exp": "oidc.token_expired",
}


class ProviderError(WorkFailed):
    """The provider could not be asked, or what it answered is not to be believed."""


@dataclass(frozen=True, slots=True)
class _Handshake:
    """What a sign-in is begun with and its answer is checked against, all of it known to this service alone."""

    redirect_url: str
    state: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))


@dataclass(frozen=True, slots=True)
class _Metadata:
    """What the provider publishes of itself, and the keys that it signs with."""

    values: Mapping[str, Any]
    keys: KeySet
    loaded_at: float


class OidcProvider:
    """The provider that the settings name; what it publishes is kept for an hour."""

    def __init__(self, settings: OidcSettings, network: NetworkSettings, clock: Clock) -> None:
        self._settings = settings
        self._policy = OutboundPolicy(network)
        self._clock = clock
        self._metadata: _Metadata | None = None
        self.host = urlsplit(settings.issuer or "").netloc

    async def begin(self, redirect_url: str) -> tuple[str, dict[str, str]]:
        """Return where a browser is sent to sign in, by code flow with PKCE, and what its answer is checked against."""
        handshake, metadata = _Handshake(redirect_url), await self._load_metadata()
        url: str = prepare_grant_uri(
            metadata.values["authorization_endpoint"],
            self._settings.client_id,
            "code",
            redirect_uri=handshake.redirect_url,
            scope=self._settings.scopes,
            state=handshake.state,
            nonce=handshake.nonce,
            code_challenge=create_s256_code_challenge(handshake.verifier),
            code_challenge_method="S256",
        )
        return url, asdict(handshake)

    async def redeem_code(self, code: str, begun: Mapping[str, str]) -> dict[str, Any]:
        """Return the claims of who signed in, of the ID token and of the user info; `ProviderError` says why not."""
        handshake, metadata = _Handshake(**begun), await self._load_metadata()
        answer = await self._ask_token(metadata, code, handshake)
        id_token, access_token = answer.get("id_token"), answer.get("access_token")
        if not isinstance(id_token, str):
            raise ProviderError("oidc.no_token", host=self.host)
        claims = await self._verify(id_token, handshake, access_token)
        wanted = (self._settings.name_claim, self._settings.groups_claim)
        url = metadata.values.get("userinfo_endpoint")
        if isinstance(url, str) and isinstance(access_token, str) and any(get_claim(claims, n) is None for n in wanted):
            more = await self._ask_json(url, headers={"authorization": f"Bearer {access_token}"})
            # An answer about somebody else would let a person borrow another one's groups.
            claims = {**more, **claims} if more.get("sub") == claims["sub"] else claims
        return claims

    async def _load_metadata(self, *, is_refresh: bool = False) -> _Metadata:
        known = self._metadata
        if known is None or is_refresh or time.monotonic() - known.loaded_at > _CACHE_S:
            values = await self._ask_json(get_well_known_url(self._settings.issuer, external=True))
            is_whole = all(self._is_usable(values.get(name)) for name in _ENDPOINTS)
            if values.get("issuer") != self._settings.issuer or not is_whole:
                raise ProviderError("oidc.bad_metadata", host=self.host)
            try:
                keys = KeySet.import_key_set(await self._ask_json(values["jwks_uri"]))  # type: ignore[arg-type]
            except (JoseError, ValueError, KeyError, TypeError):
                raise ProviderError("oidc.bad_metadata", host=self.host) from None
            self._metadata = known = _Metadata(values, keys, time.monotonic())
        return known

    def _is_usable(self, url: Any) -> bool:
        """Whether an endpoint is an address, and no less protected than the issuer's own."""
        scheme = urlsplit(url).scheme if isinstance(url, str) else ""
        return scheme == "https" or scheme == urlsplit(self._settings.issuer or "").scheme

    async def _ask_token(self, metadata: _Metadata, code: str, handshake: _Handshake) -> dict[str, Any]:
        url = metadata.values["token_endpoint"]
        secret = self._settings.secrets.get(self._settings.client_secret_env, self._settings.host)
        methods = metadata.values.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        method = "client_secret_basic" if "client_secret_basic" in methods else "client_secret_post"
        auth = ClientAuth(self._settings.client_id, secret, method if secret else "none")
        body = prepare_token_request(
            "authorization_code", redirect_uri=handshake.redirect_url, code=code, code_verifier=handshake.verifier
        )
        url, headers, body = auth.prepare("POST", url, {"content-type": _FORM, "accept": "application/json"}, body)
        headers = {name.lower(): value for name, value in headers.items() if name.lower() != "content-length"}
        response = await self._send(url, method="POST", headers=headers, content=body.encode())
        if response.status != 200:
            raise ProviderError("oidc.token_refused", host=self.host, reason=_describe(response))
        return self._parse(response)

    async def _verify(self, id_token: str, handshake: _Handshake, access_token: Any) -> dict[str, Any]:
        """Return the claims of an ID token whose signature, issuer, audience, time and nonce are right."""
        try:
            decoded = await self._decode(id_token)
            claims = CodeIDToken(
                decoded.claims,
                decoded.header,
                {
                    "iss": {"essential": True, "value": self._settings.issuer},
                    "aud": {"essential": True, "value": self._settings.client_id},
                    "sub": {"essential": True},
                },
                {
                    "nonce": handshake.nonce,
                    "client_id": self._settings.client_id,
                    "access_token": access_token if isinstance(access_token, str) else None,
                },
            )
            claims.validate(int(self._clock.now().timestamp()), _CLOCK_LEEWAY_S)
        except ExpiredTokenError:
            raise ProviderError("oidc.token_expired", host=self.host) from None
        except (InvalidClaimError, MissingClaimError) as error:
            code = _CLAIM_CODES.get(getattr(error, "claim", ""), "oidc.token_invalid")
            raise ProviderError(code, host=self.host) from None
        except (JoseError, ValueError, KeyError, TypeError):
            raise ProviderError("oidc.token_signature", host=self.host) from None
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT_CHARS or not subject.isprintable():
            raise ProviderError("oidc.token_invalid", host=self.host)
        return dict(claims)

    async def _decode(self, id_token: str) -> jwt.Token:
        """Check the signature; one by a key that is not known yet has the keys loaded anew, once."""
        metadata = await self._load_metadata()
        try:
            return jwt.decode(id_token, metadata.keys, algorithms=_ALGORITHMS)
        except (JoseError, ValueError, KeyError):
            refreshed = await self._load_metadata(is_refresh=True)
            return jwt.decode(id_token, refreshed.keys, algorithms=_ALGORITHMS)

    async def _ask_json(self, url: str, *, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        response = await self._send(url, headers={"accept": "application/json", **(headers or {})})
        if response.status != 200:
            raise ProviderError("oidc.unreachable", host=self.host, reason=_describe(response))
        return self._parse(response)

    def _parse(self, response: Response) -> dict[str, Any]:
        try:
            answer = json.loads(response.body)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise ProviderError("oidc.bad_answer", host=self.host)
        return answer

    async def _send(self, url: str, **request: Any) -> Response:
        try:
            async with self._policy.open_client(max_bytes=_MAX_ANSWER_BYTES) as client:
                return await client.request(url, timeout_s=_TIMEOUT_S, may_retry=False, **request)
        except FetchError as error:
            raise ProviderError("oidc.unreachable", host=self.host, reason=error.message) from None


def _describe(response: Response) -> str:
    code = find_error_code(response.body) or _find_oauth_error(response.body)
    return f"HTTP {response.status} {code}".strip()


def _find_oauth_error(body: bytes) -> str:
    """Return the `error` of an answer of OAuth, which is a text there and no object."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    error = answer.get("error") if isinstance(answer, dict) else None
    return error if isinstance(error, str) and error.isascii() and error.isidentifier() and len(error) <= 60 else ""
