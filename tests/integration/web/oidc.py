"""A provider of OpenID Connect on loopback (oidc-provider-mock), which a test can have say what is not true."""

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from joserfc import jwt
from joserfc.jwk import RSAKey

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it still uses a part of Authlib that will go
    import flask
    from oidc_provider_mock import app
    from oidc_provider_mock._server import _threaded_server

Claims = dict[str, Any]
CLIENT_SECRET = "what only the client knows"  # noqa: S105


@dataclass
class Provider:
    """`alter` changes the claims of the next ID tokens, which are signed anew: with `key`, else with the real one."""

    url: str = ""
    alter: Callable[[Claims], Claims] | None = None
    key: RSAKey | None = None
    refuses_tokens: bool = False
    requests: list[str] = field(default_factory=list)
    challenges: set[str] = field(default_factory=set)

    def put_person(self, subject: str, **claims: Any) -> None:
        httpx.put(f"{self.url}/users/{subject}", json=claims, trust_env=False).raise_for_status()

    def sign_in(self, url: str, subject: str) -> str:
        """Somebody signs in on the provider's page; returns where their browser is sent, as a path of ours."""
        answer = httpx.post(url, data={"sub": subject}, trust_env=False, timeout=60)
        assert answer.status_code == 302, answer.text
        back = urlsplit(answer.headers["location"])
        return f"{back.path}?{back.query}"

    def deny(self, url: str) -> str:
        answer = httpx.post(url, data={"action": "deny"}, trust_env=False, timeout=60)
        state = parse_qs(urlsplit(url).query)["state"][0]
        back = urlsplit(answer.headers["location"])
        return f"{back.path}?{back.query}&state={state}"


@contextmanager
def run_provider() -> Iterator[Provider]:
    provider = Provider()
    flask_app = app()

    @flask_app.before_request
    def check_proof() -> tuple[dict[str, str], int] | None:
        """Hold to PKCE and to the client's secret, which oidc-provider-mock leaves out."""
        if flask.request.path == "/oauth2/authorize":
            provider.challenges.add(flask.request.args["code_challenge"])
        if flask.request.path != "/oauth2/token":
            return None
        verifier = flask.request.form["code_verifier"]
        is_client = flask.request.authorization is not None and flask.request.authorization.password == CLIENT_SECRET
        is_proved = create_s256_code_challenge(verifier) in provider.challenges
        return None if is_client and is_proved else ({"error": "invalid_client"}, 401)

    @flask_app.after_request
    def forge(answer: flask.Response) -> flask.Response:
        provider.requests.append(flask.request.path)
        if flask.request.path != "/oauth2/token" or answer.status_code != 200:
            return answer
        if provider.refuses_tokens:
            answer.status_code = 400
            answer.set_data(json.dumps({"error": "invalid_grant"}))
        elif provider.alter is not None or provider.key is not None:
            body = json.loads(answer.get_data())
            real = RSAKey.import_key(flask.g.oidc_provider_mock_storage.jwk.as_dict(is_private=True))
            claims = jwt.decode(body["id_token"], real).claims
            header = {"alg": "RS256", "kid": real.kid} if real.kid else {"alg": "RS256"}
            changed = provider.alter(dict(claims)) if provider.alter else dict(claims)
            body["id_token"] = jwt.encode(header, changed, provider.key or real)
            answer.set_data(json.dumps(body))
        return answer

    with _threaded_server(app=flask_app, host="127.0.0.1", poll_interval=0.02) as server:
        provider.url = f"http://127.0.0.1:{server.server_port}"
        yield provider
