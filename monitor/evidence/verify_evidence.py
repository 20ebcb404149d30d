"""Check an evidence file (WACZ) that Monitor wrote, without Monitor: `python verify_evidence.py FILE [PUBLIC_KEY…]`.

Needs Python 3.9 or later and the package `cryptography`. It checks that every file in the WACZ has the hash that its
datapackage.json gives, that every kept page has the bytes that its record names, that every record is in the tree of a
signed head, and that the heads follow one another. Compare the public keys with those that you were given another way:
whoever made the file could have made a key too. Exits with 0 where all of it holds, else with 1.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
import zipfile
import zlib
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def encode(value: Any) -> bytes:
    """Return the one form of JSON that is hashed and signed."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()


def digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def check_files(archive: zipfile.ZipFile, problems: list[str]) -> None:
    """Compare every file with datapackage.json, and that with datapackage-digest.json."""
    package = archive.read("datapackage.json")
    outer = json.loads(archive.read("datapackage-digest.json"))
    if outer["hash"] != "sha256:" + digest(package).hex():
        problems.append("datapackage.json is not the one that datapackage-digest.json names")
    listed = {"datapackage.json", "datapackage-digest.json"}
    for resource in json.loads(package)["resources"]:
        listed.add(resource["path"])
        if resource["hash"] != "sha256:" + digest(archive.read(resource["path"])).hex():
            problems.append(f"{resource['path']} was changed")
    problems += [f"{name} was added" for name in sorted(set(archive.namelist()) - listed)]


def read_body(archive: zipfile.ZipFile, place: dict[str, Any]) -> bytes:
    """Return the body of the WARC record at a place of the archive; `ValueError` where there is none."""
    content = archive.read(place["path"])[place["offset"] : place["offset"] + place["length"]]
    try:
        unpacked = gzip.decompress(content)
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(str(error)) from error
    head, _, block = unpacked.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:])
    block = block[: int(fields[b"content-length"])]
    if fields[b"content-type"].strip().startswith(b"application/http"):
        block = block.partition(b"\r\n\r\n")[2]
    return block


def check_heads(heads: list[dict[str, Any]], problems: list[str]) -> None:
    """Check that each head is signed with the key that it names, and that each follows the one before."""
    previous: dict[str, Any] | None = None
    for head in heads:
        name = f"head {head['number']}"
        content = encode({field: head[field] for field in head if field not in ("hash", "signature", "timestamp")})
        if digest(content).hex() != head["hash"]:
            problems.append(f"{name} was changed")
        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(head["public_key"]))
            key.verify(bytes.fromhex(head["signature"]), content)
        except (InvalidSignature, ValueError):
            problems.append(f"{name} is not signed with the key that it names")
        if previous is not None and (head["previous"], head["number"]) != (previous["hash"], previous["number"] + 1):
            problems.append(f"{name} does not follow head {previous['number']}")
        previous = head


def check_record(
    archive: zipfile.ZipFile, record: dict[str, Any], heads: dict[int, dict[str, Any]], problems: list[str]
) -> None:
    """Check the bytes of a record, and its way up to the root of a head."""
    name = f"record {record['id']}"
    if record["file"] is not None:
        try:
            is_kept = digest(read_body(archive, record["file"])).hex() == record["sha256"]
        except (KeyError, ValueError):
            is_kept = False
        if not is_kept:
            problems.append(f"{name} does not hold the bytes with the SHA-256 {record['sha256']}")
    if "link" not in record:
        return
    row, link = record["row"], record["link"]
    if (row["id"], row["url"], row.get("sha256")) != (record["id"], record["url"], record["sha256"]):
        problems.append(f"{name} is described otherwise than it was signed")
    if (link["kind"], link["row_id"], link["hash"]) != ("record", record["id"], digest(encode(row)).hex()):
        problems.append(f"{name} is not the row that was signed")
    node = digest(b"\0" + encode(link))
    for step in record["path"]:
        other = bytes.fromhex(step["hash"])
        node = digest(b"\1" + (other + node if step["side"] == "left" else node + other))
    if record["head"] not in heads or node.hex() != heads[record["head"]]["root"]:
        problems.append(f"{name} is not in the tree of head {record['head']}")


def check(path: str, expected_keys: list[str]) -> tuple[list[str], list[str]]:
    """Return what is wrong with a file, and lines that say what was checked."""
    problems: list[str] = []
    with zipfile.ZipFile(path) as archive:
        check_files(archive, problems)
        proof = json.loads(archive.read("proof/chain.json"))
        check_heads(proof["heads"], problems)
        keys = sorted({head["public_key"] for head in proof["heads"]})
        lines = [f"public key {key}" for key in keys]
        problems += [
            f"the key {key} is none of those given" for key in keys if expected_keys and key not in expected_keys
        ]
        heads = {head["number"]: head for head in proof["heads"]}
        for record in proof["records"]:
            check_record(archive, record, heads, problems)
            signed = f"signed {heads[record['head']]['at']}" if record.get("head") in heads else "not signed"
            kept = "bytes kept" if record["file"] else "no bytes kept"
            lines.append(f"record {record['id']}: {record['url']}, {kept}, {signed}")
    return problems, lines


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit("usage: python verify_evidence.py FILE [PUBLIC_KEY...]")
    problems, lines = check(sys.argv[1], [key.lower() for key in sys.argv[2:]])
    lines += [f"PROBLEM: {problem}" for problem in problems]
    lines.append("it does not hold" if problems else "all of it holds")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
