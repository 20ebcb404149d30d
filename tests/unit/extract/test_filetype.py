import io
import zipfile

import pytest

from monitor.extract.attachments import detect_extension


def zipped(name: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, "x")
    return packed.getvalue()


@pytest.mark.parametrize(
    ("body", "url", "kind", "extension"),
    [
        (b"%PDF-1.7 ...", "http://a.example/download?id=1", "application/octet-stream", "pdf"),
        (zipped("word/document.xml"), "http://a.example/a.zip", "", "docx"),
        (zipped("xl/workbook.xml"), "http://a.example/a", "", "xlsx"),
        (zipped("readme"), "http://a.example/a.docx", "", "zip"),
        (b"PK\x03\x04broken", "http://a.example/a.docx", "", "zip"),
        (b"\xd0\xcf\x11\xe0\x00\x00", "http://a.example/a.doc", "application/msword", "doc"),
        (b"<!DOCTYPE html><p>log in</p>", "http://a.example/a.pdf", "text/html", "html"),
        (b"a,b\n1,2", "http://a.example/a.csv", "text/plain", "csv"),
        (b"plain", "http://a.example/a.exe", "text/plain", "txt"),
        (b"MZ\x00\x00", "http://a.example/a.exe", "application/x-msdownload", "bin"),
        (b"MZ\x00\x00", "http://a.example/..%2f..%2fetc%2fpasswd", "", "bin"),
    ],
)
def test_the_kind_comes_from_a_closed_list(body: bytes, url: str, kind: str, extension: str) -> None:
    assert detect_extension(body, url=url, content_type=kind or None) == extension
