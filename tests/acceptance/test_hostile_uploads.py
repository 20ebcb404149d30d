"""Files that are made to hurt, uploaded with a question: each is refused in a sentence or read, and nothing is left."""

import asyncio
import io
import json
import re
import zipfile
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import docx
import httpx
import openpyxl
import pytest
from sqlalchemy import create_engine, text

from monitor.bootstrap import open_app
from monitor.config.loading import load_settings
from monitor.db.tables.research import ResearchStatus
from monitor.demo.serving import LoopbackRequest, LoopbackResponse, serve_loopback
from monitor.services.audit import COMMAND_LINE
from tests.acceptance.test_hostile_pages import Watch, get_answer_limit_s

TERMS = "The penalty is 7 percent of the price."
ASKED = {"asked": json.dumps({"query": "What is the penalty?"})}
PATH = "/api/v1/research/documents"
MAX_GROWTH_MB = 150
DOCX, XLSX, PDF = "word/document.xml", "xl/worksheets/sheet1.xml", "application/pdf"
WORDS = 'xmlns="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
LAUGHS = (
    '<!DOCTYPE x [<!ENTITY l0 "ha">' + "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10)) + "]>"
)
MACRO = {"vbaProject.bin": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 AutoOpen Shell"}
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)

Change = bytes | Callable[[bytes], bytes]


def an_archive(kind: str, changes: Mapping[str, Change] | None = None, level: int = 6) -> bytes:
    """An honest DOCX or XLSX file with some of its parts changed or added."""
    honest, changed = io.BytesIO(), io.BytesIO()
    if kind == "docx":
        document = docx.Document()
        document.add_paragraph(TERMS)
        document.save(honest)
    else:
        workbook = openpyxl.Workbook()
        workbook.active.append([TERMS])
        workbook.save(honest)
    left = dict(changes or {})
    with (
        zipfile.ZipFile(honest) as source,
        zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive,
    ):
        for name in source.namelist():
            change = left.pop(name, None)
            body = source.read(name)
            archive.writestr(name, change(body) if callable(change) else body if change is None else change)
        for name, change in left.items():
            assert isinstance(change, bytes)
            archive.writestr(name, change)
    return changed.getvalue()


def words(body: str, head: str = "") -> bytes:
    content = f'<?xml version="1.0"?>{head}<document {WORDS}><body><p><r><t>{body}</t></r></p></body></document>'
    return an_archive("docx", {DOCX: content.encode()})


def with_types(kind: str, old: bytes, new: bytes, folder: str) -> bytes:
    macro = {f"{folder}/{name}": body for name, body in MACRO.items()}
    return an_archive(kind, {"[Content_Types].xml": lambda body: body.replace(old, new), **macro})


def nested_archive(depth: int) -> bytes:
    inner = b"x"
    for _ in range(depth):
        outer = io.BytesIO()
        with zipfile.ZipFile(outer, "w") as archive:
            archive.writestr("word/inner.zip", inner)
        inner = outer.getvalue()
    return inner


def a_workbook(sheets: int) -> bytes:
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    named = "".join(f'<sheet xmlns:r="{relations}" name="s{n}" sheetId="{n + 9}" r:id="s{n}"/>' for n in range(sheets))
    linked = "".join(
        f'<Relationship Id="s{n}" Type="{relations}/worksheet" Target="worksheets/s{n}.xml"/>' for n in range(sheets)
    )
    empty = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData/></worksheet>'
    changes: dict[str, Change] = {
        "xl/workbook.xml": lambda body: body.replace(b"</sheets>", f"{named}</sheets>".encode()),
        "xl/_rels/workbook.xml.rels": lambda body: body.replace(
            b"</Relationships>", f"{linked}</Relationships>".encode()
        ),
    }
    return an_archive("xlsx", {**changes, **{f"xl/worksheets/s{n}.xml": empty for n in range(sheets)}}, level=1)


def a_pdf(
    *, catalog: str = "", kids: str = "3 0 R", count: int = 1, more: tuple[bytes, ...] = (), xref: int = 0
) -> bytes:
    content = f"BT /F1 12 Tf 9 99 Td ({TERMS}) Tj ET".encode()
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {catalog} >>".encode(),
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
        (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 900 200] /Contents 4 0 R "
            b"/Resources << /Font << /F1 5 0 R >> >> >>"
        ),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        *more,
    ]
    body, places = b"%PDF-1.7\n", []
    for number, written in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, written)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    trailer = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (size, xref or len(body))
    return body + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + trailer


