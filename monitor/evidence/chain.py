"""The chain over records and audit entries: linked under signed heads, recomputed whole, proved for one row.

Each row has a hash of its content. Signing links the rows that have none to the chain in a fixed order, builds a Merkle
tree over the new links (RFC 6962) and signs its root, together with the hash of the head before, with ed25519. A link
stays when its row is removed, so the chain can be checked for ever. `verify_evidence.py` checks a proof without any of
this.
"""

import base64
import datetime as dt
import hashlib
import json
import os
import stat
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.tables.evidence import ChainHead, ChainLink, EvidenceRecord, LinkKind
from monitor.db.tables.people import AuditEntry
from monitor.durable_files import flush_folder
from monitor.errors import UsageError, WorkFailed
from monitor.i18n.message import Message

KEY_FILE = "evidence.key"
ANCHOR_FILE = "evidence.head"
KEY_VARIABLE = "MONITOR_EVIDENCE_KEY"
_OTHERS_MODE = stat.S_IRWXG | stat.S_IRWXO
_SEED_BYTES = 32
_MAX_LINKS = 5_000  # of one head
MAX_PROBLEMS = 100

# Records of a run that began just before a pruning's limit may be of the day after it.
_RUN_SLACK = dt.timedelta(days=2)


def encode_content(values: Any) -> bytes:
    """Return JSON with sorted keys and without white space: the one form that is hashed and signed."""
    return json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=_encode_value).encode()


def _encode_value(value: Any) -> str:
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat(timespec="microseconds")
    raise TypeError(f"{type(value).__name__} has no content form")


def extract_content(row: EvidenceRecord | AuditEntry) -> dict[str, Any]:
    """Return what the hash of a row is made of; a field without a value is left out, so that columns may be added."""
    hidden = {"hash"} if isinstance(row, EvidenceRecord) else {"hash", "id", "salts", "erased"}
    content = {name: value for name, value in row.model_dump(exclude=hidden).items() if value not in (None, "")}
    return content if isinstance(row, EvidenceRecord) else content | row.compute_commitments()


def hash_row(row: EvidenceRecord | AuditEntry) -> str:
    return hashlib.sha256(encode_content(extract_content(row))).hexdigest()


def hash_leaf(link: ChainLink) -> bytes:
    return hashlib.sha256(b"\0" + encode_content(link.model_dump())).digest()


