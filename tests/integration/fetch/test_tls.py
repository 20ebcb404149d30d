"""Secure connections: whose certificates are trusted, and how old a protocol may be."""

import asyncio
import shutil
import ssl
import subprocess
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from monitor.config.model import NetworkSettings
from monitor.fetch.client import HttpClient
from monitor.fetch.result import FetchError
from monitor.page import PageErrorCode

_EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
_FOR_LOOPBACK = "subjectAltName=IP:127.0.0.1"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def openssl(*arguments: str | Path) -> None:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not on the PATH")
    subprocess.run([program, *arguments], check=True, capture_output=True)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 and its key in one file, signed by nobody but itself."""
    key, made = tmp_path / "key.pem", tmp_path / "made.pem"
    subject = ["-subj", "/CN=loopback", "-addext", _FOR_LOOPBACK]
    openssl("req", "-x509", *_EC, "-days", "2", *subject, "-keyout", key, "-out", made)
    made.write_text(made.read_text() + key.read_text())
    return made


@dataclass
class Chain:
    root: Path
    between: Path
    leaf: Path  # with its key


@pytest.fixture
def chain(tmp_path: Path) -> Chain:
    """A root, an authority between, and a certificate for 127.0.0.1 from that authority."""

    def made(name: str, extension: str, signer: str | None) -> Path:
        key, request, result = (tmp_path / f"{name}.{kind}" for kind in ("key", "csr", "pem"))
        openssl("req", "-new", *_EC, "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        (tmp_path / "ext").write_text(extension)
        by = (
            ["-signkey", key]
            if signer is None
            else ["-CA", tmp_path / f"{signer}.pem", "-CAkey", tmp_path / f"{signer}.key"]
        )
        more = [] if signer is None else ["-CAcreateserial"]
        openssl("x509", "-req", "-in", request, *by, *more, "-days", "2", "-extfile", tmp_path / "ext", "-out", result)
        return result

    authority = "basicConstraints=critical,CA:true\nkeyUsage=critical,keyCertSign"
    root, between = made("root", authority, None), made("between", authority, "root")
    leaf = made("leaf", _FOR_LOOPBACK, "between")
    leaf.write_text(leaf.read_text() + (tmp_path / "leaf.key").read_text())
    return Chain(root, between, leaf)


def server_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def say_secure(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nsecure")
    await writer.drain()
    writer.close()


@asynccontextmanager
async def secure_host(context: ssl.SSLContext, serve: Serve = say_secure) -> AsyncIterator[str]:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


async def refusal(host: str, **settings: object) -> FetchError:
    async with HttpClient(network=NetworkSettings(allowed_private_hosts=[host], **settings)) as client:
        with pytest.raises(FetchError) as caught:
            await client.fetch(f"https://{host}/")
    return caught.value


async def answer(host: str, **settings: object) -> bytes:
    async with HttpClient(network=NetworkSettings(allowed_private_hosts=[host], **settings)) as client:
        return (await client.fetch(f"https://{host}/")).body


@pytest.mark.parametrize("allow_legacy_tls", [False, True])
async def test_a_certificate_that_nobody_vouches_for_is_refused_with_a_mend(
    certificate: Path, allow_legacy_tls: bool
) -> None:
    async with secure_host(server_context(certificate)) as host:
        failure = await refusal(host, allow_legacy_tls=allow_legacy_tls)
    assert failure.error.code is PageErrorCode.NETWORK
    assert "ca_bundle" in str(failure)


@pytest.mark.parametrize("allow_legacy_tls", [False, True])
async def test_the_certificates_of_an_organisation_are_trusted_in_addition(
    certificate: Path, allow_legacy_tls: bool
) -> None:
    async with secure_host(server_context(certificate)) as host:
        assert await answer(host, ca_bundle=certificate, allow_legacy_tls=allow_legacy_tls) == b"secure"


async def test_a_chain_that_a_site_leaves_incomplete_is_completed_by_the_bundle(chain: Chain, tmp_path: Path) -> None:
    whole = tmp_path / "bundle.pem"
    whole.write_text(chain.between.read_text() + chain.root.read_text())
    async with secure_host(server_context(chain.leaf)) as host:
        assert (await refusal(host, ca_bundle=chain.root)).error.code is PageErrorCode.NETWORK
        assert await answer(host, ca_bundle=whole) == b"secure"


async def test_an_old_protocol_is_spoken_only_where_the_setting_allows_it(certificate: Path) -> None:
    context = server_context(certificate)
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1
    async with secure_host(context) as host:
        failure = await refusal(host, ca_bundle=certificate)
        assert (failure.error.code, "allow_legacy_tls" in str(failure)) == (PageErrorCode.NETWORK, True)
        assert await answer(host, ca_bundle=certificate, allow_legacy_tls=True) == b"secure"