def calling(address: str) -> bytes:
    """A document that has Word fetch its template."""
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    linked = (
        f'<Relationship Id="t9" Type="{relations}/attachedTemplate" Target="{address}t.dotm" TargetMode="External"/>'
    )
    found = "word/_rels/document.xml.rels"
    return an_archive(
        "docx", {found: lambda body: body.replace(b"</Relationships>", f"{linked}</Relationships>".encode())}
    )


SCRIPT = "/OpenAction << /S /JavaScript /JS (while(1){app.launchURL('http://127.0.0.1/')}) >>"
ATTACHED = "/Names << /EmbeddedFiles << /Names [(a.exe) << /F (a.exe) /EF << /F 6 0 R >> >>] >> >>"
KIND, BROKEN = "is not a PDF, DOCX or XLSX file.", r"cannot be read: The file is damaged or protected \(\w+\)\."

REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "bomb.docx": (lambda: an_archive("docx", {DOCX: bytes(201 * 2**20)}, level=1), "grows to more than 200 MB"),
    "bomb.xlsx": (lambda: an_archive("xlsx", {XLSX: bytes(201 * 2**20)}, level=1), "grows to more than 200 MB"),
    "nested.docx": (lambda: nested_archive(40), BROKEN),
    "laughs.docx": (lambda: words("&l9;", LAUGHS), BROKEN),
    "sheets.xlsx": (lambda: a_workbook(10_000), "more than 5000 parts"),
    "endless.pdf": (lambda: a_pdf(kids="2 0 R", count=2**31 - 1), "contains no text|cannot be read"),
    "notes.pdf": (lambda: b"plain words", KIND),
    "setup.docx": (lambda: b"MZ" + bytes(100), KIND),
    "old.docx": (lambda: OLD_OFFICE, KIND),
    "locked.xlsx": (lambda: OLD_OFFICE + "EncryptedPackage".encode("utf-16-le"), "protected by a password"),
    "../../etc/empty.pdf": (lambda: b"", "^empty.pdf is empty: it has 0 bytes"),
    "C:\\up\\..\\p.docx": (lambda: b"MZ", f"^p.docx {KIND}"),
    "scans.docx": (lambda: words(""), "contains no text"),
}
READ: dict[str, Callable[[], bytes]] = {
    "macros.docm": lambda: with_types(
        "docx",
        b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
        b"application/vnd.ms-word.document.macroEnabled.main+xml",
        "word",
    ),
    "macros.xlsm": lambda: with_types(
        "xlsx",
        b"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml",
        b"application/vnd.ms-excel.sheet.macroEnabled.main+xml",
        "xl",
    ),
    "macro inside.docx": lambda: with_types("docx", b"", b"", "word"),
    "deep.docx": lambda: an_archive("docx", {"word/embeddings/a.zip": nested_archive(40)}),
    "script.pdf": lambda: a_pdf(catalog=SCRIPT),
    "attached.pdf": lambda: a_pdf(catalog=ATTACHED, more=(b"<< /Length 2 >>\nstream\nMZ\nendstream",)),
    "table.pdf": lambda: a_pdf(xref=999_999),
    "named.txt": lambda: an_archive("docx"),
}
"""Each of these says `TERMS`, and nothing else of it is used."""


def read_memory_mb(pid: int, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) // 1024


def count_rows(place: Any, table: str) -> int:
    engine = create_engine(f"sqlite:///{place.folder / 'monitor.db'}")
    try:
        with engine.connect() as connection:
            return int(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())  # noqa: S608
    finally:
        engine.dispose()


@pytest.fixture
async def uploads(workplace: Any, free_port: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, dict[str, str]]:
    """A workplace without a model or a search, whose temporary files have a folder of their own; who may ask there."""
    workplace.configure(
        database_url=f"sqlite:///{workplace.folder / 'monitor.db'}", web={"port": free_port}, llm={"enabled": False}
    )
    (workplace.folder / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(workplace.folder / "temporary"))
    async with open_app(load_settings(workplace.folder / "config.yaml")) as app:
        token = await app.tokens.create("tester", "editor", by=COMMAND_LINE)
    return workplace, {"Authorization": f"Bearer {token}", "Accept-Language": "en"}