def _hash_pair(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


def compute_root(leaves: Sequence[bytes]) -> bytes:
    """Return the Merkle root of the leaves; an odd node moves up as it is."""
    level = list(leaves) or [hashlib.sha256().digest()]
    while len(level) > 1:
        level = _compute_next_level(level)
    return level[0]


def compute_path(leaves: Sequence[bytes], index: int) -> list[tuple[str, str]]:
    """Return the neighbours from a leaf up to the root, each `left` or `right` of it, as hexadecimal hashes."""
    level, path = list(leaves), []
    while len(level) > 1:
        neighbour = index ^ 1
        if neighbour < len(level):
            path.append(("left" if neighbour < index else "right", level[neighbour].hex()))
        level, index = _compute_next_level(level), index // 2
    return path


def _compute_next_level(level: Sequence[bytes]) -> list[bytes]:
    pairs = [_hash_pair(level[place], level[place + 1]) for place in range(0, len(level) - 1, 2)]
    return [*pairs, level[-1]] if len(level) % 2 else pairs


def encode_head(head: ChainHead) -> bytes:
    """Return what is signed of a head."""
    return encode_content(head.model_dump(exclude={"hash", "signature", "timestamp"}))


class SigningKey:
    """The ed25519 key of the heads: a seed of 32 bytes as base64 in MONITOR_EVIDENCE_KEY, else in a file of mode 600.

    The file is created with the first head. `UsageError` says what is wrong with a key.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / KEY_FILE
        self.anchor = folder / ANCHOR_FILE

    def get_public_key(self) -> str | None:
        """Return the public key as hexadecimal; None where nothing was ever signed here."""
        if not os.environ.get(KEY_VARIABLE, "").strip() and not self._file.exists():
            return None
        return self._load().public_key().public_bytes_raw().hex()

    def sign(self, head: ChainHead) -> None:
        """Fill in the public key, the hash and the signature of a head."""
        if not os.environ.get(KEY_VARIABLE, "").strip() and not self._file.exists():
            write_private_file(self._file, base64.b64encode(os.urandom(_SEED_BYTES)), may_replace=False)
        key = self._load()
        head.public_key = key.public_key().public_bytes_raw().hex()
        content = encode_head(head)
        head.hash, head.signature = hashlib.sha256(content).hexdigest(), key.sign(content).hex()

    def read_anchor(self) -> tuple[int, str] | None:
        """Return number and hash of the last head that was signed here: outside of the database, which may be cut."""
        try:
            number, _, digest = self.anchor.read_text(encoding="ascii").strip().partition(" ")
            return int(number), digest
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise UsageError("chain.anchor_unreadable", file=str(self.anchor), reason=str(error)) from None

    def write_anchor(self, head: ChainHead) -> None:
        write_private_file(self.anchor, f"{head.number} {head.hash}\n".encode(), may_replace=True)

    def forget_anchor(self) -> None:
        """Accept whatever head the database has: for somebody who put a backup in its place."""
        self.anchor.unlink(missing_ok=True)

    def _load(self) -> Ed25519PrivateKey:
        try:
            return Ed25519PrivateKey.from_private_bytes(base64.b64decode(self._read(), validate=True))
        except ValueError:
            raise UsageError("chain.key_unusable", variable=KEY_VARIABLE, file=str(self._file)) from None

    def _read(self) -> str:
        given = os.environ.get(KEY_VARIABLE, "").strip()
        if given:
            return given
        try:
            mode = self._file.stat().st_mode
            if mode & _OTHERS_MODE:
                raise UsageError("secret.key_file_open", file=str(self._file), mode=f"{stat.S_IMODE(mode):o}")
            return self._file.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError("secret.key_file_unreadable", file=str(self._file), reason=str(error)) from None


def write_private_file(file: Path, content: bytes, *, may_replace: bool) -> None:
    """Write a file of mode 600 so that it survives a power loss; of several that create it, the first one wins."""
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        if may_replace:
            part.replace(file)
        else:
            with suppress(FileExistsError):
                os.link(part, file)
        flush_folder(file.parent)
    except OSError as error:
        raise UsageError("secret.key_file_not_written", file=str(file), reason=str(error)) from None
    finally:
        part.unlink(missing_ok=True)


@dataclass
class ChainReport:
    """What a check of the chain found; `problems` come in the order of the chain, at most 100 of them.

    `removed` links have lost their rows as retention, or the end of their research, wanted it.
    """

    keys: list[str] = field(default_factory=list)
    heads: int = 0
    signed_at: dt.datetime | None = None
    links: int = 0
    removed: int = 0
    unsigned: int = 0
    stamped_head: int | None = None
    problems: list[Message] = field(default_factory=list)


@dataclass(frozen=True)
class RowProof:
    """A signed row with its way up to the root of a head."""

    link: ChainLink
    content: dict[str, Any]
    head: int
    path: list[tuple[str, str]]


@dataclass
class EvidenceChain:
    store: Store
    clock: Clock
    key: SigningKey

    async def sign(
        self, *, records_since: dt.datetime | None = None, audit_since: dt.datetime | None = None
    ) -> list[ChainHead]:
        """Link and sign all rows that are not signed yet; return the new heads, none where there was nothing to do.

        The instants declare that rows before them are about to be removed: without it their absence breaks the chain.
        `WorkFailed` where the last head that was signed here is not in the database.
        """
        await self.check_anchor()
        heads: list[ChainHead] = []
        is_due = records_since is not None or audit_since is not None
        while True:
            head = await self._sign_some(
                records_since if not heads else None, audit_since if not heads else None, is_due=is_due and not heads
            )
            if head is None:
                return heads
            heads.append(head)
            self.key.write_anchor(head)
            if head.last - head.first + 1 < _MAX_LINKS:
                return heads

    async def _sign_some(
        self, records_since: dt.datetime | None, audit_since: dt.datetime | None, *, is_due: bool
    ) -> ChainHead | None:
        chain = self.store.chain
        async with self.store.transaction():
            await chain.lock()
            rows = await chain.list_unsigned(_MAX_LINKS)
            if not rows and not is_due:
                return None
            last = await chain.get_last_head()
            position = await chain.get_last_position()
            links = [_build_link(row, position + place) for place, row in enumerate(rows, start=1)]
            head = ChainHead(
                number=last.number + 1 if last else 1,
                at=self.clock.now(),
                first=position + 1,
                last=position + len(links),
                root=compute_root([hash_leaf(link) for link in links]).hex(),
                previous=last.hash if last else "",
                records_since=records_since,
                audit_since=audit_since,
                public_key="",
            )
            self.key.sign(head)
            await chain.add_head(head, links)
        return head

    async def check_anchor(self) -> None:
        """Raise `WorkFailed` where the last head that was signed here is missing, or another one is in its place."""
        anchor = self.key.read_anchor()
        if anchor is not None:
            number, digest = anchor
            head = await self.store.chain.get_head(number)
            if head is None or head.hash != digest:
                raise WorkFailed("chain.cut", number=number, file=str(self.key.anchor))

    async def verify(self, *, trusted: Collection[str] = ()) -> ChainReport:
        """Recompute the whole chain from its rows; heads must be signed with this box's key or a `trusted` one."""
        report = ChainReport(unsigned=await self.store.chain.count_unsigned())
        own = self.key.get_public_key()
        try:
            await self.check_anchor()
        except (UsageError, WorkFailed) as error:
            report.problems.append(error.message)
        check = _Check(self.store, report, {*trusted, *([own] if own else [])})
        await check.run()
        report.problems = [*report.problems, *check.list_problems()][:MAX_PROBLEMS]
        return report

    async def prove(self, record_ids: Sequence[str]) -> list[RowProof]:
        """Return the proof of every one of these records that is signed and there."""
        links = await self.store.chain.find_links(LinkKind.RECORD, record_ids)
        rows = await self.store.chain.list_rows(LinkKind.RECORD, record_ids)
        heads = await self.store.chain.list_heads() if links else []
        proofs: list[RowProof] = []
        leaves: dict[int, list[bytes]] = {}
        for link in sorted(links, key=lambda link: link.position):
            head = next((head for head in heads if head.first <= link.position <= head.last), None)
            if head is None or link.row_id not in rows:
                continue
            if head.number not in leaves:
                of_head = await self.store.chain.list_links(head.first, head.last)
                leaves[head.number] = [hash_leaf(entry) for entry in of_head]
            path = compute_path(leaves[head.number], link.position - head.first)
            proofs.append(RowProof(link, extract_content(rows[link.row_id]), head.number, path))
        return proofs


def _build_link(row: EvidenceRecord | AuditEntry, position: int) -> ChainLink:
    """Link a row by the hash that it was written with, so that one that was altered before signing is found."""
    digest = row.hash or hash_row(row)
    if isinstance(row, AuditEntry):
        return ChainLink(position=position, kind=LinkKind.AUDIT, row_id=str(row.id), at=row.at, hash=digest)
    owner = f"run:{row.run_id}" if row.run_id else f"research:{row.research_id}"
    return ChainLink(
        position=position, kind=LinkKind.RECORD, row_id=row.id, owner=owner, at=row.fetched_at, hash=digest
    )


@dataclass
class _Check:
    """One recomputation of the chain. What is `found` comes with the place in the chain where it was."""

    store: Store
    report: ChainReport
    trusted: set[str]
    found: list[tuple[int, Message]] = field(default_factory=list)
    erased_names: list[str] | None = None

    async def run(self) -> None:
        heads = await self.store.chain.list_heads()
        previous: ChainHead | None = None
        missing: list[ChainLink] = []
        for head in heads:
            self._check_head(head, previous)
            missing += await self._check_links(head)
            previous = head
            if head.timestamp is not None:
                self.report.stamped_head = head.number
        self.report.heads = len(heads)
        self.report.keys = list(dict.fromkeys(head.public_key for head in heads))
        if previous is not None:
            self.report.signed_at = previous.at
        await self._check_rest(previous)
        await self._explain_missing(missing)

    def list_problems(self) -> list[Message]:
        return [message for _, message in sorted(self.found, key=lambda found: found[0])]

    def _check_head(self, head: ChainHead, previous: ChainHead | None) -> None:
        number, place, digest = (previous.number, previous.last, previous.hash) if previous else (0, 0, "")
        about = {"number": head.number, "at": f"{head.at:%F %H:%MZ}"}
        if (head.number, head.first, head.previous) != (number + 1, place + 1, digest):
            self._complain(head.first, Message("chain.head_does_not_follow", about))
        if not _is_signed(head):
            self._complain(head.first, Message("chain.bad_signature", about))
        elif head.public_key not in self.trusted:
            self._complain(head.first, Message("chain.other_key", {**about, "key": head.public_key}))

    async def _check_links(self, head: ChainHead) -> list[ChainLink]:
        """Compare the links of a head with their rows and with its root; return those whose rows are missing."""
        links = await self.store.chain.list_links(head.first, head.last)
        self.report.links += len(links)
        missing = [link for kind in LinkKind for link in await self._compare(kind, links)]
        root = compute_root([hash_leaf(link) for link in links]).hex()
        if len(links) != head.last - head.first + 1 or root != head.root:
            about = {"number": head.number, "first": head.first, "last": head.last, "at": f"{head.at:%F %H:%MZ}"}
            self._complain(head.last, Message("chain.bad_root", about))
        return missing

    async def _compare(self, kind: LinkKind, links: Iterable[ChainLink]) -> list[ChainLink]:
        mine = [link for link in links if link.kind is kind]
        rows = await self.store.chain.list_rows(kind, [link.row_id for link in mine])
        for link in mine:
            row = rows.get(link.row_id)
            if row is not None and (hash_row(row) != link.hash or not await self._is_erased_openly(row)):
                self._complain_of_row("altered", link)
        return [link for link in mine if link.row_id not in rows]

    async def _is_erased_openly(self, row: EvidenceRecord | AuditEntry) -> bool:
        """Whether what is erased in an audit entry belongs to a person whose erasure is on record."""
        if isinstance(row, EvidenceRecord) or not row.erased:
            return True
        if self.erased_names is None:
            self.erased_names = await self.store.chain.list_erased_names()
        named = json.dumps([row.person, row.subject, row.detail])
        return any(f'"{name}"' in named for name in self.erased_names)

    async def _check_rest(self, last: ChainHead | None) -> None:
        """Check the rows that are not signed yet by their own hashes, and that every link has a head."""
        place = last.last if last else 0
        for row in await self.store.chain.list_unsigned(_MAX_LINKS):
            if row.hash not in (None, hash_row(row)):
                self._complain_of_row("altered", _build_link(row, place + 1))
        newest = await self.store.chain.get_last_head()
        position = await self.store.chain.get_last_position()
        has_grown = newest is not None and newest.number > (last.number if last else 0)
        if position > place and not has_grown:
            self._complain(place + 1, Message("chain.links_without_head", {"count": position - place}))

    async def _explain_missing(self, missing: Sequence[ChainLink]) -> None:
        """A missing row is in order where a signed head declared its removal, or where its research is gone."""
        heads = await self.store.chain.list_heads()  # again: rows may have been removed since this check began
        heads = [head for head in heads if head.public_key in self.trusted and _is_signed(head)]
        records_since = max((head.records_since for head in heads if head.records_since), default=None)
        audit_since = max((head.audit_since for head in heads if head.audit_since), default=None)
        researches = {link.owner.partition(":")[2] for link in missing if link.owner.startswith("research:")}
        present = await self.store.chain.find_researches(sorted(researches))
        for link in missing:
            owner, _, owner_id = link.owner.partition(":")
            if link.kind is LinkKind.AUDIT:
                is_removed = audit_since is not None and link.at < audit_since
            else:
                is_removed = records_since is not None and link.at < records_since + _RUN_SLACK
                is_removed = is_removed or (owner == "research" and owner_id not in present)
            if is_removed:
                self.report.removed += 1
            else:
                self._complain_of_row("missing", link)

    def _complain_of_row(self, what: str, link: ChainLink) -> None:
        about = {"row": link.row_id, "position": link.position, "at": f"{link.at:%F %H:%M:%SZ}"}
        self._complain(link.position, Message(f"chain.{link.kind}_{what}", about))

    def _complain(self, position: int, message: Message) -> None:
        self.found.append((position, message))


def _is_signed(head: ChainHead) -> bool:
    """Whether a head's hash and signature are those of its content and its public key."""
    content = encode_head(head)
    if head.hash != hashlib.sha256(content).hexdigest():
        return False
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(head.public_key))
        key.verify(bytes.fromhex(head.signature), content)
    except (InvalidSignature, ValueError):
        return False
    return True
