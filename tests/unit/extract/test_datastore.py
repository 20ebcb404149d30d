"""Rows that a page keeps as data for its own script stand where the script would draw them."""

from monitor.extract.parse import expand_data_stores

PAGE = """<div id="rows"><script type="text/xml"><datastore><nextgroup><![CDATA[<a href="/next">n</a>]]></nextgroup>
<recordset><record><![CDATA[<li><a href="/a.html">甲</a></li>]]></record>
<record><![CDATA[<li><a href="/b.html">乙</a></li>]]></record></recordset></datastore></script></div><p>尾</p>"""


def test_the_records_replace_the_script_that_holds_them() -> None:
    assert expand_data_stores(PAGE) == (
        '<div id="rows"><li><a href="/a.html">甲</a></li>\n<li><a href="/b.html">乙</a></li></div><p>尾</p>'
    )


def test_a_page_without_a_store_stays_as_it_is() -> None:
    page = "<script>var a = '<record><![CDATA[x]]></record>'</script><p>b</p>"
    assert expand_data_stores(page) == page


def test_a_store_that_never_ends_stays_as_it_is() -> None:
    page = "<script><datastore>" + "<record><![CDATA[" * 2000
    assert expand_data_stores(page) == page
