"""Bytes are read in the encoding that they are in."""

import pytest

from monitor.extract.encoding import decode

CHINESE = "国家能源局关于印发新一轮能源工作指导意见的通知，各省、自治区、直辖市人民政府办公厅。" * 3
TRADITIONAL = "經濟部能源署公告修正再生能源發展條例，並自即日起施行，請各機關配合辦理。" * 3
JAPANESE = "経済産業省は、エネルギー基本計画の見直しについてのお知らせを公表しました。" * 3
KOREAN = "산업통상자원부는 에너지 기본계획에 대한 공고를 발표하였습니다. 자세한 내용은 아래와 같습니다." * 3


def page(text: str, charset: str | None) -> str:
    return (
        f"<html><head>{f'<meta charset={charset}>' if charset else ''}<title>x</title></head><body>{text}</body></html>"
    )


@pytest.mark.parametrize(
    ("text", "codec", "declared", "name"),
    [
        (CHINESE, "gb2312", "gb2312", "gb18030"),
        (CHINESE, "gb18030", "gbk", "gb18030"),
        (TRADITIONAL, "big5", "big5", "big5"),
        (JAPANESE, "shift_jis", "shift_jis", "shift_jis"),
        (JAPANESE, "euc_jp", "euc-jp", "euc-jp"),
        (KOREAN, "euc_kr", "euc-kr", "euc-kr"),
        ("Žluťoučký kůň úpěl", "cp1250", "windows-1250", "windows-1250"),
        ("Ελληνικά νέα", "iso8859_7", "iso-8859-7", "iso-8859-7"),
        ("Министерство опубликовало новые правила", "koi8_r", "koi8-r", "koi8-r"),
        ("Министерство опубликовало новые правила", "cp866", "cp866", "ibm866"),
        ("กระทรวงเผยแพร่กฎใหม่", "cp874", "tis-620", "windows-874"),
        ("نشرت الوزارة قواعد جديدة", "cp1256", "windows-1256", "windows-1256"),
        (JAPANESE, "iso2022_jp", "iso-2022-jp", "iso-2022-jp"),
    ],
)
def test_a_declared_encoding_that_fits_is_believed(text: str, codec: str, declared: str, name: str) -> None:
    assert decode(page(text, declared).encode(codec), None) == (page(text, declared), name)


def test_a_page_that_calls_itself_gb2312_and_is_utf8_is_read_as_utf8() -> None:
    assert decode(page(CHINESE, "gb2312").encode(), "text/html; charset=gbk") == (page(CHINESE, "gb2312"), "utf-8")


@pytest.mark.parametrize("declared", ["utf-8", "iso-8859-1", None, "no-such-charset", "zip"])
def test_a_page_in_gbk_is_recognised_under_a_wrong_or_missing_declaration(declared: str | None) -> None:
    assert decode(page(CHINESE, declared).encode("gbk"), None) == (page(CHINESE, declared), "gb18030")


@pytest.mark.parametrize(
    ("text", "codec", "name"),
    [(TRADITIONAL, "big5", "big5"), (JAPANESE, "euc_jp", "euc-jp"), (KOREAN, "euc_kr", "euc-kr")],
)
def test_undeclared_east_asian_text_is_recognised_by_its_common_characters(text: str, codec: str, name: str) -> None:
    assert decode(text.encode(codec), None) == (text, name)


def test_the_http_header_names_the_encoding_where_the_page_does_not() -> None:
    assert decode("Привет, мир".encode("cp1251"), 'text/html; charset="windows-1251"') == (
        "Привет, мир",
        "windows-1251",
    )


def test_western_text_without_a_declaration_is_windows_1252() -> None:
    assert decode("Übersicht der Maßnahmen für Gebäude".encode("cp1252"), None)[1] == "windows-1252"


def test_a_byte_order_mark_beats_everything_and_is_no_text() -> None:
    assert decode(b"\xef\xbb\xbf<p>\xe4\xb8\xad", "text/html; charset=gbk") == ("<p>中", "utf-8")
    assert decode("\ufeff<p>中".encode("utf-16-le"), None) == ("<p>中", "utf-16-le")


def test_one_broken_byte_does_not_change_the_encoding_of_a_page() -> None:
    text, name = decode(CHINESE.encode() + b"\xff" + CHINESE.encode(), None)
    assert name == "utf-8"
    assert text.count("\ufffd") == 1


@pytest.mark.parametrize(
    ("text", "language", "codec", "name"),
    [
        ("Urząd ogłosił nowe zasady dla przedsiębiorców", "pl", "cp1250", "windows-1250"),
        ("Η κυβέρνηση δημοσίευσε νέους κανόνες", "el", "cp1253", "windows-1253"),
        ("Министерство опубликовало новые правила", "ru", "cp1251", "windows-1251"),
        ("نشرت الوزارة قواعد جديدة للشركات", "ar", "cp1256", "windows-1256"),
    ],
)
@pytest.mark.parametrize("declared", [None, "utf-8", "iso-8859-1"])
def test_the_language_settles_a_wrong_or_missing_declaration(
    text: str, language: str, codec: str, name: str, declared: str | None
) -> None:
    html = page(text, declared).replace("<html>", f'<html lang="{language}">')
    assert decode(html.encode(codec), None) == (html, name)


def test_japanese_in_seven_bits_is_known_by_its_escapes() -> None:
    assert decode(page(JAPANESE, None).encode("iso2022_jp"), None) == (page(JAPANESE, None), "iso-2022-jp")