async def wait_for_end(client: httpx.AsyncClient, path: str) -> dict[str, Any]:
    async with asyncio.timeout(120):
        while not ResearchStatus((view := (await client.get(path)).json())["status"]).is_final:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    return dict(view)


@pytest.mark.timeout(300)
async def test_a_hostile_file_is_refused_or_read_and_the_service_goes_on(
    uploads: tuple[Any, dict[str, str]], serve: Any
) -> None:
    place, signed_in = uploads
    fetched: list[str] = []

    def respond(request: LoopbackRequest) -> LoopbackResponse:
        fetched.append(request.target)
        return LoopbackResponse(404, "text/plain")

    service = await serve()
    limits = httpx.Timeout(120)
    async with (
        serve_loopback(respond) as port,
        httpx.AsyncClient(base_url=service.address, headers=signed_in, timeout=limits) as client,
    ):
        (secret := place.folder / "secret.txt").write_text("the secret")
        asking_for_file = words("penalty &f;", f'<!DOCTYPE x [<!ENTITY f SYSTEM "{secret.as_uri()}">]>')
        read = {name: build() for name, build in READ.items()} | {
            "calls.docx": calling(f"http://127.0.0.1:{port}/"),
            "asks for a file.docx": asking_for_file,
        }
        before_mb = read_memory_mb(service.process.pid, "VmRSS")
        watch = Watch(client)
        async with watch.watching():
            for name, (build, sentence) in REFUSED.items():
                answer = await client.post(PATH, data=ASKED, files=[("documents", (name, build(), PDF))])
                assert answer.status_code == 400, f"{name}: {answer.text}"
                said = answer.json()["detail"]
                assert re.search(sentence, said), f"{name}: {said}"
                assert str(place.folder) not in said
            many = [("documents", (f"{n}.pdf", b"x", PDF)) for n in range(300)]
            assert (await client.post(PATH, data=ASKED, files=many)).status_code == 400
            assert [count_rows(place, table) for table in ("research", "research_document")] == [0, 0]
            answer = await client.post(
                PATH, data=ASKED, files=[("documents", (name, body, PDF)) for name, body in [*read.items()][:10]]
            )
            assert answer.status_code == 202, answer.text
        assert read_memory_mb(service.process.pid, "VmHWM") - before_mb < MAX_GROWTH_MB
        assert watch.slowest_s < get_answer_limit_s()
        given = (await client.get(f"{answer.headers['location']}/documents")).json()["documents"]
        assert [entry["name"] for entry in given] == [*read]
        assert fetched == []
        said = json.dumps((await wait_for_end(client, answer.headers["location"]))["notes"])
    assert "7 percent" in said
    assert "the secret" not in said
    assert list((place.folder / "temporary").iterdir()) == []


@pytest.mark.timeout(300)
async def test_a_kill_between_upload_and_research_loses_nothing_and_one_within_an_upload_leaves_nothing(
    uploads: tuple[Any, dict[str, str]], serve: Any
) -> None:
    place, signed_in = uploads
    contract = an_archive("docx")
    service = await serve()
    async with httpx.AsyncClient(base_url=service.address, headers=signed_in, timeout=60) as client:
        answer = await client.post(PATH, data=ASKED, files=[("documents", ("contract.docx", contract, PDF))])
        service.process.kill()
        assert answer.status_code == 202, answer.text
    await service.process.wait()
    service = await serve()
    async with httpx.AsyncClient(base_url=service.address, headers=signed_in, timeout=60) as client:
        view = await wait_for_end(client, answer.headers["location"])
        assert "7 percent" in json.dumps(view["notes"])
        kept = await client.get(f"{answer.headers['location']}/documents/1")
        assert kept.content == contract
        sent = asyncio.Event()

        async def send_half() -> AsyncIterator[bytes]:
            yield b'--x\r\nContent-Disposition: form-data; name="documents"; filename="a.pdf"\r\n\r\n'
            yield b"%PDF-" + bytes(3 * 2**20)  # more than is held in memory
            sent.set()
            await asyncio.Event().wait()

        form = {"Content-Type": "multipart/form-data; boundary=x"}
        sending = asyncio.create_task(client.post(PATH, content=send_half(), headers=form))
        await sent.wait()
        service.process.kill()
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    await service.process.wait()
    assert [count_rows(place, table) for table in ("research", "research_document")] == [1, 1]
    assert list((place.folder / "temporary").iterdir()) == []
