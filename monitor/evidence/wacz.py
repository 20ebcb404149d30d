"""An item's evidence as a WACZ file: its pages for any web archive player, and the proof of the chain.

WACZ 1.1.1: `archive/` holds the WARC, `indexes/` a CDXJ index of it, `pages/` the list of pages, `datapackage.json` the
hashes of all of them. `proof/` holds `chain.json` and the script that checks it.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from monitor import __version__
from monitor.db.tables.evidence import ChainHead, EvidenceRecord
from monitor.evidence.chain import RowProof, encode_content
from monitor.evidence.warc import build_head, build_member
from monitor.fetch.result import FetchResult

WACZ_MEDIA_TYPE = "application/wacz"
_VERSION = "1.1.1"
_ARCHIVE = "archive/data.warc.gz"
_SCRIPT = "verify_evidence.py"


@dataclass(frozen=True, kw_only=True)
class EvidenceExport:
    """What goes into the file: each record with what it kept, None where that is lost or there was no body."""

    title: str
    facts: dict[str, Any]
    made_at: str
    public_key: str
    records: Sequence[tuple[EvidenceRecord, FetchResult | None]]
    proofs: Sequence[RowProof]
    heads: Sequence[ChainHead]


def build_wacz(export: EvidenceExport) -> bytes:
    """Return the file; its bytes depend on the export alone, but for the ids that WARC wants to be new."""
    archive, members = _build_archive(export.records)
    contents = {
        _ARCHIVE: archive,
        "indexes/index.cdxj": _build_index(export.records, members),
        "pages/pages.jsonl": _build_pages(export, members),
        "proof/chain.json": encode_content(_build_proof(export, members)),
        f"proof/{_SCRIPT}": read_script(),
    }
    package = {
        "profile": "data-package",
        "wacz_version": _VERSION,
        "title": export.title,
        "created": export.made_at,
        "software": f"Monitor {__version__}",
        "resources": [
            {"name": path.rpartition("/")[2], "path": path, "hash": _hash(content), "bytes": len(content)}
            for path, content in contents.items()
        ],
    }
    contents["datapackage.json"] = _dump(package)
    contents["datapackage-digest.json"] = _dump(
        {"path": "datapackage.json", "hash": _hash(contents["datapackage.json"])}
    )
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as zipped:
        for path, content in contents.items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = 0o644 << 16
            is_packed = path == _ARCHIVE  # players read pieces of it, so it lies there as it is
            entry.compress_type = zipfile.ZIP_STORED if is_packed else zipfile.ZIP_DEFLATED
            zipped.writestr(entry, content)
    return written.getvalue()


def read_script() -> bytes:
    """Return the script that checks such a file with nothing of ours."""
    return (files("monitor.evidence") / _SCRIPT).read_bytes()


def _build_archive(
    records: Sequence[tuple[EvidenceRecord, FetchResult | None]],
) -> tuple[bytes, dict[str, tuple[int, int]]]:
    """Return a WARC file of all bodies, and where in it each record begins and how long it is."""
    kept = [(record, result) for record, result in records if result is not None and result.body is not None]
    parts = [build_head(record.fetched_at) for record, _ in kept[:1]]
    members: dict[str, tuple[int, int]] = {}
    offset = sum(map(len, parts))
    for record, result in kept:
        parts.append(build_member(result, sha256=record.sha256 or ""))
        members[record.id] = (offset, len(parts[-1]))
        offset += len(parts[-1])
    return b"".join(parts), members


def _build_index(
    records: Sequence[tuple[EvidenceRecord, FetchResult | None]], members: dict[str, tuple[int, int]]
) -> bytes:
    lines = []
    for record, _ in records:
        if record.id in members:
            offset, length = members[record.id]
            entry = {
                "url": record.final_url,
                "mime": record.headers.get("content-type", "").partition(";")[0] or "text/html",
                "status": str(record.status or 200),
                "digest": f"sha256:{record.sha256}",
                "offset": str(offset),
                "length": str(length),
                "filename": _ARCHIVE.rpartition("/")[2],
            }
            lines.append(f"{_reverse_host(record.final_url)} {record.fetched_at:%Y%m%d%H%M%S} {json.dumps(entry)}\n")
    return "".join(sorted(lines)).encode()


def _reverse_host(url: str) -> str:
    """Return a url as an index is sorted by: `gov,example)/path?query` in lower case."""
    try:
        parts = urlsplit(url)
        host = ",".join(reversed((parts.hostname or "").split(".")))
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return url.replace(" ", "%20").lower()
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{port}){parts.path or '/'}{query}".replace(" ", "%20").lower()


def _build_pages(export: EvidenceExport, members: dict[str, tuple[int, int]]) -> bytes:
    lines: list[dict[str, Any]] = [{"format": "json-pages-1.0", "id": "pages", "title": export.title}]
    lines += [
        {"id": record.id, "url": record.final_url, "ts": f"{record.fetched_at:%Y-%m-%dT%H:%M:%SZ}", "title": record.url}
        for record, _ in export.records
        if record.id in members
    ]
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)


def _build_proof(export: EvidenceExport, members: dict[str, tuple[int, int]]) -> dict[str, Any]:
    proofs = {proof.link.row_id: proof for proof in export.proofs}
    return {
        "format": "monitor-evidence-1",
        "made_at": export.made_at,
        "public_key": export.public_key,
        "item": export.facts,
        "heads": [head.model_dump() for head in export.heads],
        "records": [_describe_record(record, members, proofs.get(record.id)) for record, _ in export.records],
    }


def _describe_record(
    record: EvidenceRecord, members: dict[str, tuple[int, int]], proof: RowProof | None
) -> dict[str, Any]:
    described: dict[str, Any] = {"id": record.id, "url": record.url, "sha256": record.sha256, "file": None}
    if record.id in members:
        offset, length = members[record.id]
        described["file"] = {"path": _ARCHIVE, "offset": offset, "length": length}
    if proof is not None:
        described |= {
            "row": proof.content,
            "link": proof.link.model_dump(),
            "head": proof.head,
            "path": [{"side": side, "hash": digest} for side, digest in proof.path],
        }
    return described


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode()


def _hash(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
