"""How far a server's certificate and protocol are trusted."""

import ssl
from pathlib import Path

import httpx

from monitor.errors import SettingsError


def tls_context(*, ca_bundle: Path | None, allow_legacy_tls: bool) -> ssl.SSLContext:
    """The context for all connections: public roots and the system's, the organisation's in addition.

    `allow_legacy_tls` admits TLS 1.0 and 1.1, small keys, old ciphers and servers without secure renegotiation, as
    some old sites still need; certificates are checked all the same. `SettingsError` where `ca_bundle` holds none.
    """
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    if ca_bundle is not None:
        try:
            context.load_verify_locations(cafile=str(ca_bundle))
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(
                f"network.ca_bundle {ca_bundle} holds no certificates ({error}); name a file in PEM form."
            ) from error
    if allow_legacy_tls:
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.set_ciphers("DEFAULT@SECLEVEL=0")
        context.options |= getattr(ssl, "OP_LEGACY_SERVER_CONNECT", 0x4)
    return context
