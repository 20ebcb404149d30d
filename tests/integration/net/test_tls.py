import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from monitor.domain.page import PageErrorCode
from monitor.net.client import HttpClient
from monitor.net.failure import FetchFailed
from monitor.settings import NetworkSettings


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 and its key in one file, signed by nobody but itself."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not on the PATH")
    key, made = tmp_path / "key.pem", tmp_path / "made.pem"
    subject = ["-subj", "/CN=loopback", "-addext", "subjectAltName=IP:127.0.0.1"]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    subprocess.run(
        [openssl, "req", "-x509", *kind, *subject, "-keyout", key, "-out", made], check=True, capture_output=True
    )
    made.write_text(made.read_text() + key.read_text())
    return made


@pytest.fixture
async def secure_host(certificate: Path) -> AsyncIterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nsecure")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()
    await server.wait_closed()


async def test_a_certificate_that_nobody_vouches_for_is_refused_with_a_mend(secure_host: str) -> None:
    async with HttpClient(network=NetworkSettings(allowed_private_hosts=[secure_host])) as client:
        with pytest.raises(FetchFailed) as caught:
            await client.fetch(f"https://{secure_host}/")
    assert caught.value.error.code is PageErrorCode.NETWORK
    assert "ca_bundle" in caught.value.error.message


@pytest.mark.parametrize("allow_legacy_tls", [False, True])
async def test_the_certificates_of_an_organisation_are_trusted_in_addition(
    secure_host: str, certificate: Path, allow_legacy_tls: bool
) -> None:
    network = NetworkSettings(
        allowed_private_hosts=[secure_host], ca_bundle=certificate, allow_legacy_tls=allow_legacy_tls
    )
    async with HttpClient(network=network) as client:
        assert (await client.fetch(f"https://{secure_host}/")).body == b"secure"
